import { type Command, InvalidArgumentError } from 'commander';
import { parseTime } from '../../api/calendar.js';
import { write } from './output.js';
import { withServices } from './services.js';

interface Options {
  json?: boolean;
  expiresAt?: Date;
}

/** `invitations create` */
export function addInvitationsCommands(program: Command): void {
  const invitations = program
    .command('invitations')
    .description('let people sign up where SIGN_UP is "invite"');
  invitations
    .command('create')
    .description('create an invitation, good for one account, and print its code, only this once')
    .option('--expires-at <time>', 'when it expires, such as 2030-01-31T12:00:00Z', timeOf)
    .option('--json', 'print JSON')
    .action(create);
}

function create({ expiresAt, json }: Options): Promise<void> {
  return withServices(async ({ invitations }) => {
    const { code } = await invitations.create(expiresAt ?? null);
    write({ invitation: JSON.stringify(code) }, json);
  });
}

function timeOf(text: string): Date {
  const time = parseTime(text);
  if (!time || time.getTime() <= Date.now())
    throw new InvalidArgumentError('Must be a time in the future such as 2030-01-31T12:00:00Z.');
  return time;
}
