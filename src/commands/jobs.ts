import { isUUID } from 'class-validator';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { JobsDatabase } from '../platform/jobs/index.js';
import { OperatorError } from '../platform/process/index.js';
import { CommandLine, type Surroundings } from './command.js';
import { type UnfinishedJob, UnfinishedJobs } from './unfinished-jobs.js';

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
export function jobs(args: string[], surroundings: Surroundings): Promise<number> {
  const line = new CommandLine(
    'jobs',
    'Lists jobs that are not done, and retries or drops those that have failed.',
    surroundings,
  );
  const onJobs = (work: (all: UnfinishedJobs) => Promise<void>) =>
    line.onDatabase(async ({ config }) => {
      const database = new JobsDatabase(config);
      await work(new UnfinishedJobs(database)).finally(() => database.close());
    });
  line.program
    .command('list')
    .description('list jobs, those of messages too, oldest first')
    .option('--failed', 'those that have failed, as without an option')
    .addOption(new Option('--waiting', 'those that are not done yet').conflicts('failed'))
    .option('--queue <name>', 'only those of one queue')
    .addOption(new Option('--limit <count>', 'maximum number of jobs').argParser(parseCount).default(100))
    .action(({ waiting, queue, limit }: ListOptions) =>
      onJobs(async (all) => {
        const status = waiting ? 'waiting' : 'failed';
        const found = await all.list(status, limit, queue);
        await line.print(found.length > 0 ? found.map(lineOf) : [`No job is ${status}.`]);
      }),
    );
  for (const name of ['retry', 'drop'] as const)
    line.program
      .command(name)
      .description(CHANGES[name].description)
      .argument('[ids...]', 'ids of the jobs', parseIds)
      .option('--all', 'all failed jobs')
      .option('--queue <name>', 'with --all: only those of one queue')
      .action((ids: string[] | undefined, { all = false, queue }: Which, command: Command) => {
        if (all === Boolean(ids?.length) || (queue && !all))
          command.error('error: give the ids of jobs, or --all');
        return onJobs(async (unfinished) => {
          const { done } = CHANGES[name];
          const changed = new Set(await unfinished[name](all ? { queue } : { ids }));
          if (all) return line.print([`${changed.size} jobs are ${done}.`]);
          await line.print([...changed].map((id) => `${id} is ${done}.`));
          const others = ids!.filter((id) => !changed.has(id));
          if (others.length > 0) throw new OperatorError(`No failed job: ${others.join(', ')}.`);
        });
      });
  line.program
    .command('unschedule')
    .description('take out a schedule that no release declares any more')
    .argument('<name>')
    .action((name: string) =>
      onJobs(async (unfinished) => {
        if (!(await unfinished.unschedule(name))) throw new OperatorError(`No schedule: ${name}.`);
        await line.print([`${name} is no longer scheduled.`]);
      }),
    );
  return line.run(args);
}

function lineOf({ id, queue, createdAt, tries, reason }: UnfinishedJob): string {
  return [id, queue, createdAt.toISOString(), `${tries} tries`, reason ?? ''].join('  ').trimEnd();
}

/** Adds a UUID to those before it. */
function parseIds(text: string, before: string[] = []): string[] {
  if (!isUUID(text, 'loose')) throw new InvalidArgumentError('Not a UUID.');
  return [...before, text.toLowerCase()];
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Must be an integer from 1 to 999999.');
  return Number(text);
}
