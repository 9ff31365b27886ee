import { type Command, Option } from 'commander';
import { PgBoss } from 'pg-boss';
import { MessageStatus, QUEUE } from '../messages/message.entity.js';
import { type JobsDatabase, KeptJobs } from '../platform/jobs/index.js';
import { parseCount, parseIds } from './arguments.js';
import { commandLine } from './command.js';
import { retry, withJobs } from './retry.js';

/** Messages per transaction. */
const BATCH = 1_000;

const NEXT = `SELECT id FROM messages WHERE status = 'failed' AND id > $1 ORDER BY id LIMIT $2`;
const FAILED = `
  SELECT id, created_at AS "createdAt", NULL AS tries, failure AS reason
  FROM messages WHERE status = 'failed' ORDER BY id LIMIT $1`;

/** A message that has not been delivered, without its text, which is not for operators to read. */
interface Undelivered {
  id: string;
  createdAt: Date;
  /** Tries so far; null for a failed message, whose tries are no longer known. */
  tries: number | null;
  /** Why the last try failed. */
  reason: string | null;
}

/** Lists and retries the messages that were not delivered. */
class UndeliveredMessages {
  private readonly boss: PgBoss;

  constructor(private readonly database: JobsDatabase) {
    this.boss = new PgBoss({ db: database });
  }

  /** Oldest first. */
  async list(status: 'failed' | 'queued', limit: number): Promise<Undelivered[]> {
    if (status === 'queued') return new KeptJobs(this.database).list('waiting', limit, QUEUE);
    const { rows } = await this.database.executeSql(FAILED, [limit]);
    return rows as Undelivered[];
  }

  /** Queues failed messages again, as if they were new. Returns the ids of those that had failed. */
  retry(ids: string[]): Promise<string[]> {
    return this.database.transaction(async (db) => {
      const { rows } = await db.executeSql(
        `UPDATE messages SET status = $2, failure = NULL WHERE id = ANY($1) AND status = $3 RETURNING id`,
        [ids, MessageStatus.Queued, MessageStatus.Failed],
      );
      const retried = (rows as { id: string }[]).map(({ id }) => id);
      if (retried.length > 0) {
        // pg-boss keeps a job for a while after its end, and accepts no second one with the same id.
        await this.boss.deleteJob(QUEUE, retried, { db });
        await this.boss.insert(
          QUEUE,
          retried.map((id) => ({ id })),
          { db },
        );
      }
      return retried;
    });
  }

  /** Retries every failed message once, in the order of ids: one that fails again meanwhile is not retried twice. */
  async retryAll(): Promise<number> {
    let last = '00000000-0000-0000-0000-000000000000';
    for (let count = 0; ;) {
      const { rows } = await this.database.executeSql(NEXT, [last, BATCH]);
      if (rows.length === 0) return count;
      count += (await this.retry(rows.map(({ id }: { id: string }) => id))).length;
      last = rows.at(-1).id;
    }
  }
}

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
