import { type Command, InvalidArgumentError } from 'commander';
import { InvitationDto } from '../../auth/invitation.dto.js';
import { parseTime } from '../../platform/api/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { fieldsOf, idOf, write, writeAll } from './output.js';
import { OPERATOR, withServices } from './services.js';

interface Options {
  json?: boolean;
  expiresAt?: Date;
}

/** `invitations list | create | revoke` */
export function addInvitationsCommands(program: Command): void {
  const invitations = program
    .command('invitations')
    .description('let people sign up where SIGN_UP is "invite"');
  const listing = invitations.command('list').description('list the invitations that have not been used');
  listing.option('--json', 'print JSON').action(list);
  invitations
    .command('create')
    .description('create an invitation, good for one account, and print its code, only this once')
    .option('--expires-at <time>', 'when it expires, such as 2030-01-31T12:00:00Z', timeOf)
    .option('--json', 'print JSON')
    .action(create);
  invitations
    .command('revoke')
    .description('revoke an invitation that has not been used')
    .argument('<id>', 'id of the invitation', idOf)
    .action(revoke);
}

function list({ json }: Options): Promise<void> {
  return withServices(({ invitations }) => writeAll(InvitationDto, (page) => invitations.list(page), json));
}

function create({ expiresAt, json }: Options): Promise<void> {
  return withServices(async ({ invitations }) => {
    const { code, ...made } = await invitations.create(OPERATOR, expiresAt ?? null);
    write({ ...fieldsOf(InvitationDto, made), invitation: JSON.stringify(code) }, json);
  });
}

function revoke(id: string): Promise<void> {
  return withServices(async ({ invitations }) => {
    const isRevoked = await invitations.revoke(OPERATOR, id);
    if (!isRevoked) throw new OperatorError(`There is no invitation ${id} that has not been used.`);
    console.log(`Invitation ${id} is revoked.`);
  });
}

function timeOf(text: string): Date {
  const time = parseTime(text);
  if (!time || time.getTime() <= Date.now())
    throw new InvalidArgumentError('Must be a time in the future such as 2030-01-31T12:00:00Z.');
  return time;
}
