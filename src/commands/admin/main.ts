import { loadFeatures } from '../../load-features.js';
import { commandLine } from '../command.js';

// Before auth, which reads the list of permissions.
await loadFeatures();
const { addAccountsCommands } = await import('./accounts.commands.js');
const { addAuditCommand } = await import('./audit.commands.js');
const { addDataCommands } = await import('./data.commands.js');
const { addInvitationsCommands } = await import('./invitations.commands.js');
const { addKeysCommands } = await import('./keys.commands.js');

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
