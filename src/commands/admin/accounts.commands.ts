import { type Command, InvalidArgumentError } from 'commander';
import { AccountDto, NewAccountDto } from '../../auth/account.dto.js';
import type { Stored } from '../../auth/granted.js';
import { arePermissions, permissionNames } from '../../platform/api/index.js';
import { exportAccount } from './export-account.js';
import { type Fields, fieldsOf, write, writeAll } from './output.js';
import { generatePassword, readPassword } from './password-input.js';
import { accountId, bodyOf, OPERATOR, operatorOf, withServices } from './services.js';

interface Options {
  json?: boolean;
  generatePassword?: boolean;
}

const GENERATE = ['--generate-password', 'generate a password and print it, instead of reading one'] as const;

/** `accounts list | create | set-password | set-permissions | close | export` */
export function addAccountsCommands(program: Command): void {
  const accounts = program.command('accounts').description('manage accounts');
  accounts.command('list').description('list every account').option('--json', 'print JSON').action(list);
  accounts
    .command('create')
    .description('create an account; its password is read from the terminal or standard input')
    .argument('<email>')
    .option(...GENERATE)
    .option('--json', 'print JSON')
    .action(create);
  accounts
    .command('set-password')
    .description('replace the password of an account; its keys stay valid')
    .argument('<email>')
    .option(...GENERATE)
    .option('--json', 'print JSON')
    .action(setPassword);
  addOthers(accounts);
}

function addOthers(accounts: Command): void {
  accounts
    .command('set-permissions')
    .description('replace what the keys of an account may do; every instance knows within a second')
    .argument('<email>')
    .argument('<permissions>', 'names separated by commas, or "all"', permissionsOf)
    .action(setPermissions);
  accounts
    .command('close')
    .description('close an account for good; a subject of the identity provider gets no other')
    .argument('<email>')
    .action(close);
  accounts
    .command('export')
    .description('print all that the database has of an account, as JSON lines')
    .argument('<email>')
    .action(exportAll);
}

function list({ json }: Options): Promise<void> {
  return withServices(({ accounts }) => writeAll(AccountDto, (page) => accounts.list(page), json));
}

function create(email: string, options: Options): Promise<void> {
  return withServices(async ({ accounts }) => {
    const account = await newAccount(email, options);
    const created = fieldsOf(AccountDto, await accounts.create(account, OPERATOR));
    write({ ...created, ...generated(account, options) }, options.json);
  });
}

function setPassword(email: string, options: Options): Promise<void> {
  return withServices(async (services) => {
    const operator = await operatorOf(services, email);
    const { password } = await newAccount(email, options);
    await services.changes.change(operator, { password, revokeKeys: false });
    write({ email: JSON.stringify(email), ...generated({ password }, options) }, options.json);
  });
}

function setPermissions(email: string, permissions: Stored): Promise<void> {
  return withServices(async (services) => {
    await services.changes.setPermissions(await operatorOf(services, email), permissions);
    console.log(`Keys of ${JSON.stringify(email)} may do: ${permissions?.join(', ') ?? 'everything'}.`);
  });
}

function close(email: string): Promise<void> {
  return withServices(async (services) => {
    await services.changes.close(await operatorOf(services, email));
    console.log(`The account ${JSON.stringify(email)} is closed.`);
  });
}

function exportAll(email: string): Promise<void> {
  return withServices(async (services, { DATABASE_DIRECT_URL, DATABASE_URL }) => {
    const lines = exportAccount((DATABASE_DIRECT_URL ?? DATABASE_URL)!, await accountId(services, email));
    for await (const line of lines) console.log(line);
  });
}

/** @throws ApiError `validation_failed` as a sign-up does */
async function newAccount(email: string, options: Options): Promise<NewAccountDto> {
  const password = options.generatePassword ? generatePassword() : await readPassword();
  return bodyOf(NewAccountDto, { email, password });
}

function generated({ password }: Pick<NewAccountDto, 'password'>, options: Options): Fields {
  return options.generatePassword ? { password: JSON.stringify(password) } : {};
}

/** Permissions as they are stored. */
function permissionsOf(text: string): Stored {
  if (text === 'all') return null;
  const names = text.split(',');
  if (arePermissions(names)) return names;
  throw new InvalidArgumentError(`Must be "all", or some of ${permissionNames().join(', ')}.`);
}
