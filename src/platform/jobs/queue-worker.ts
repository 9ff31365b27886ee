import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { PgBoss } from 'pg-boss';
import { ThrottledWarning } from '../telemetry/index.js';
import { endingOf } from './back-off.js';
import { TRY_SECONDS } from './boss.js';
import { Circuit } from './circuit.js';
import { type FetchedJob, HeldJob, HeldJobs } from './held-jobs.js';
import type { JobCounts } from './job-counts.js';
import type { JobEndings } from './job-endings.js';
import { type Ending, type Job, JobError, type JobQueue } from './job.js';
import { Wake } from './wake.js';

/** Milliseconds before the next look at a queue that had few jobs; twice as long each time that it has none. */
const FIRST_POLL_MS = 25;
/** Longest time between two looks at an empty queue that says nothing else, and at what is under way, in milliseconds. */
const CHECK_MS = 250;

/** What a worker needs of the others. */
interface Surroundings {
  boss: PgBoss;
  counts: JobCounts;
  endings: JobEndings;
  /** Told what has gone wrong with the queue itself. */
  failed: (error: Error) => void;
}

/**
 * Works on the jobs of one queue. It fetches some whenever that many more may be under way, so that none waits for others
 * to end, and records each ending as soon as it is known.
 */
export class QueueWorker {
  private readonly logger: Logger;
  private readonly troubles: ThrottledWarning;
  private readonly held: HeldJobs;
  private readonly circuit: Circuit;
  private readonly chunk: number;
  private readonly running: Promise<void>;
  private readonly stopping = new AbortController();
  private pauseMs = FIRST_POLL_MS;
  private readonly changed = new Wake();

  constructor(
    private readonly queue: JobQueue,
    private readonly around: Surroundings,
  ) {
    this.logger = new Logger(`Jobs of ${queue.name}`);
    this.troubles = new ThrottledWarning(this.logger, 'Tries have failed and will be repeated');
    this.held = new HeldJobs(
      around.boss,
      (held) => void this.giveUp(held),
      (error) => around.failed(error),
    );
    this.circuit = new Circuit((isPaused) => this.tell(isPaused));
    this.chunk = Math.ceil(queue.concurrency / 4);
    this.running = this.run();
  }

  /** Takes no more jobs; resolves when those under way have ended. */
  async drain(): Promise<void> {
    this.stopping.abort();
    this.changed.call();
    await this.running;
    while (this.held.size > 0) await this.changed.wait(CHECK_MS);
  }

  /** Returns what is still under way to the queue, for another worker to take at once. */
  async handBack(): Promise<void> {
    const left = this.held.releaseAll();
    await Promise.all(left.map((held) => this.around.endings.add(held.ending('retry', { pause: 0 }))));
    for (const held of left) held.abort('The service stops');
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const limit = this.circuit.limit(this.queue.concurrency);
      const size = Math.min(this.chunk, limit);
      if (limit === 0 || this.held.size + size > limit) {
        await this.changed.wait(CHECK_MS);
        continue;
      }
      const jobs = await this.fetch(size);
      for (const job of jobs) void this.take(new HeldJob(job));
      this.pauseMs =
        jobs.length > 0 ? FIRST_POLL_MS : Math.min(2 * this.pauseMs, this.queue.idlePollMs ?? CHECK_MS);
      if (jobs.length < size) await sleep(this.pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  private async fetch(batchSize: number): Promise<FetchedJob[]> {
    try {
      return await this.around.boss.fetch<FetchedJob['data']>(this.queue.name, { batchSize });
    } catch (error) {
      this.around.failed(error as Error);
      return [];
    }
  }

  private async take(held: HeldJob): Promise<void> {
    this.held.add(held);
    const { id, data, retryCount: tries } = held.job;
    const job: Job = { id, payload: data?.payload, tries, signal: held.signal };
    let ending = held.ending('completed');
    try {
      ending.result = await this.queue.handle!(job);
      this.circuit.succeeded();
    } catch (error) {
      ending = this.failure(held, error instanceof Error ? error : new Error(String(error)));
    }
    await this.end(held, ending);
  }

  private giveUp(held: HeldJob): Promise<void> {
    const error = new Error(`No end within ${TRY_SECONDS} s`);
    held.abort(error.message);
    return this.end(held, this.failure(held, error));
  }

  private failure(held: HeldJob, error: Error): Ending {
    // Who refuses a job for good is there.
    if (error instanceof JobError && error.isFinal) this.circuit.succeeded();
    else this.circuit.failed();
    return endingOf(held, error, this.queue.longestPauseSeconds);
  }

  private async end(held: HeldJob, ending: Ending): Promise<void> {
    if (!this.held.has(held)) return;
    if (await this.around.endings.record(ending, () => this.held.has(held), this.around.failed)) {
      this.around.counts.count(ending);
      const { state, id, reason } = ending;
      if (state === 'failed') this.logger.warn(`Job ${id} has failed: ${reason}`);
      if (state === 'retry') this.troubles.add(reason!);
    }
    this.held.remove(held);
    this.changed.call();
  }

  private tell(isPaused: boolean): void {
    this.around.counts.pause(this.queue.name, isPaused);
    if (isPaused) this.logger.warn('Paused, as all tries have failed for a while');
    else this.logger.warn('Goes on, as a try has succeeded');
  }
}
