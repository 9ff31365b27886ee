import { type Command, InvalidArgumentError, Option } from 'commander';
import { commandLine, runCommand } from '../../command.js';
import { StartupError } from '../../config.js';
import { JobsDatabase } from '../delivery/jobs-database.js';
import { FailedMessages, type Undelivered } from './failed-messages.js';

/** Exit status where what was asked for could not be done. */
const FAILURE = 1;

const program = commandLine('messages', 'Looks after messages that could not be delivered.');

program
  .command('list')
  .description('shows messages that are not delivered, the oldest first')
  .addOption(new Option('--status <status>').choices(['failed', 'queued']).default('failed'))
  .addOption(new Option('--limit <count>', 'how many at most').argParser(parseCount).default(100))
  .action(({ status, limit }: { status: 'failed' | 'queued'; limit: number }) =>
    withMessages(async (messages) => {
      const found = await messages.list(status, limit);
      console.log(found.length === 0 ? `No message is ${status}.` : found.map(lineOf).join('\n'));
    }),
  );

program
  .command('retry')
  .description('queues failed messages anew')
  .argument('[ids...]', 'which', parseIds)
  .option('--all', 'all that have failed')
  .action((ids: string[] | undefined, { all = false }: { all?: boolean }, command: Command) => {
    if (all === Boolean(ids?.length)) command.error('error: name messages by their ids, or all with --all');
    return withMessages((messages) => (all ? retryAll(messages) : retry(messages, ids!)));
  });

await program.parseAsync();

function withMessages(work: (messages: FailedMessages) => Promise<void>): Promise<void> {
  return runCommand(async ({ config }) => {
    const database = new JobsDatabase(config);
    try {
      await work(new FailedMessages(database)).catch((error: Error) => {
        throw new StartupError(meaningOf(error));
      });
    } finally {
      await database.close();
    }
  });
}

async function retryAll(messages: FailedMessages): Promise<void> {
  console.log(`${await messages.retryAll()} messages are queued again.`);
}

async function retry(messages: FailedMessages, ids: string[]): Promise<void> {
  const retried = new Set(await messages.retry(ids));
  for (const id of ids) {
    if (retried.has(id)) console.log(`${id} is queued again.`);
    else console.error(`${id} is no message that has failed.`);
  }
  if (retried.size < new Set(ids).size) process.exitCode = FAILURE;
}

function lineOf({ id, createdAt, tries, reason }: Undelivered): string {
  const tried = tries === null ? [] : [`${tries} tries`];
  return [id, createdAt.toISOString(), ...tried, reason ?? ''].join('  ').trimEnd();
}

function parseIds(text: string, before: string[] = []): string[] {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError('It is no UUID.');
  }
  return [...before, text.toLowerCase()];
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

/** SQLSTATE of a schema or table that is not there. */
function meaningOf({ message, ...error }: Error): string {
  const { code } = error as { code?: string };
  if (code === '42P01' || code === '3F000')
    return 'The database has no messages yet: start the service once.';
  return `The database cannot be used: ${message || code}.`;
}
