import { type Command, Option } from 'commander';
import { type Undelivered, UndeliveredMessages } from '../messages/delivery/undelivered-messages.js';
import { parseCount, parseIds } from './arguments.js';
import { commandLine } from './command.js';
import { retry, withJobs } from './retry.js';

const program = commandLine('messages', 'Lists and retries messages that have not been delivered.');

program
  .command('list')
  .description('list messages that have not been delivered, oldest first')
  .addOption(new Option('--status <status>').choices(['failed', 'queued']).default('failed'))
  .addOption(new Option('--limit <count>', 'maximum number of messages').argParser(parseCount).default(100))
  .action(({ status, limit }: { status: 'failed' | 'queued'; limit: number }) =>
    withJobs(UndeliveredMessages, async (messages) => {
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
    return withJobs(UndeliveredMessages, (messages) =>
      all ? retryAll(messages) : retry(messages, ids!, 'message'),
    );
  });

await program.parseAsync();

async function retryAll(messages: UndeliveredMessages): Promise<void> {
  console.log(`${await messages.retryAll()} messages are queued again.`);
}

function lineOf({ id, createdAt, tries, reason }: Undelivered): string {
  const tried = tries === null ? [] : [`${tries} tries`];
  return [id, createdAt.toISOString(), ...tried, reason ?? ''].join('  ').trimEnd();
}
