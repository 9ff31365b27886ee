import { AccountsService } from '../../../auth/accounts.service.js';
import { ApiKeysService } from '../../../auth/api-keys.service.js';
import { runCommand } from '../command.js';
import { OperatorError } from '../../process/operator-error.js';
import { withContext } from './context.js';

/** The services that commands use. */
interface Services {
  accounts: AccountsService;
  apiKeys: ApiKeysService;
}

/** Runs a command on the services, without HTTP. If it fails, the process prints one line and exits with 1. */
export function withServices(work: (services: Services) => Promise<void>): Promise<void> {
  return runCommand(({ config }) =>
    withContext(config, (app) =>
      work({ accounts: app.get(AccountsService), apiKeys: app.get(ApiKeysService) }),
    ),
  );
}

/**
 * The id of the account with an email.
 * @throws OperatorError if there is none
 */
export async function accountId({ accounts }: Services, email: string): Promise<string> {
  const id = await accounts.findIdByEmail(email);
  if (id === null) throw new OperatorError(`There is no account ${JSON.stringify(email)}.`);
  return id;
}
