/** A job that is being worked on. */
export interface Job<Payload = unknown> {
  /** UUID; the same at every try. */
  id: string;
  /** What was given to `Jobs.add`; undefined for a job without one, as those of a schedule. */
  payload: Payload;
  /** Earlier tries. */
  tries: number;
  /** Aborted when the service has to stop, when another worker has the job, and after two minutes. */
  signal: AbortSignal;
}

/** What has become of a try. */
export interface Ending {
  queue: string;
  id: string;
  /** The try that it is the end of, counted as pg-boss does. */
  retryCount: number;
  /** States of pg-boss; `retry` is a later try. */
  state: 'completed' | 'retry' | 'failed';
  /** Why it has not succeeded. */
  reason?: string;
  /** Seconds until the next try. */
  pause?: number;
  /** When the first of the tries failed, as an ISO 8601 date. */
  failingSince?: string;
  /** What the handler has returned, for `record`. */
  result?: unknown;
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
  /** Records the endings of tries in the open transaction, which ends their jobs. Failed jobs are then not kept. */
  record?: (endings: readonly Ending[]) => Promise<unknown>;
  /** When a job is made by itself: five fields of cron, in UTC. */
  cron?: string;
  /** Longest time between two looks at a queue that is empty, in milliseconds; 250 when left out. */
  idlePollMs?: number;
  /** Whether every process works on it, whatever its `ROLE`: for what a service promises that has no other process. */
  isForAll?: boolean;
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
