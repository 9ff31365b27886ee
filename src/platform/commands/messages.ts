import { type Command, Option } from 'commander';
import { parseCount, parseIds } from './arguments.js';
import { commandLine, runCommand } from './command.js';
import { JobsDatabase } from '../jobs/jobs-database.js';
import { UndeliveredMessages, type Undelivered } from '../../messages/delivery/undelivered-messages.js';

/** Exit status if something that was asked for could not be done. */
const FAILURE = 1;

const program = commandLine('messages', 'Lists and retries messages that have not been delivered.');

program
  .command('list')
  .description('list messages that have not been delivered, oldest first')
  .addOption(new Option('--status <status>').choices(['failed', 'queued']).default('failed'))
  .addOption(new Option('--limit <count>', 'maximum number of messages').argParser(parseCount).default(100))
  .action(({ status, limit }: { status: 'failed' | 'queued'; limit: number }) =>
    withMessages(async (messages) => {
      const found = await messages.list(status, limit);
      console.log(found.length === 0 ? `No message is ${status}.` : found.map(lineOf).join('\n'));
    }),
  );

program
  .command('retry')
  .description('queue failed messages again')
  .argument('[ids...]', 'ids of the messages', parseIds)
  .option('--all', 'all failed messages')
  .action((ids: string[] | undefined, { all = false }: { all?: boolean }, command: Command) => {
    if (all === Boolean(ids?.length)) command.error('error: give the ids of messages, or --all');
    return withMessages((messages) => (all ? retryAll(messages) : retry(messages, ids!)));
  });

await program.parseAsync();

function withMessages(work: (messages: UndeliveredMessages) => Promise<void>): Promise<void> {
  return runCommand(async ({ config }) => {
    const database = new JobsDatabase(config);
    try {
      await work(new UndeliveredMessages(database));
    } finally {
      await database.close();
    }
  });
}

async function retryAll(messages: UndeliveredMessages): Promise<void> {
  console.log(`${await messages.retryAll()} messages are queued again.`);
}

async function retry(messages: UndeliveredMessages, ids: string[]): Promise<void> {
  const retried = new Set(await messages.retry(ids));
  for (const id of ids) {
    if (retried.has(id)) console.log(`${id} is queued again.`);
    else console.error(`${id} is not a failed message.`);
  }
  if (retried.size < new Set(ids).size) process.exitCode = FAILURE;
}

function lineOf({ id, createdAt, tries, reason }: Undelivered): string {
  const tried = tries === null ? [] : [`${tries} tries`];
  return [id, createdAt.toISOString(), ...tried, reason ?? ''].join('  ').trimEnd();
}
