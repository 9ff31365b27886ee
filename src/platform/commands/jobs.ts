import { Option } from 'commander';
import { type JobStatus, type KeptJob, KeptJobs } from '../jobs/kept-jobs.js';
import { JobsDatabase } from '../jobs/jobs-database.js';
import { parseCount, parseIds } from './arguments.js';
import { commandLine, runCommand } from './command.js';

/** Exit status if something that was asked for could not be done. */
const FAILURE = 1;

const program = commandLine('jobs', 'Lists jobs that are not done, and retries those that have failed.');

program
  .command('list')
  .description('list jobs that are not done, oldest first')
  .addOption(new Option('--status <status>').choices(['failed', 'waiting']).default('failed'))
  .addOption(new Option('--queue <name>', 'only those of one queue'))
  .addOption(new Option('--limit <count>', 'maximum number of jobs').argParser(parseCount).default(100))
  .action(({ status, queue, limit }: { status: JobStatus; queue?: string; limit: number }) =>
    withJobs(async (jobs) => {
      const found = await jobs.list(status, limit, queue);
      console.log(found.length === 0 ? `No job is ${status}.` : found.map(lineOf).join('\n'));
    }),
  );

program
  .command('retry')
  .description('queue failed jobs again')
  .argument('<ids...>', 'ids of the jobs', parseIds)
  .action((ids: string[]) => withJobs((jobs) => retry(jobs, ids)));

await program.parseAsync();

function withJobs(work: (jobs: KeptJobs) => Promise<void>): Promise<void> {
  return runCommand(async ({ config }) => {
    const database = new JobsDatabase(config);
    try {
      await work(new KeptJobs(database));
    } finally {
      await database.close();
    }
  });
}

async function retry(jobs: KeptJobs, ids: string[]): Promise<void> {
  const retried = new Set(await jobs.retry(ids));
  for (const id of ids) {
    if (retried.has(id)) console.log(`${id} is queued again.`);
    else console.error(`${id} is not a failed job.`);
  }
  if (retried.size < new Set(ids).size) process.exitCode = FAILURE;
}

function lineOf({ id, queue, createdAt, tries, reason }: KeptJob): string {
  return [id, queue, createdAt.toISOString(), `${tries} tries`, reason ?? ''].join('  ').trimEnd();
}
