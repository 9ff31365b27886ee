import type { Actor } from '../api/index.js';

/** A job that is being worked on. */
export interface Job<Payload = unknown> {
  /** UUID; the same at every try. */
  id: string;
  /** What was given to `Jobs.add`; undefined for a job without one, such as that of a schedule. */
  payload: Payload;
  /** Who makes its changes, as the audit log has it: `{ ...by, accountId }` for those of an account's rows. */
  by: Actor;
  /** Earlier tries. */
  tries: number;
  /** Whether the job is given up if this try fails. */
  isLast: boolean;
  /** Aborted when the service has to stop, when another worker has the job, and after two minutes. */
  signal: AbortSignal;
}

/** How jobs of one name are worked on. */
export interface JobQueue<Payload = any> {
  name: string;
  /** How many one process works on at a time. */
  concurrency: number;
  /** Maximum seconds between two tries; the first ones come sooner. */
  longestPauseSeconds: number;
  /** Handles one job; without it, jobs wait. @throws JobError to decide what comes next; after any other error the job is tried again */
  handle?: (job: Job<Payload>) => Promise<unknown>;
  /** Records that jobs are done, those of the same moment together; they come again if it fails. */
  record?: (ids: readonly string[]) => Promise<unknown>;
  /** When a job is added by itself: five fields of cron, in UTC. */
  cron?: string;
  /** Whether every process works on it, whatever its `ROLE`: for what a service promises that has no other process. */
  runsInEveryRole?: boolean;
}

interface Verdict {
  /** Whether the job must not be tried again. */
  isFinal?: boolean;
  /** Seconds to wait at least, such as those that another service has asked for. */
  retryAfterSeconds?: number;
}

/** A try that failed. Its message is kept for the operator, so it must hold nothing secret. */
export class JobError extends Error {
  readonly isFinal: boolean;
  readonly retryAfterSeconds: number;

  constructor(reason: string, { isFinal = false, retryAfterSeconds = 0 }: Verdict = {}) {
    super(reason);
    this.isFinal = isFinal;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const HANDLES_JOB = Symbol('handles job');

/** What may be said of a handler's queue; everything has a default. */
type Options = Partial<Pick<JobQueue, 'concurrency' | 'longestPauseSeconds' | 'cron' | 'runsInEveryRole'>>;

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
