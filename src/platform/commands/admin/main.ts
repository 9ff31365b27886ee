import { commandLine } from '../command.js';
import { addAccountsCommands } from './accounts.commands.js';
import { addKeysCommands } from './keys.commands.js';

const program = commandLine('admin', 'Manages accounts and API keys in the database of the configuration.');
addAccountsCommands(program);
addKeysCommands(program);
await program.parseAsync();
