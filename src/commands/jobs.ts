import { isUUID } from 'class-validator';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { createBoss, JobsDatabase, reasonIn } from '../platform/jobs/index.js';
import { OperatorError } from '../platform/process/index.js';
import { type CommandEnvironment, CommandLine } from './command.js';

const STATES = { failed: `state = 'failed'`, waiting: `state <= 'active'` };

/**
 * The unfinished jobs, oldest first. pg-boss's `findJobs` reads all jobs of a queue, with their payloads,
 * which operators should not read. The table of jobs is documented: https://pgboss.io/sql/job-table
 */
const list = (status: keyof typeof STATES) => `
  SELECT id, name AS queue, created_on AS "createdAt", output,
    CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries
  FROM pgboss.job
  WHERE ${STATES[status]} AND name NOT LIKE '\\_\\_%' AND name = coalesce($2, name)
  ORDER BY created_on LIMIT $1`;
const SELECT_FAILED = `
  SELECT id, name AS queue, data FROM pgboss.job
  WHERE state = 'failed' AND name NOT LIKE '\\_\\_%' AND ($1::uuid[] IS NULL OR id = ANY($1))
    AND name = coalesce($2, name) FOR UPDATE`;
/** Sets messages back to `queued`; their owners see this status. */
const QUEUE_MESSAGES = `
  UPDATE messages SET status = 'queued', failure = NULL WHERE id = ANY($1) AND status = 'failed'`;

interface ListOptions {
  waiting?: boolean;
  queue?: string;
  limit: number;
}

interface Which {
  all?: boolean;
  queue?: string;
}

const CHANGES = {
  retry: { description: 'queue failed jobs again', done: 'queued again' },
  drop: { description: 'forget failed jobs', done: 'dropped' },
};

/** `petstore jobs list | retry | drop` */
export function jobs(args: string[], environment: CommandEnvironment): Promise<number> {
  const title = 'Lists unfinished jobs, and retries or drops failed jobs.';
  const line = new CommandLine('jobs', title, environment);
  const onJobs = (work: (database: JobsDatabase) => Promise<void>) =>
    line.onDatabase(async ({ config }) => {
      const database = new JobsDatabase(config);
      await work(database).finally(() => database.close());
    });
  line.program
    .command('list')
    .description('list jobs, including those of messages, oldest first')
    .option('--failed', 'failed jobs (the default)')
    .addOption(new Option('--waiting', 'jobs that wait or run').conflicts('failed'))
    .option('--queue <name>', 'only jobs of this queue')
    .addOption(new Option('--limit <count>', 'maximum number of jobs').argParser(parseCount).default(100))
    .action(({ waiting, queue, limit }: ListOptions) =>
      onJobs(async (database) => {
        const status = waiting ? 'waiting' : 'failed';
        const { rows } = await database.executeSql(list(status), [limit, queue]);
        await line.print(rows.length > 0 ? (rows as UnfinishedJob[]).map(lineOf) : [`No job is ${status}.`]);
      }),
    );
  for (const name of ['retry', 'drop'] as const)
    line.program
      .command(name)
      .description(CHANGES[name].description)
      .argument('[ids...]', 'ids of the jobs', parseIds)
      .option('--all', 'all failed jobs')
      .option('--queue <name>', 'with --all: only jobs of this queue')
      .action((ids: string[] | undefined, { all = false, queue }: Which, command: Command) => {
        if (all === Boolean(ids?.length) || (queue && !all))
          command.error('error: give the ids of jobs, or --all');
        return onJobs(async (database) => {
          const { done } = CHANGES[name];
          const changed = await takeFailed(database, name === 'retry', all ? undefined : ids, queue);
          if (all)
            return line.print([`${changed.size} ${changed.size === 1 ? 'job is' : 'jobs are'} ${done}.`]);
          await line.print([...changed].map((id) => `${id} is ${done}.`));
          const unchanged = ids!.filter((id) => !changed.has(id));
          if (unchanged.length > 0) throw new OperatorError(`Not a failed job: ${unchanged.join(', ')}.`);
        });
      });
  return line.run(args);
}

/**
 * Deletes failed jobs, by default of all ids and queues; returns their ids. Messages of dropped jobs stay `failed`.
 * @param again queues the jobs as new: pg-boss's `retry` would give them a single try
 */
function takeFailed(
  database: JobsDatabase,
  again: boolean,
  ids?: string[],
  only?: string,
): Promise<Set<string>> {
  const boss = createBoss(database);
  return database.transaction(async (db) => {
    const { rows } = await db.executeSql(SELECT_FAILED, [ids, only]);
    const failed = rows as { id: string; queue: string; data: object | null }[];
    for (const [queue, found] of Map.groupBy(failed, (job) => job.queue)) {
      const taken = found.map(({ id }) => id);
      await boss.deleteJob(queue, taken, { db });
      const fresh = found.map(({ id, data }) => ({ id, ...(data && { data }) }));
      if (again) await boss.insert(queue, fresh, { db });
    }
    const all = failed.map(({ id }) => id);
    if (again) await db.executeSql(QUEUE_MESSAGES, [all]);
    return new Set(all);
  });
}

interface UnfinishedJob {
  id: string;
  queue: string;
  createdAt: Date;
  /** The number of tries so far. */
  tries: number;
  /** The output of the last try, with the reason of its failure. */
  output: unknown;
}

function lineOf({ id, queue, createdAt, tries, output }: UnfinishedJob): string {
  return [id, queue, createdAt.toISOString(), `${tries} tries`, reasonIn(output)].join('  ').trimEnd();
}

function parseIds(text: string, earlier: string[] = []): string[] {
  if (!isUUID(text, 'loose')) throw new InvalidArgumentError('Not a UUID.');
  return [...earlier, text.toLowerCase()];
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Must be an integer from 1 to 999999.');
  return Number(text);
}
