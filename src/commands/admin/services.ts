import type { INestApplicationContext, Type } from '@nestjs/common';
import { AccountChanges } from '../../auth/account-changes.js';
import { AccountsService } from '../../auth/accounts.service.js';
import { ApiKeysService } from '../../auth/api-keys.service.js';
import { Invitations } from '../../auth/invitations.js';
import type { Config } from '../../config.js';
import { AuditLog } from '../../platform/safeguards/index.js';
import { type Caller, ValidationPipe } from '../../platform/api/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { runCommand } from '../command.js';
import { withContext } from './context.js';

/** The services that commands use. */
interface Services {
  accounts: AccountsService;
  changes: AccountChanges;
  apiKeys: ApiKeysService;
  invitations: Invitations;
  audit: AuditLog;
}

/** Who makes the changes of a command, as the audit log has it. */
export const OPERATOR = { isOperator: true };

/** Runs a command on the services, without HTTP. If it fails, the process prints one line and exits with 1. */
export function withServices(work: (services: Services, config: Config) => Promise<void>): Promise<void> {
  return runCommand(({ config }) => withContext(config, (app) => work(servicesOf(app), config)));
}

function servicesOf(app: INestApplicationContext): Services {
  return {
    accounts: app.get(AccountsService),
    changes: app.get(AccountChanges),
    apiKeys: app.get(ApiKeysService),
    invitations: app.get(Invitations),
    audit: app.get(AuditLog),
  };
}

/**
 * The id of the account with an email.
 * @throws OperatorError if there is none
 */
export async function accountId({ accounts }: Pick<Services, 'accounts'>, email: string): Promise<string> {
  const id = await accounts.findIdByEmail(email);
  if (id === null) throw new OperatorError(`There is no account ${JSON.stringify(email)}.`);
  return id;
}

/**
 * The operator, who changes the account with an email.
 * @throws OperatorError if there is none
 */
export async function operatorOf(services: Pick<Services, 'accounts'>, email: string): Promise<Caller> {
  return { ...OPERATOR, accountId: await accountId(services, email) };
}

/** Values that a service accepts as the body of a request. @throws ApiError `validation_failed` */
export function bodyOf<Body>(type: Type<Body>, values: object): Body {
  return new ValidationPipe().transform(values, { type: 'body', metatype: type }) as Body;
}
