import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { DataSource } from 'typeorm';
import { AccountChanges } from '../../auth/account-changes.js';
import {
  AccountChangeDto,
  AccountDto,
  InvitationDto,
  ListedAccountDto,
  NewAccountDto,
} from '../../auth/account.dto.js';
import { AccountsService } from '../../auth/accounts.service.js';
import { ApiKeyDto, CreatedApiKeyDto, NewApiKeyDto } from '../../auth/api-key.dto.js';
import { ApiKeysService } from '../../auth/api-keys.service.js';
import type { Stored } from '../../auth/granted.js';
import { Identities } from '../../auth/identities.js';
import { Invitations } from '../../auth/invitations.js';
import {
  arePermissions,
  isInt64Text,
  parseTime,
  permissionNames,
  readDto,
} from '../../platform/api/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { type AuditFilter, AuditLog } from '../../platform/safeguards/index.js';
import { type CommandEnvironment, CommandLine } from '../command.js';
import { withContext } from './context.js';
import { exportAccount } from './export-account.js';
import { auditLines, fieldsOf, Operator, OPERATOR } from './operator.js';

// oxlint-disable-next-line typescript/no-explicit-any -- as commander's actions
type Action = (operator: Operator, ...given: any[]) => Promise<void>;
type Add = (usage: string, description: string, ...parts: [...(Argument | Option)[], Action]) => void;

/** `petstore admin` */
export async function admin(args: string[], environment: CommandEnvironment): Promise<number> {
  const { features } = await environment.parts();
  const title = 'Manages the accounts and API keys in the configured database.';
  const line = new CommandLine('admin', title, environment);
  const { program } = line;
  const accounts =
    'manage accounts: <account> is an id, an email, or "<issuer> <subject>" of an identity provider';
  addAccounts(adder(line, program.command('accounts').description(accounts)));
  addKeys(adder(line, program.command('keys').description('manage the API keys of an account')));
  const invitations = 'manage invitations, which let people sign up while SIGN_UP is "invite"';
  addInvitations(adder(line, program.command('invitations').description(invitations)));
  addAudit(adder(line, program));
  return features.run(() => line.run(args));
}

function adder(line: CommandLine, group: Command): Add {
  return (usage, description, ...parts) => {
    const act = parts.pop() as Action;
    const command = group.command(usage).description(description);
    for (const part of parts)
      if (part instanceof Option) command.addOption(part);
      else if (part instanceof Argument) command.addArgument(part);
    command.action((...given) =>
      line.onDatabase(({ config }) => withContext(config, (app) => act(new Operator(app, line), ...given))),
    );
  };
}

const AS_JSON = new Option('--json', 'print JSON');
const GENERATE = new Option('--generate-password', 'generate and print a password instead of reading one');
const EXPIRES_AT = ['--expires-at <time>', 'when it expires, such as 2030-01-31T12:00:00Z'] as const;

interface Options {
  json?: boolean;
  generatePassword?: boolean;
}

function addAccounts(add: Add): void {
  add('list', 'list every account', AS_JSON, (operator, { json }: Options) =>
    operator.list(ListedAccountDto, (page) => operator.get(Identities).list(page), json),
  );
  const create = 'create an account; its password is read from the terminal or standard input';
  add('create <email>', create, GENERATE, AS_JSON, async (operator, email: string, options: Options) => {
    const { password, shown } = await operator.newPassword(options.generatePassword);
    const account = readDto(NewAccountDto, { email, password });
    const created = await operator.get(AccountsService).create(account, OPERATOR);
    await operator.show({ ...fieldsOf(AccountDto, created), ...shown }, options.json);
  });
  const set = 'replace the password of an account; its keys stay valid';
  add('set-password <account>', set, GENERATE, AS_JSON, async (operator, name: string, options: Options) => {
    const by = await operator.actingOn(name);
    const { password, shown } = await operator.newPassword(options.generatePassword);
    const change = readDto(AccountChangeDto, { password });
    const { email } = await operator.get(AccountChanges).change(by, change);
    await operator.show({ email: JSON.stringify(email), ...shown }, options.json);
  });
  const permit = 'replace the permissions of an account; takes effect everywhere within a second';
  const names = new Argument('<permissions>', 'comma-separated names, or "all"').argParser(parsePermissions);
  add('set-permissions <account>', permit, names, async (operator, account: string, permissions: Stored) => {
    await operator.get(AccountChanges).setPermissions(await operator.actingOn(account), permissions);
    const all = permissions?.join(', ') ?? 'everything';
    await operator.print([`Keys of ${JSON.stringify(account)} may do: ${all}.`]);
  });
  const close = 'close an account for good; its subject at the identity provider cannot sign up again';
  add('close <account>', close, async (operator, account: string) => {
    await operator.get(AccountChanges).close(await operator.actingOn(account));
    await operator.print([`The account ${JSON.stringify(account)} is closed.`]);
  });
  const dump = 'print all data of an account, as JSON lines';
  add('export <account>', dump, async (operator, account: string) => {
    const id = await operator.accountId(account);
    await exportAccount(operator.get(DataSource), id, (lines) => operator.print(lines));
  });
}

interface NewKey extends Options {
  name: string;
  expiresAt?: string;
  permissions?: string;
  networks?: string;
}

const NEW_KEY = [
  new Option('--name <name>', 'what the key is for').makeOptionMandatory(),
  new Option('--permissions <list>', 'permissions of the key, separated by commas; all by default'),
  new Option('--networks <list>', 'allowed networks such as 192.0.2.0/24, comma-separated; all by default'),
  new Option(...EXPIRES_AT),
];

function addKeys(add: Add): void {
  const list = 'list the keys of an account';
  add('list <account>', list, AS_JSON, async (operator, account: string, { json }: Options) => {
    const { accountId: id } = await operator.actingOn(account);
    await operator.list(ApiKeyDto, (page) => operator.get(ApiKeysService).list(id, page), json);
  });
  const create = 'create a key and print it; it is never shown again';
  add('create <account>', create, ...NEW_KEY, AS_JSON, async (operator, account: string, options: NewKey) => {
    const { json, permissions, networks, ...fields } = options;
    const by = await operator.actingOn(account);
    const lists = { permissions: permissions?.split(','), networks: networks?.split(',') };
    const key = await operator.get(ApiKeysService).create(by, readDto(NewApiKeyDto, { ...fields, ...lists }));
    await operator.show(fieldsOf(CreatedApiKeyDto, key), json);
  });
  const revoke = 'revoke a key; every instance refuses it within a second';
  add('revoke <account>', revoke, idOf('key'), async (operator, account: string, id: string) => {
    await operator.get(ApiKeysService).revoke(await operator.actingOn(account), id);
    await operator.print([`Key ${id} is revoked.`]);
  });
}

function addInvitations(add: Add): void {
  add('list', 'list unused invitations', AS_JSON, (operator, { json }: Options) =>
    operator.list(InvitationDto, (page) => operator.get(Invitations).list(page), json),
  );
  const create = 'create an invitation for one account, and print its code; it is never shown again';
  const end = new Option(...EXPIRES_AT).argParser(parseFuture);
  add('create', create, end, AS_JSON, async (operator, options: Options & { expiresAt?: Date }) => {
    const { code, ...made } = await operator.get(Invitations).create(OPERATOR, options.expiresAt ?? null);
    const fields = { ...fieldsOf(InvitationDto, made), invitation: JSON.stringify(code) };
    await operator.show(fields, options.json);
  });
  const revoke = 'revoke an unused invitation';
  add('revoke', revoke, idOf('invitation'), async (operator, id: string) => {
    const isRevoked = await operator.get(Invitations).revoke(OPERATOR, id);
    if (!isRevoked) throw new OperatorError(`There is no unused invitation ${id}.`);
    await operator.print([`Invitation ${id} is revoked.`]);
  });
}

const FILTERS = [
  new Option('--account <account>', 'only changes of this account'),
  new Option('--key <id>', 'only changes with this API key').argParser(parseId),
  new Option('--action <action>', 'only this action, such as order.approved'),
  new Option('--job <name>', 'only changes by this job or schedule'),
  new Option('--request <id>', 'only changes by the request with this X-Request-Id'),
  new Option('--since <time>', 'only from this time on, such as 2030-01-31T12:00:00Z').argParser(parseMoment),
  new Option('--until <time>', 'only before this time').argParser(parseMoment),
];

function addAudit(add: Add): void {
  const audit = 'print who changed what, oldest first, as JSON lines';
  add('audit', audit, ...FILTERS, async (operator, options: AuditFilter & { account?: string }) => {
    const { account, ...filter } = options;
    const accountId = account === undefined ? undefined : await operator.accountId(account);
    await operator.print(auditLines(operator.get(AuditLog).read({ ...filter, accountId })));
  });
}

function idOf(kind: string): Argument {
  return new Argument('<id>', `id of the ${kind}`).argParser(parseId);
}

/** Parses permissions into the form of the database. */
function parsePermissions(text: string): Stored {
  if (text === 'all') return null;
  const names = text.split(',');
  if (arePermissions(names)) return names;
  throw new InvalidArgumentError(`Must be "all", or some of ${permissionNames().join(', ')}.`);
}

function parseId(text: string): string {
  if (!isInt64Text(text)) throw new InvalidArgumentError('Must be a 64-bit integer.');
  return text;
}

function parseMoment(text: string): Date {
  const time = parseTime(text);
  if (!time) throw new InvalidArgumentError('Must be a time such as 2030-01-31T12:00:00Z.');
  return time;
}

function parseFuture(text: string): Date {
  const time = parseMoment(text);
  if (time.getTime() <= Date.now()) throw new InvalidArgumentError('Must be a time in the future.');
  return time;
}
