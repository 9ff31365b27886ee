import { Command, type CommanderError } from 'commander';
import { addAccountsCommands } from './accounts.commands.js';
import { addKeysCommands } from './keys.commands.js';

/** What a command ends with that was called wrongly; one that failed ends with 1. */
const USAGE_ERROR = 2;

const program = new Command('npm run admin --')
  .description('Manages accounts and API keys in the database of the configuration.')
  .showHelpAfterError('Add --help for what there is.')
  .exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR));
addAccountsCommands(program);
addKeysCommands(program);
await program.parseAsync();
