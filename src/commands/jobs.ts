import { isUUID } from 'class-validator';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { JobsDatabase } from '../platform/jobs/index.js';
import { OperatorError } from '../platform/process/index.js';
import { type CommandEnvironment, CommandLine } from './command.js';
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
export function jobs(args: string[], environment: CommandEnvironment): Promise<number> {
  const title = 'Lists unfinished jobs, and retries or drops failed jobs.';
  const line = new CommandLine('jobs', title, environment);
  const onJobs = (work: (unfinished: UnfinishedJobs) => Promise<void>) =>
    line.onDatabase(async ({ config }) => {
      const database = new JobsDatabase(config);
      await work(new UnfinishedJobs(database)).finally(() => database.close());
    });
  line.program
    .command('list')
    .description('list jobs, those of messages too, oldest first')
    .option('--failed', 'failed jobs (the default)')
    .addOption(new Option('--waiting', 'jobs that wait or run').conflicts('failed'))
    .option('--queue <name>', 'only jobs of this queue')
    .addOption(new Option('--limit <count>', 'maximum number of jobs').argParser(parseCount).default(100))
    .action(({ waiting, queue, limit }: ListOptions) =>
      onJobs(async (unfinished) => {
        const status = waiting ? 'waiting' : 'failed';
        const found = await unfinished.list(status, limit, queue);
        await line.print(found.length > 0 ? found.map(lineOf) : [`No job is ${status}.`]);
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
        return onJobs(async (unfinished) => {
          const { done } = CHANGES[name];
          const changed = new Set(await unfinished[name](all ? { queue } : { ids }));
          if (all)
            return line.print([`${changed.size} ${changed.size === 1 ? 'job is' : 'jobs are'} ${done}.`]);
          await line.print([...changed].map((id) => `${id} is ${done}.`));
          const unchanged = ids!.filter((id) => !changed.has(id));
          if (unchanged.length > 0) throw new OperatorError(`No failed job: ${unchanged.join(', ')}.`);
        });
      });
  return line.run(args);
}

function lineOf({ id, queue, createdAt, tries, reason }: UnfinishedJob): string {
  return [id, queue, createdAt.toISOString(), `${tries} tries`, reason].join('  ').trimEnd();
}

function parseIds(text: string, earlier: string[] = []): string[] {
  if (!isUUID(text, 'loose')) throw new InvalidArgumentError('Not a UUID.');
  return [...earlier, text.toLowerCase()];
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Must be an integer from 1 to 999999.');
  return Number(text);
}
