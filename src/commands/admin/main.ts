// Before auth, which reads the list of permissions that features declare.
import '../../features.js';
import { commandLine } from '../command.js';
import { addAccountsCommands } from './accounts.commands.js';
import { addAuditCommand } from './audit.commands.js';
import { addDataCommands } from './data.commands.js';
import { addInvitationsCommands } from './invitations.commands.js';
import { addKeysCommands } from './keys.commands.js';

const program = commandLine(
  'admin',
  'Manages the database of the configuration, and the accounts and API keys in it.',
);
addAccountsCommands(program);
addKeysCommands(program);
addInvitationsCommands(program);
addAuditCommand(program);
addDataCommands(program);
await program.parseAsync();
