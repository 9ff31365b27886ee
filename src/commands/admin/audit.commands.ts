import { type Command, InvalidArgumentError } from 'commander';
import type { AuditFilter, AuditRecord } from '../../platform/safeguards/index.js';
import { isInt64Text, parseTime } from '../../platform/api/index.js';
import { idOf } from './output.js';
import { accountId, withServices } from './services.js';

interface Options extends Omit<AuditFilter, 'accountId'> {
  account?: string;
}

/** `audit` */
export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description(
      'print who changed what, oldest first: accounts, keys, permissions, invitations and orders, as JSON lines',
    )
    .option('--account <account>', 'of the account with this email, or with this id')
    .option('--key <id>', 'with this API key', idOf)
    .option('--action <action>', 'what was done, such as order.approved')
    .option('--job <name>', 'by the job or the schedule of this name')
    .option('--request <id>', 'by the request with this X-Request-Id')
    .option('--since <time>', 'from this time on, such as 2030-01-31T12:00:00Z', timeOf)
    .option('--until <time>', 'before this time', timeOf)
    .action(print);
}

function print({ account, ...filter }: Options): Promise<void> {
  return withServices(async (services) => {
    const isId = account === undefined || isInt64Text(account);
    const id = isId ? account : await accountId(services, account);
    for await (const record of services.audit.read({ ...filter, accountId: id })) console.log(lineOf(record));
  });
}

/** What is a number where it is an id. A request's id is a text, also one of digits alone. */
const IDS = new Set(['accountId', 'keyId', 'subjectId']);

/** A record as JSON, in which ids keep all their digits. What it does not have is left out. */
function lineOf({ createdAt: at, ...rest }: AuditRecord): string {
  const given = Object.entries({ at, ...rest }).filter(([name, value]) => name !== 'id' && value !== null);
  const fields = given.map(([name, value]) => {
    const isId = IDS.has(name) && typeof value === 'string' && isInt64Text(value);
    return `"${name}":${isId ? value : JSON.stringify(value)}`;
  });
  return `{${fields.join(',')}}`;
}

function timeOf(text: string): Date {
  const time = parseTime(text);
  if (!time) throw new InvalidArgumentError('Must be a time such as 2030-01-31T12:00:00Z.');
  return time;
}
