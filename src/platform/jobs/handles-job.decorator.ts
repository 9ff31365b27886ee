import type { Job, JobQueue } from './job.js';

const HANDLES_JOB = Symbol('handles job');

/** What may be said of a handler's queue; everything has a default. */
type Options = Partial<
  Pick<JobQueue, 'concurrency' | 'longestPauseSeconds' | 'cron' | 'idlePollMs' | 'isForAll'>
>;

const DEFAULTS = { concurrency: 10, longestPauseSeconds: 3_600 };

type Handler = (payload: never, job: Job) => Promise<unknown>;

/**
 * Marks the method of a provider that handles the jobs of a name: at least once each, and again, with growing pauses for a
 * day, after an error. It must do no harm if it is called again for what it has done. Names have letters, digits, `-`,
 * `_`, `.` and `/`.
 * @throws JobError (by the method) to decide what comes next
 */
export function HandlesJob(name: string, options: Options = {}) {
  return (_prototype: object, _method: string, { value }: { value?: Handler }): void => {
    Reflect.defineMetadata(HANDLES_JOB, { ...DEFAULTS, ...options, name }, value!);
  };
}

/**
 * Marks a method that is called at the times of a cron expression: five fields, in UTC. One process calls it, whatever
 * their number, and calls it again as any job if it fails.
 */
export const Scheduled = (name: string, cron: string, options: Options = {}) =>
  HandlesJob(name, { ...options, cron });

/** The queue that a method of a provider handles, if it does. */
export function queueOf(provider: object, method: string): JobQueue | undefined {
  const value = (provider as Record<string, Handler | undefined>)[method];
  const facts =
    typeof value === 'function' && (Reflect.getMetadata(HANDLES_JOB, value) as JobQueue | undefined);
  return facts ? { ...facts, handle: (job) => value.call(provider, job.payload as never, job) } : undefined;
}
