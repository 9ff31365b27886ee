import { QueryFailedError } from 'typeorm';
import { AccountsService } from '../auth/accounts.service.js';
import { ApiKeysService } from '../auth/api-keys.service.js';
import { ApiError } from '../common/api-error.js';
import { runCommand } from '../command.js';
import { StartupError } from '../config.js';
import { isUnavailable } from '../database/unavailable.js';
import { withContext } from './context.js';

/** SQLSTATE `undefined_table` and `undefined_column`. */
const NO_SUCH_SCHEMA = new Set(['42P01', '42703']);

/** The services that a command works with. */
export interface Services {
  accounts: AccountsService;
  apiKeys: ApiKeysService;
}

/** Runs a command on the services, without HTTP; the process ends with 1 where it has failed, and says why in one line. */
export function withServices(work: (services: Services) => Promise<void>): Promise<void> {
  return runCommand(({ config }) =>
    withContext(config, (app) =>
      work({ accounts: app.get(AccountsService), apiKeys: app.get(ApiKeysService) }),
    ).catch((error: unknown) => {
      throw explained(error);
    }),
  );
}

/** The error as an operator reads it; one that nobody has thought of stays as it is. */
function explained(error: unknown): unknown {
  if (error instanceof ApiError) return new StartupError(error.message);
  if (error instanceof QueryFailedError && NO_SUCH_SCHEMA.has(error.driverError.code)) {
    return new StartupError('The schema is not up to date. Run `npm run migration:run` first.');
  }
  if (error instanceof Error && isUnavailable(error)) {
    const reason = error.message || (error as { code?: string }).code;
    return new StartupError(`The database cannot be reached: ${reason}.`);
  }
  return error;
}

/**
 * The id of the account with an email.
 * @throws StartupError where there is none
 */
export async function accountId({ accounts }: Services, email: string): Promise<string> {
  const id = await accounts.findIdByEmail(email);
  if (id === null) throw new StartupError(`There is no account ${JSON.stringify(email)}.`);
  return id;
}
