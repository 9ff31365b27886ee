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

/** A record as JSON, in which ids keep all their digits. What it does not have is left out. */
function lineOf({ createdAt, actor, job, accountId: account, keyId, details, ...rest }: AuditRecord): string {
  const { action, subjectId, requestId, address } = rest;
  const fields: Record<string, string | null> = {
    at: JSON.stringify(createdAt),
    actor: JSON.stringify(actor),
    job: job && JSON.stringify(job),
    accountId: account,
    keyId,
    action: JSON.stringify(action),
    subjectId: subjectId && (isInt64Text(subjectId) ? subjectId : JSON.stringify(subjectId)),
    details: details && JSON.stringify(details),
    requestId: requestId && JSON.stringify(requestId),
    address: address && JSON.stringify(address),
  };
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return `{${given.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
}

function timeOf(text: string): Date {
  const time = parseTime(text);
  if (!time) throw new InvalidArgumentError('Must be a time such as 2030-01-31T12:00:00Z.');
  return time;
}
