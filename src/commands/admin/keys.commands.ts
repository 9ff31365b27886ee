import type { Command } from 'commander';
import { ApiKeyDto, CreatedApiKeyDto, NewApiKeyDto } from '../../auth/api-key.dto.js';
import { fieldsOf, idOf, write, writeAll } from './output.js';
import { accountId, bodyOf, operatorOf, withServices } from './services.js';

interface Options {
  json?: boolean;
}

/** `keys list | create | revoke` */
export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('manage the API keys of an account');
  const listing = keys.command('list').description('list the keys of an account');
  listing.argument('<email>').option('--json', 'print JSON').action(list);
  keys
    .command('create')
    .description('create a key and print it, only this once')
    .argument('<email>')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--permissions <list>', 'what the key may do, separated by commas; all by default')
    .option(
      '--networks <list>',
      'where it may be used from, such as 192.0.2.0/24, separated by commas; everywhere by default',
    )
    .option('--expires-at <time>', 'when the key expires, such as 2030-01-31T12:00:00Z')
    .option('--json', 'print JSON')
    .action(create);
  keys
    .command('revoke')
    .description('revoke a key; every instance refuses it within a second')
    .argument('<email>')
    .argument('<id>', 'id of the key', idOf)
    .action(revoke);
}

function list(email: string, { json }: Options): Promise<void> {
  return withServices(async (services) => {
    const account = await accountId(services, email);
    await writeAll(ApiKeyDto, (page) => services.apiKeys.list(account, page), json);
  });
}

interface CreateOptions extends Options {
  name: string;
  expiresAt?: string;
  permissions?: string;
  networks?: string;
}

function create(email: string, { json, permissions, networks, ...fields }: CreateOptions): Promise<void> {
  return withServices(async (services) => {
    const operator = await operatorOf(services, email);
    const lists = { permissions: permissions?.split(','), networks: networks?.split(',') };
    const body = bodyOf(NewApiKeyDto, { ...fields, ...lists });
    write(fieldsOf(CreatedApiKeyDto, await services.apiKeys.create(operator, body)), json);
  });
}

function revoke(email: string, id: string): Promise<void> {
  return withServices(async (services) => {
    await services.apiKeys.revoke(await operatorOf(services, email), id);
    console.log(`Key ${id} is revoked.`);
  });
}
