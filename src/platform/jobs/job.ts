import type { Actor } from '../api/index.js';

/** A running job. */
export interface Job<Payload = unknown> {
  /** UUID; the same at every try. */
  id: string;
  /** The payload of `Jobs.add`; undefined for the job of a schedule. */
  payload: Payload;
  /** The actor for the audit log: `{ ...by, accountId }` for a change of an account's rows. */
  by: Actor;
  /** The number of earlier tries. */
  tries: number;
  /** Aborted when the service stops, when another worker has taken over the job, and after two minutes. */
  signal: AbortSignal;
}

/** A queue and its handler. */
export interface JobQueue<Payload = any> {
  name: string;
  /** The number of jobs that one process runs at a time. */
  concurrency: number;
  /** Maximum seconds between two tries; the first pauses are shorter. */
  longestPauseSeconds: number;
  /** Handles a job; without a handler, jobs wait. Errors are retried; a JobError can choose the next try. */
  handle?: (job: Job<Payload>) => Promise<unknown>;
  /** Records jobs that completed at the same moment. Called again if it throws. */
  record?: (ids: readonly string[]) => Promise<unknown>;
  /** Records a job that has failed for good, however its last try ended. Called again if it throws. */
  recordFailure?: (id: string, reason: string) => Promise<unknown>;
  /** The schedule of the queue: five fields of cron, in UTC. */
  cron?: string;
  /** Whether processes of every `ROLE` run the jobs, so that they run even without a worker process. */
  runsInEveryRole?: boolean;
}

interface Verdict {
  /** Whether the job fails for good. */
  isFinal?: boolean;
  /** Minimum seconds before the next try, such as a `Retry-After` of another service. */
  retryAfterSeconds?: number;
}

/** A failed try. The operator sees the message, so it must contain no secrets. */
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

/** Options of a handler's queue. */
type Options = Partial<Pick<JobQueue, 'concurrency' | 'longestPauseSeconds' | 'cron' | 'runsInEveryRole'>>;

const DEFAULTS = { concurrency: 10, longestPauseSeconds: 3_600 };

type Handler = (payload: never, job: Job) => Promise<unknown>;

/**
 * Marks the method of a provider that handles the jobs of a queue. A job runs at least once; after an error it is retried for
 * a day, with growing pauses. A handler must tolerate a repeated call. A name has letters, digits, `-`, `_`, `.` and `/`.
 * The method can throw a `JobError` to choose the next try.
 */
export function HandlesJob(name: string, options: Options = {}) {
  return (_prototype: object, _method: string, { value }: { value?: Handler }): void => {
    Reflect.defineMetadata(HANDLES_JOB, { ...DEFAULTS, ...options, name }, value!);
  };
}

/**
 * Marks a method that runs at the times of a cron expression (five fields, UTC), each time in a single
 * process. A failed run is retried like any job.
 */
export function Scheduled(name: string, cron: string, options: Options = {}) {
  const mark = HandlesJob(name, { ...options, cron });
  return (prototype: object, method: string, descriptor: { value?: ScheduledHandler }): void =>
    mark(prototype, method, descriptor);
}

type ScheduledHandler = (payload: undefined, job: Job) => Promise<unknown>;

/** The queue that a method of a provider handles, if any. */
export function queueOf(provider: object, method: string): JobQueue | undefined {
  const value = (provider as Record<string, Handler | undefined>)[method];
  const facts =
    typeof value === 'function' && (Reflect.getMetadata(HANDLES_JOB, value) as JobQueue | undefined);
  return facts ? { ...facts, handle: (job) => value.call(provider, job.payload as never, job) } : undefined;
}

/** The reason in a failed try's output, from the handler or, if the try was cut off, from pg-boss. */
export function reasonIn(output: unknown): string {
  if (typeof output === 'string') return output;
  const { reason, message, value } = (output ?? {}) as Record<string, unknown>;
  const inner = reason ?? message ?? value;
  return inner === undefined ? '' : reasonIn(inner);
}
