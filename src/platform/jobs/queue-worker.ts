import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Job as BossJob, PgBoss } from 'pg-boss';
import { ThrottledWarning } from '../telemetry/index.js';
import { FAILED_FOR_SECONDS, QUEUE_OPTIONS, TRY_SECONDS } from './boss.js';
import { heldIn } from './job-table.js';
import { JobError, type JobQueue } from './job.js';
import type { Jobs } from './jobs.js';

/** Milliseconds before the next look at a queue that had few jobs; twice as long each time that it has none. */
const FIRST_POLL_MS = 25;
/** Longest time between two looks at an empty queue that says nothing else, and at what is under way, in milliseconds. */
const CHECK_MS = 250;
/** How often a worker shows that it is alive, in milliseconds. */
const HEARTBEAT_MS = 8_000;
/** How often, and how many milliseconds apart, an ending is recorded while that fails. */
const RECORD = { tries: 10, pauseMs: 1_000 };

/** Seconds until the first retry; each further pause is twice as long. */
const FIRST_RETRY_SECONDS = 5;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;

/** When a queue is paused: after so many failures in a row, and for how many milliseconds. */
const PAUSED = { failures: 100, firstMs: 1_000, longestMs: 60_000 };

/** A job as pg-boss gives it; what it holds beside the payload is the worker's. */
type FetchedJob = BossJob<{ payload?: unknown; failingSince?: string } | null>;

/** One try of a job. */
interface Try {
  job: FetchedJob;
  controller: AbortController;
}

/** What has become of a try. */
interface Ending {
  job: FetchedJob;
  /** A returned one counts as no try. */
  state: 'done' | 'postponed' | 'failed' | 'returned';
  /** What the handler has returned. */
  result?: unknown;
  /** Why it has failed. */
  reason?: string;
  /** Seconds until the next try. */
  pause?: number;
  /** When the first of the tries failed, as an ISO 8601 date. */
  failingSince?: string;
}

/** Why a try is no longer this worker's, whatever becomes of it. */
class ReleasedError extends Error {}

/** Another worker has taken it over. */
class LostError extends ReleasedError {}

/**
 * Works on the jobs of one queue. It fetches some whenever that many more may be under way, so that none waits for others
 * to end, and records each ending as soon as it is known. (A worker of pg-boss waits for the slowest of what it has fetched,
 * and looks for more twice a second at most.)
 */
export class QueueWorker {
  private readonly logger: Logger;
  private readonly troubles: ThrottledWarning;
  private readonly held = new Set<Try>();
  private readonly stopping = new AbortController();
  private readonly heart: NodeJS.Timeout;
  private readonly running: Promise<void>;
  /** Ends a wait for the end of a try. */
  private tryEnded = () => {};
  /** Failures in a row, and the pause that they have led to. */
  private failures = 0;
  private pauseMs = 0;
  private pausedUntil = 0;

  /**
   * @param boss fetches jobs, and shows that they are worked on
   * @param warn told what has gone wrong with the queue itself
   */
  constructor(
    private readonly queue: JobQueue,
    private readonly jobs: Jobs,
    private readonly boss: PgBoss,
    private readonly warn: (error: Error) => void,
  ) {
    this.logger = new Logger(`Jobs of ${queue.name}`);
    this.troubles = new ThrottledWarning(this.logger, 'Tries have failed and will be repeated');
    this.heart = setInterval(() => void this.beat(), HEARTBEAT_MS).unref();
    this.running = this.run();
  }

  /** Takes no more jobs; resolves when those under way have ended. */
  async drain(): Promise<void> {
    this.stopping.abort();
    this.tryEnded();
    await this.running;
    while (this.held.size > 0) await this.endOfTry();
    clearInterval(this.heart);
  }

  /** Returns what is still under way to the queue, for another worker to take at once. */
  async handBack(): Promise<void> {
    for (const { controller } of this.held) controller.abort(new ReleasedError('The service stops'));
    await this.drain();
  }

  private async run(): Promise<void> {
    const { concurrency, idlePollMs = CHECK_MS } = this.queue;
    const { signal } = this.stopping;
    const chunk = Math.ceil(concurrency / 4);
    let pollMs = FIRST_POLL_MS;
    while (!signal.aborted) {
      const limit = this.limit(concurrency);
      const size = Math.min(chunk, limit);
      if (limit === 0 || this.held.size + size > limit) {
        await this.endOfTry();
        continue;
      }
      const jobs = await this.fetch(size);
      for (const job of jobs) void this.work(job);
      pollMs = jobs.length > 0 ? FIRST_POLL_MS : Math.min(2 * pollMs, idlePollMs);
      if (jobs.length < size) await sleep(pollMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Resolves when a try has ended, and after a while at the latest. */
  private async endOfTry(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tryEnded = resolve;
    const timer = setTimeout(resolve, CHECK_MS);
    await promise;
    clearTimeout(timer);
  }

  private async fetch(batchSize: number): Promise<FetchedJob[]> {
    try {
      return await this.boss.fetch<FetchedJob['data']>(this.queue.name, { batchSize });
    } catch (error) {
      this.warn(error as Error);
      return [];
    }
  }

  private async work(job: FetchedJob): Promise<void> {
    const one = { job, controller: new AbortController() };
    this.held.add(one);
    await this.end(await this.handle(one), one.controller.signal);
    this.held.delete(one);
    this.tryEnded();
  }

  /** Handles a job, until it is done, its time is over, or it is no longer this worker's. */
  private async handle({ job, controller }: Try): Promise<Ending> {
    const { id, data, retryCount: tries } = job;
    const { signal } = controller;
    const { promise: over, reject } = Promise.withResolvers<never>();
    // Where the handler throws at once, nobody waits for this.
    over.catch(() => {});
    const late = () => {
      const error = new Error(`No end within ${TRY_SECONDS} s`);
      controller.abort(error);
      reject(error);
    };
    const timer = setTimeout(late, TRY_SECONDS * 1_000);
    // What was done although another worker has the job is done.
    signal.addEventListener('abort', () => signal.reason instanceof LostError || reject(signal.reason));
    try {
      const by = { job: this.queue.name };
      const handled = this.queue.handle!({ id, payload: data?.payload, by, tries, signal });
      const result = await Promise.race([handled, over]);
      this.succeeded();
      return { job, state: 'done', result };
    } catch (error) {
      return this.failureOf(job, signal.aborted ? signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What comes after a failure: another try, or none if it was final or a day has passed since the first. */
  private failureOf(job: FetchedJob, thrown: unknown): Ending {
    if (thrown instanceof ReleasedError) return { job, state: 'returned', pause: 0 };
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : new JobError('');
    // Who refuses a job for good is there.
    if (isFinal) this.succeeded();
    else this.failed();
    // What PostgreSQL cannot hold would keep the ending from being recorded.
    const reason = error.message.replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed();
    const failingSince = new Date(job.data?.failingSince ?? Date.now());
    if (isFinal || Date.now() - failingSince.getTime() >= DAY_MS) return { job, state: 'failed', reason };
    const longest = this.queue.longestPauseSeconds;
    const pause = Math.max(pauseAfter(job.retryCount, longest), Math.min(retryAfterSeconds, longest));
    return { job, state: 'postponed', reason, pause, failingSince: failingSince.toISOString() };
  }

  /** Records an ending, also if the database is away for a while. */
  private async end(ending: Ending, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.record([ending]);
        break;
      } catch (error) {
        this.warn(error as Error);
        // Without a sign of life the job will be tried again.
        if (tries === RECORD.tries || signal.reason instanceof ReleasedError) return;
        await sleep(RECORD.pauseMs);
      }
    }
    const { state, reason } = ending;
    if (state === 'returned') return;
    this.jobs.count(this.queue.name, state);
    if (state === 'failed') this.logger.warn(`Job ${ending.job.id} has failed: ${reason}`);
    if (state === 'postponed') this.troubles.add(reason!);
  }

  /** Ends tries in one transaction. Those of jobs that another worker has taken over end nothing. */
  private record(endings: Ending[]): Promise<void> {
    const { name, record } = this.queue;
    const { boss, transactions } = this.jobs;
    const isOver = ({ state }: Ending) => state === 'done' || (state === 'failed' && record !== undefined);
    return transactions.run(async () => {
      const over = endings.filter(isOver);
      if (over.length > 0) {
        await record?.(over.map(({ job: { id }, result, reason }) => ({ id, result, failure: reason })));
        await boss.complete(name, over.map(jobOf));
      }
      const failed = endings.filter((ending) => !isOver(ending));
      const own = await heldIn(boss, name, failed.map(jobOf));
      const ended = failed.filter(({ job }) => own.has(job.id));
      for (const [reason, alike] of Map.groupBy(ended, (ending) => ending.reason)) {
        const output = reason === undefined ? null : { reason };
        await boss.fail(name, alike.map(jobOf), output);
        await Promise.all(alike.map((ending) => this.decide(ending)));
      }
    });
  }

  /** Decides what comes next for a job that has failed, which pg-boss would try again in a second. */
  private async decide({ job: { id, data }, state, reason, pause, failingSince }: Ending): Promise<void> {
    const { name } = this.queue;
    const { boss } = this.jobs;
    if (state === 'failed') {
      // Where no tries are left, the next failure is for good.
      await boss.update(name, undefined, { id, retryLimit: 0, deleteAfterSeconds: FAILED_FOR_SECONDS });
      await boss.fail(name, id, { reason });
    } else {
      const { retryLimit } = QUEUE_OPTIONS;
      const changed = failingSince && !data?.failingSince ? { ...data, failingSince } : undefined;
      const change = { id, startAfter: pause, retryLimit };
      if ((await boss.update(name, changed, change)).updated > 0) return;
      // It had no tries left: that limit is from a release before, or of a job that had failed for good.
      await boss.retry(name, id);
      await boss.update(name, changed, change);
    }
  }

  private async beat(): Promise<void> {
    const all = [...this.held];
    if (all.length === 0) return;
    try {
      const { name } = this.queue;
      await this.boss.touch(name, all.map(jobOf));
      const own = await heldIn(this.boss, name, all.map(jobOf));
      for (const { job, controller } of all)
        if (!own.has(job.id)) controller.abort(new LostError('Another worker has the job'));
    } catch (error) {
      // It says nothing about who has the jobs.
      this.warn(error as Error);
    }
  }

  /** How many jobs may be under way: where all have failed, none for a while, and then one to see. */
  private limit(concurrency: number): number {
    if (this.pauseMs === 0) return concurrency;
    return performance.now() < this.pausedUntil ? 0 : 1;
  }

  private succeeded(): void {
    this.failures = 0;
    if (this.pauseMs === 0) return;
    this.pauseMs = this.pausedUntil = 0;
    this.jobs.paused.delete(this.queue.name);
    this.logger.warn('Goes on, as a try has succeeded');
  }

  private failed(): void {
    const now = performance.now();
    // What was begun before a pause says nothing new.
    if (++this.failures < PAUSED.failures || now < this.pausedUntil) return;
    if (this.pauseMs === 0) {
      this.jobs.paused.add(this.queue.name);
      this.logger.warn('Paused, as all tries have failed for a while');
    }
    this.pauseMs = Math.min(2 * this.pauseMs || PAUSED.firstMs, PAUSED.longestMs);
    this.pausedUntil = now + this.pauseMs;
  }
}

const jobOf = ({ job }: Try | Ending): FetchedJob => job;

/**
 * Seconds after so many earlier tries: a random part of a pause that doubles up to the longest one, so that jobs that
 * failed together are not retried together.
 */
function pauseAfter(earlier: number, longestSeconds: number): number {
  const pause = Math.min(longestSeconds, FIRST_RETRY_SECONDS * 2 ** Math.min(earlier, 30));
  return pause * (0.5 + Math.random() / 2);
}
