import { JobsDatabase } from '../platform/jobs/index.js';
import { runCommand } from './command.js';

/** Exit status if something that was asked for could not be done. */
const FAILURE = 1;

/** Runs a command on what the database has of jobs, as one class reads it. */
export function withJobs<Jobs>(
  Reader: new (database: JobsDatabase) => Jobs,
  work: (jobs: Jobs) => Promise<void>,
): Promise<void> {
  return runCommand(async ({ config }) => {
    const database = new JobsDatabase(config);
    try {
      await work(new Reader(database));
    } finally {
      await database.close();
    }
  });
}

/**
 * Queues again what has failed, and prints what became of each; the process ends with 1 if one could not be.
 * @param kind what they are: a job, a message
 */
export async function retry(
  jobs: { retry(ids: string[]): Promise<string[]> },
  ids: string[],
  kind: string,
): Promise<void> {
  const retried = new Set(await jobs.retry(ids));
  for (const id of ids) {
    if (retried.has(id)) console.log(`${id} is queued again.`);
    else console.error(`${id} is not a failed ${kind}.`);
  }
  if (retried.size < new Set(ids).size) process.exitCode = FAILURE;
}
