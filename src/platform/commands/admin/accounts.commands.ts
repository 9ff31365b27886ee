import type { Command } from 'commander';
import { AccountDto, NewAccountDto } from '../../../auth/account.dto.js';
import { ValidationPipe } from '../../api/validation.pipe.js';
import { everyPage, type Fields, fieldsOf, write } from './output.js';
import { generatePassword, readPassword } from './password-input.js';
import { accountId, withServices } from './services.js';

interface Options {
  json?: boolean;
  generatePassword?: boolean;
}

const GENERATE = ['--generate-password', 'generate a password and print it, instead of reading one'] as const;

/** `accounts list | create | set-password` */
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
}

function list({ json }: Options): Promise<void> {
  return withServices(async ({ accounts }) => {
    const all = await everyPage((page) => accounts.list(page));
    write(
      all.map((account) => fieldsOf(AccountDto, account)),
      json,
    );
  });
}

function create(email: string, options: Options): Promise<void> {
  return withServices(async ({ accounts }) => {
    const account = await newAccount(email, options);
    const created = fieldsOf(AccountDto, await accounts.create(account));
    write({ ...created, ...generated(account, options) }, options.json);
  });
}

function setPassword(email: string, options: Options): Promise<void> {
  return withServices(async (services) => {
    const id = await accountId(services, email);
    const account = await newAccount(email, options);
    await services.accounts.setPassword(id, account.password);
    write({ email: JSON.stringify(email), ...generated(account, options) }, options.json);
  });
}

/** @throws ApiError `validation_failed` as a sign-up does */
async function newAccount(email: string, options: Options): Promise<NewAccountDto> {
  const password = options.generatePassword ? generatePassword() : await readPassword();
  const rules = { type: 'body', metatype: NewAccountDto } as const;
  return new ValidationPipe().transform({ email, password }, rules) as NewAccountDto;
}

function generated({ password }: NewAccountDto, options: Options): Fields {
  return options.generatePassword ? { password: JSON.stringify(password) } : {};
}
