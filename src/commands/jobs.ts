import { Option } from 'commander';
import { type JobStatus, type KeptJob, KeptJobs } from '../platform/jobs/index.js';
import { parseCount, parseIds } from './arguments.js';
import { commandLine } from './command.js';
import { retry, withJobs } from './retry.js';

const program = commandLine('jobs', 'Lists jobs that are not done, and retries those that have failed.');

program
  .command('list')
  .description('list jobs that are not done, oldest first')
  .addOption(new Option('--status <status>').choices(['failed', 'waiting']).default('failed'))
  .addOption(new Option('--queue <name>', 'only those of one queue'))
  .addOption(new Option('--limit <count>', 'maximum number of jobs').argParser(parseCount).default(100))
  .action(({ status, queue, limit }: { status: JobStatus; queue?: string; limit: number }) =>
    withJobs(KeptJobs, async (jobs) => {
      const found = await jobs.list(status, limit, queue);
      console.log(found.length === 0 ? `No job is ${status}.` : found.map(lineOf).join('\n'));
    }),
  );

program
  .command('retry')
  .description('queue failed jobs again')
  .argument('<ids...>', 'ids of the jobs', parseIds)
  .action((ids: string[]) => withJobs(KeptJobs, (jobs) => retry(jobs, ids, 'job')));

await program.parseAsync();

function lineOf({ id, queue, createdAt, tries, reason }: KeptJob): string {
  return [id, queue, createdAt.toISOString(), `${tries} tries`, reason ?? ''].join('  ').trimEnd();
}
