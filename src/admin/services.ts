import { NestFactory } from '@nestjs/core';
import { AccountsService } from '../auth/accounts.service.js';
import { ApiKeysService } from '../auth/api-keys.service.js';
import { runCommand } from '../command.js';
import { type Config, StartupError } from '../config.js';
import { AdminModule } from './admin.module.js';

/** The services that a command works with. */
export interface Services {
  accounts: AccountsService;
  apiKeys: ApiKeysService;
}

/** Runs a command on the services, without HTTP; the process ends with 1 where it has failed, and says why in one line. */
export function withServices(work: (services: Services) => Promise<void>): Promise<void> {
  return runCommand(({ config }) => connect(config, work));
}

async function connect(config: Config, work: (services: Services) => Promise<void>): Promise<void> {
  const options = { abortOnError: false, logger: false } as const;
  const app = await NestFactory.createApplicationContext(AdminModule.with(config), options);
  try {
    await work({ accounts: app.get(AccountsService), apiKeys: app.get(ApiKeysService) });
  } finally {
    await app.close();
  }
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
