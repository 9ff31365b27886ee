import { setTimeout as sleep } from 'node:timers/promises';
import {
  Global,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss';
import { Config } from '../../config.js';
import { currentWork, type Work } from '../process/index.js';
import { messageOf, ThrottledWarning } from '../telemetry/index.js';
import { createBoss, createMaintenance, FIRST_PAUSE_SECONDS, JobsDatabase } from './boss.js';
import { JobError, type JobQueue } from './job.js';
import { Jobs } from './jobs.js';

/** Milliseconds before a refused statement is repeated. */
const RETRY_MS = 1_000;
/** Milliseconds between two fetches of a queue, by its workers in turn; the shortest interval of pg-boss is 500. */
const LOOK_MS = 200;
/** Seconds between two fetches of a worker that is not woken. */
const POLL_SECONDS = 10;
/** Jobs of one fetch. A worker waits for the slowest of them. */
const LARGEST_BATCH = 25;
/** Milliseconds within which completed jobs share a statement. */
const GATHER_MS = 10;
/** Milliseconds that a stop waits for the database. */
const STOP_MS = 3_000;
/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;
/** Seconds after which an unhandled job of a schedule expires: jobs of a removed schedule do not pile up. */
const SCHEDULED_SECONDS = 24 * 60 * 60;

/** All jobs are one payer, so that they leave requests and readiness their connections. */
const JOBS: Work = { payers: ['jobs'], left: Infinity, isOver: false, whenOver: () => {} };

type Fetched = JobWithMetadata<{ payload?: unknown } | null>;

/** Runs the handlers of the queues: of all queues, or with `ROLE=api` only of queues that run in every role. */
@Injectable()
export class JobWorkers implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(JobWorkers.name);
  private readonly failures = new ThrottledWarning(
    this.logger,
    'pg-boss has reported an error; the workers continue',
  );
  private readonly troubles = new ThrottledWarning(
    this.logger,
    'Tries of jobs have failed and will be repeated',
  );
  private readonly databases: JobsDatabase[] = [];
  private readonly bosses: PgBoss[] = [];
  private readonly wakers: NodeJS.Timeout[] = [];
  private readonly stopping = new AbortController();
  private queues: JobQueue[] = [];
  private started?: Promise<void>;
  private stopped?: Promise<void>;

  constructor(
    private readonly config: Config,
    private readonly jobs: Jobs,
  ) {}

  /** Does not wait: requests need no workers. */
  onApplicationBootstrap(): void {
    const { ROLE } = this.config;
    this.queues = this.jobs.all.filter((one) => one.handle && (one.runsInEveryRole || ROLE !== 'api'));
    if (this.queues.length > 0) this.started = this.start();
  }

  /** Fetches no more jobs; running jobs continue while the HTTP server finishes its requests. */
  onModuleDestroy(): void {
    this.stopping.abort();
    this.stopped = this.stop();
  }

  /** Waits for running jobs before the modules that they use close their connections. */
  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private async start(): Promise<void> {
    const { signal } = this.stopping;
    const [own, maintenance] = [
      new JobsDatabase(this.config, 'worker'),
      new JobsDatabase(this.config, 'maintenance'),
    ];
    this.databases.push(own, maintenance);
    const boss = createBoss(own);
    const hasSchedules = this.queues.some(({ cron }) => cron);
    this.bosses.push(boss, createMaintenance(maintenance, hasSchedules));
    for (const one of this.bosses) {
      one.on('error', (error) => this.failures.add(messageOf(error)));
      one.on('warning', ({ message }) => this.logger.warn(message));
    }
    while (!signal.aborted && !(await this.begin(boss)))
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    // A worker that starts now would never stop.
    if (!signal.aborted) for (const queue of this.queues) await this.work(boss, queue);
  }

  /** Starts both instances of pg-boss and the schedules; false after a failure. */
  private async begin(boss: PgBoss): Promise<boolean> {
    try {
      for (const one of this.bosses) await one.start();
      // Schedules of other releases stay: the release may be newer.
      for (const { name, cron } of this.queues)
        if (cron) await boss.schedule(name, cron, null, { tz: 'UTC', retentionSeconds: SCHEDULED_SECONDS });
      await this.warnOfUnhandled(boss);
      return true;
    } catch (error) {
      this.failures.add(messageOf(error as Error));
      return false;
    }
  }

  /** Jobs without a handler wait for a release that handles them. */
  private async warnOfUnhandled(boss: PgBoss): Promise<void> {
    const declared = new Set(this.jobs.all.map(({ name }) => name));
    const queues = await boss.getQueues();
    const names = queues
      .map(({ name }) => name)
      .filter((name) => !declared.has(name) && !name.startsWith('__'));
    if (names.length > 0) this.logger.warn(`Nothing handles the jobs of ${names.join(', ')}: they wait`);
  }

  /** Starts as many workers of pg-boss as the concurrency of the queue needs. A worker that finds jobs wakes another. */
  private async work(boss: PgBoss, queue: JobQueue): Promise<void> {
    const size = Math.max(1, Math.min(LARGEST_BATCH, Math.floor(queue.concurrency / 4)));
    const ids: string[] = [];
    const end = this.ender(boss, queue);
    let woken = 0;
    const wakeNext = () => boss.notifyWorker(ids[(woken = (woken + 1) % ids.length)]!);
    for (let left = queue.concurrency; left > 0; left -= size) {
      const nth = ids.length;
      const handle = (jobs: Fetched[]) => {
        // Fetch again as soon as these jobs are done.
        boss.notifyWorker(ids[nth]!);
        wakeNext();
        return currentWork.run(JOBS, () => this.handle(boss, queue, jobs, end));
      };
      const options = {
        batchSize: Math.min(size, left),
        includeMetadata: true,
        perJobResults: true,
        pollingIntervalSeconds: POLL_SECONDS,
      } as const;
      ids.push(await boss.work(queue.name, options, handle));
    }
    this.wakers.push(setInterval(wakeNext, LOOK_MS).unref());
  }

  /** Never rejects: pg-boss would fail all jobs of the batch at once, also jobs that are still running. */
  private handle(
    boss: PgBoss,
    queue: JobQueue,
    jobs: Fetched[],
    end: (job: Fetched) => Promise<void>,
  ): Promise<JobResult[]> {
    const handled = jobs.map(async (job): Promise<JobResult> => {
      try {
        const result = await this.tryOne(boss, queue, job);
        if (result.status === 'completed') await end(job);
        return result;
      } catch (error) {
        const reason = reasonOf(error as Error);
        this.failures.add(reason);
        return { id: job.id, status: 'failed', output: { reason } };
      }
    });
    return Promise.all(handled);
  }

  /**
   * Records that jobs are done and deletes them: jobs of the same moment by one statement, so that a slow job delays no other.
   * A fault of the database must not have a job done twice: both are repeated while the job is this worker's.
   */
  private ender(boss: PgBoss, queue: JobQueue): (job: Fetched) => Promise<void> {
    let done: Fetched[] = [];
    let ending: Promise<void> | undefined;
    const end = async () => {
      await sleep(GATHER_MS);
      const jobs = done;
      [done, ending] = [[], undefined];
      for (;;) {
        try {
          await queue.record?.(jobs.map(({ id }) => id));
          return void (await boss.deleteJob(queue.name, jobs));
        } catch (error) {
          if (jobs.every(({ signal }) => signal.aborted) || this.stopping.signal.aborted) throw error;
          this.failures.add(messageOf(error as Error));
          await sleep(RETRY_MS);
        }
      }
    };
    return (job) => {
      done.push(job);
      return (ending ??= end());
    };
  }

  private async tryOne(boss: PgBoss, queue: JobQueue, job: Fetched): Promise<JobResult> {
    const { id, data, retryCount: tries, signal } = job;
    const isLast = tries >= job.retryLimit;
    try {
      const by = { job: queue.name };
      await queue.handle!({ id, payload: data?.payload, by, tries, isLast, signal });
      this.jobs.count(queue.name, 'done');
      return { id, status: 'completed' };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const verdict = error instanceof JobError ? error : new JobError('');
      const reason = reasonOf(error);
      const output = { reason };
      // Another worker has the job now, and decides.
      if (signal.aborted) return { id, status: 'failed', output };
      const isOver = verdict.isFinal || isLast;
      this.jobs.count(queue.name, isOver ? 'failed' : 'postponed');
      if (isOver) this.logger.warn(`Job ${id} of ${queue.name} has failed: ${reason}`);
      else this.troubles.add(`${queue.name}: ${reason}`);
      if (!isOver && verdict.retryAfterSeconds > 0) {
        const { longestPauseSeconds: longest } = queue;
        const asked = Math.min(verdict.retryAfterSeconds, longest);
        await boss.fail(queue.name, job, output);
        await boss.update(queue.name, undefined, {
          id,
          startAfter: Math.ceil(Math.max(asked, pauseAfter(tries, longest))),
        });
      }
      // Without a dead letter queue, pg-boss keeps the job as failed.
      return { id, status: verdict.isFinal ? 'deadletter' : 'failed', output };
    }
  }

  private async stop(): Promise<void> {
    const { bosses, databases, queues, started, wakers } = this;
    if (!started) return;
    const within = (ms: number, work: Promise<unknown>) =>
      Promise.race([work.catch(() => {}), sleep(ms, undefined, { ref: false })]);
    await within(STOP_MS, started);
    for (const waker of wakers) clearInterval(waker);
    const [boss] = bosses;
    const { SHUTDOWN_GRACE_MS } = this.config;
    await within(SHUTDOWN_GRACE_MS, Promise.all(queues.map(({ name }) => boss!.offWork(name))));
    // Returns running jobs to the queue.
    await within(STOP_MS, Promise.all(bosses.map((one) => one.stop({ graceful: false }))));
    await within(STOP_MS, Promise.all(databases.map((database) => database.close())));
  }
}

/** Lets every module add jobs. */
@Global()
@Module({ providers: [Jobs], exports: [Jobs] })
export class JobsModule {}

/** Runs the handlers. Not global: global modules are closed first, and handlers need their connections to the end. */
@Module({ providers: [JobWorkers] })
export class JobWorkersModule {}

/** The reason of a failure, for the log and the job. PostgreSQL's JSON holds neither NUL nor lone surrogates. */
function reasonOf(error: Error): string {
  return messageOf(error).replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed();
}

/** Seconds of pg-boss's pause after a number of earlier tries. */
function pauseAfter(earlier: number, longestSeconds: number): number {
  return Math.min(longestSeconds, FIRST_PAUSE_SECONDS * 2 ** Math.min(earlier, 30) * (1 + Math.random()));
}
