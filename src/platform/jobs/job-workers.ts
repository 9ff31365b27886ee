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
import type { JobResult, JobWithMetadata } from 'pg-boss';
import { Config } from '../../config.js';
import { currentWork, RELEASE, within, type Work } from '../process/index.js';
import { messageOf, ThrottledWarning } from '../telemetry/index.js';
import { ENDLESS, FAILED_JOBS, FIRST_PAUSE_SECONDS, JobsDatabase } from './boss.js';
import { JobError, type JobQueue, reasonIn } from './job.js';
import { Jobs } from './jobs.js';

/** Milliseconds before a refused statement is repeated. */
const RETRY_MS = 1_000;
/** Milliseconds between polls of a queue: the first try of a job is due within half a second. */
const LOOK_MS = 300;
/** Milliseconds between polls for jobs of schedules, due at whole minutes, and for other processes' failures. */
const LOOK_RARELY_MS = 5_000;
/** Seconds after which an idle worker polls without being woken. */
const UNWOKEN_SECONDS = 600;
/** Maximum jobs per fetch. A worker waits for the slowest of them. */
const LARGEST_BATCH = 25;
/** Milliseconds within which completed jobs share a statement. */
const GATHER_MS = 10;
/** Milliseconds that a stop waits for the database. */
const STOP_MS = 3_000;
/** Milliseconds between checks whether a newer release still runs. */
const NEWER_MS = 10_000;
/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;
/** Seconds until an unhandled job of a schedule expires, so that jobs of a removed schedule do not pile up. */
const SCHEDULED_SECONDS = 24 * 60 * 60;

/** All jobs are one payer: they wait for each other, and leave connections for requests and readiness. */
const JOBS: Work = {
  payers: ['jobs'],
  left: Infinity,
  patienceMs: 60_000,
  isOver: false,
  whenOver: () => {},
};
/** Gives jobs of releases before 3.0 a dead letter queue. pg-boss itself changes no active jobs. */
const ADOPT = `UPDATE pgboss.job SET dead_letter = $1
  WHERE name = ANY($2) AND dead_letter IS NULL AND state IN ('created', 'retry', 'active')`;
/** Makes the current try of a job its last. */
const GIVE_UP = `UPDATE pgboss.job SET retry_limit = retry_count
  WHERE name = $1 AND id = $2 AND retry_count = $3 AND state = 'active'`;

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
  private readonly stopping = new AbortController();
  /** The jobs under way, with their queues. */
  private readonly running = new Map<Fetched, string>();
  /** Makes a worker of FAILED_JOBS poll at once. */
  private wakeRecorder = (): void => {};
  private started?: Promise<void>;
  private stopped?: Promise<void>;

  constructor(
    private readonly config: Config,
    private readonly jobs: Jobs,
    private readonly database: JobsDatabase,
  ) {}

  /** Does not wait: requests need no workers. */
  onApplicationBootstrap(): void {
    this.started = this.start();
  }

  /** Fetches no more jobs; running jobs continue while the HTTP server finishes its requests. */
  onModuleDestroy(): void {
    this.stopping.abort();
    // If the start of the service was refused, no work has begun.
    this.stopped = this.started ? this.stop(this.started) : this.database.close();
  }

  /** Waits for running jobs before the modules that they use close their connections. */
  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private async start(): Promise<void> {
    const { boss } = this.jobs;
    boss.on('error', (error) => this.failures.add(messageOf(error)));
    boss.on('warning', ({ message }) => this.logger.warn(message));
    await this.repeat(RETRY_MS, async () => {
      await boss.start();
      await this.adopt();
      await this.warnOfUnhandled();
      return true;
    });
    const { ROLE } = this.config;
    const queues = this.jobs.all.filter((one) => one.handle && (one.runsInEveryRole || ROLE !== 'api'));
    if (this.stopping.signal.aborted) return;
    await Promise.all([FAILED_JOBS, ...queues].map((queue) => this.work(queue)));
    await this.repeat(NEWER_MS, () => this.updateSchedules());
  }

  /** Repeats work until it is done, or the service stops. */
  private async repeat(pauseMs: number, work: () => Promise<boolean>): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        if (await work()) return;
      } catch (error) {
        this.failures.add(messageOf(error as Error));
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  private async adopt(): Promise<void> {
    const names = this.jobs.all.map(({ name }) => name);
    await this.database.transaction((db) => db.executeSql(ADOPT, [FAILED_JOBS.name, names]));
  }

  /** Jobs without a handler wait for a release that handles them. */
  private async warnOfUnhandled(): Promise<void> {
    const names = (await this.jobs.boss.getQueues()).map(({ name }) => name);
    const unhandled = names.filter((name) => !this.jobs.find(name) && !name.startsWith('__'));
    if (unhandled.length > 0)
      this.logger.warn(`Nothing handles the jobs of ${unhandled.join(', ')}: they wait`);
  }

  /**
   * Sets this release's schedules, unless a newer release runs: then the newer release's apply. Removes other
   * schedules, unless other processes of this release have them, as in a rolling update of features alone. A
   * release counts as running while connected to the database, so after a rollback the older one takes over.
   * @returns whether all is done
   */
  private async updateSchedules(): Promise<boolean> {
    const others = await this.database.others();
    const newer = others.find((release) => isNewer(release, RELEASE));
    if (newer) {
      this.logger.log(`A newer release (${newer}) is running, so the schedules are left to it`);
      return false;
    }
    const { boss } = this.jobs;
    for (const { name, cron } of this.jobs.all)
      if (cron) await boss.schedule(name, cron, null, { tz: 'UTC', retentionSeconds: SCHEDULED_SECONDS });
    if (!others.every((release) => isNewer(RELEASE, release))) return false;
    for (const { name, key } of await boss.getSchedules())
      if (!this.jobs.find(name)?.cron) await boss.unschedule(name, key);
    return true;
  }

  /**
   * Starts the workers of a queue. Only one idle worker polls at a time, and a worker that gets a full batch
   * wakes the next one. With pg-boss's `localConcurrency`, each worker would poll twice a second.
   */
  private async work(queue: JobQueue): Promise<void> {
    const { boss } = this.jobs;
    const { concurrency } = queue;
    const size = Math.min(LARGEST_BATCH, Math.max(2, Math.ceil(concurrency / 4)));
    const idle = new Set<string>();
    const wake = () => {
      const [id] = idle;
      if (id === undefined) return;
      // The next call wakes another worker, as this one may be waiting for a database that hangs.
      idle.delete(id);
      idle.add(id);
      boss.notifyWorker(id);
    };
    const end = this.ender(queue);
    for (let left = concurrency; left > 0; left -= size) {
      const batchSize = Math.min(size, left);
      const options = {
        batchSize,
        includeMetadata: true,
        perJobResults: true,
        pollingIntervalSeconds: UNWOKEN_SECONDS,
        burstWhenBatchFull: true,
        // For batches of one job, for which pg-boss ignores `burstWhenBatchFull`.
        burstWhenReadyExceeds: 1,
      } as const;
      const id: string = await boss.work(queue.name, options, async (jobs: Fetched[]) => {
        idle.delete(id);
        // At the jobs' time limit, pg-boss fetches again, although handlers may still be running. The signal of a finished job is
        // aborted earlier.
        const release = () => jobs.every(({ signal }) => signal.aborted) && idle.add(id);
        for (const { signal } of jobs) signal.addEventListener('abort', release);
        if (jobs.length === batchSize) wake();
        const results = await currentWork.run(JOBS, () => this.handle(queue, jobs, end));
        idle.add(id);
        return results;
      });
      idle.add(id);
    }
    if (queue === FAILED_JOBS) this.wakeRecorder = wake;
    const isRare = queue.cron !== undefined || queue === FAILED_JOBS;
    const timer = setInterval(wake, isRare ? LOOK_RARELY_MS : LOOK_MS);
    this.stopping.signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Never rejects: pg-boss would fail all jobs of the batch at once, also jobs that are still running. */
  private async handle(
    queue: JobQueue,
    jobs: Fetched[],
    end: (job: Fetched) => Promise<void>,
  ): Promise<JobResult[]> {
    const isOld = queue !== FAILED_JOBS && jobs.some(({ deadLetter }) => !deadLetter);
    const handled = jobs.map(async (job): Promise<JobResult> => {
      this.running.set(job, queue.name);
      try {
        if (isOld) await this.adopt();
        const result = await this.tryOne(queue, job);
        if (result.status === 'completed') await end(job);
        return result;
      } catch (error) {
        const reason = reasonOf(error as Error);
        this.failures.add(reason);
        return { id: job.id, status: 'failed', output: { reason } };
      } finally {
        this.running.delete(job);
      }
    });
    return Promise.all(handled);
  }

  /**
   * Records and deletes completed jobs, those of one moment by one statement, so that no job waits for a slow
   * one. Repeats this while this worker has the job: a database fault must not make a job run twice.
   */
  private ender(queue: JobQueue): (job: Fetched) => Promise<void> {
    let done: Fetched[] = [];
    let ending: Promise<void> | undefined;
    const end = async () => {
      await sleep(GATHER_MS);
      const jobs = done;
      [done, ending] = [[], undefined];
      for (;;) {
        try {
          await queue.record?.(jobs.map(({ id }) => id));
          return void (await this.jobs.boss.deleteJob(queue.name, jobs));
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

  private async tryOne(queue: JobQueue, job: Fetched): Promise<JobResult> {
    const { id, data, retryCount: tries, retryLimit, signal } = job;
    try {
      if (queue === FAILED_JOBS) await this.recordFailure(job);
      else await queue.handle!({ id, payload: data?.payload, by: { job: queue.name }, tries, signal });
      this.jobs.count(queue.name, 'done');
      return { id, status: 'completed' };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : new JobError('');
      const output = { reason: reasonOf(error) };
      // Another worker has the job now, and decides about its next try.
      if (signal.aborted) return { id, status: 'failed', output };
      // Fails the job at once: pg-boss would record the result when the slowest job of the batch has ended.
      if (isFinal) await this.database.executeSql(GIVE_UP, [queue.name, id, tries]);
      await this.jobs.boss.fail(queue.name, job, output);
      if (isFinal || tries >= retryLimit) this.wakeRecorder();
      else {
        this.jobs.count(queue.name, 'postponed');
        this.troubles.add(`${queue.name}: ${output.reason}`);
        const { longestPauseSeconds: longest } = queue;
        const pause = Math.max(Math.min(retryAfterSeconds, longest), pauseAfter(tries, longest));
        if (retryAfterSeconds > 0)
          await this.jobs.boss.update(queue.name, undefined, { id, startAfter: Math.ceil(pause) });
      }
      return { id, status: 'failed', output };
    }
  }

  /** Records a job that has failed for good, from its copy in the dead letter queue. */
  private async recordFailure({ sourceName, sourceId, sourceOutput }: Fetched): Promise<void> {
    const [name, id] = [sourceName!, sourceId!];
    const queue = this.jobs.find(name);
    // Another release handles the queue. This job is retried until that release fetches it.
    if (!queue) throw new JobError(`Nothing handles the failed jobs of ${name}`);
    const [job] = await this.jobs.boss.findJobs(name, { id });
    // An operator has queued the job again.
    if (job && job.state !== 'failed') return;
    const reason = reasonIn(sourceOutput);
    await queue.recordFailure?.(id, reason);
    this.jobs.count(name, 'failed');
    this.logger.warn(`Job ${id} of ${name} has failed: ${reason}`);
  }

  private async stop(started: Promise<void>): Promise<void> {
    const { boss } = this.jobs;
    const names = [FAILED_JOBS, ...this.jobs.all].map(({ name }) => name);
    const bounded = (ms: number, work: Promise<unknown>) =>
      within(
        ms,
        work.catch(() => {}),
      );
    await bounded(STOP_MS, started);
    await bounded(this.config.SHUTDOWN_GRACE_MS, Promise.all(names.map((name) => boss.offWork(name))));
    await bounded(STOP_MS, this.putBack());
    await bounded(STOP_MS, boss.stop({ graceful: false }));
    await bounded(STOP_MS, this.database.close());
  }

  /**
   * Returns the running jobs to their queues: pg-boss would fail them, even in their last try. To restart a
   * job, pg-boss documents `cancel` and `resume`; one more try replaces the interrupted one.
   */
  private async putBack(): Promise<void> {
    const { boss } = this.jobs;
    for (const [name, entries] of Map.groupBy(this.running, ([, queue]) => queue)) {
      const jobs = entries.map(([job]) => job);
      const ids = jobs.map(({ id }) => id);
      await this.database.transaction(async (db) => {
        await boss.cancel(name, jobs, { db });
        await boss.resume(name, ids, { db });
        for (const { id, retryLimit } of jobs)
          await boss.update(name, undefined, { id, retryLimit: Math.min(retryLimit + 1, ENDLESS), db });
      });
    }
  }
}

/** Lets every module add jobs. */
@Global()
@Module({ providers: [Jobs, JobsDatabase], exports: [Jobs, JobsDatabase] })
export class JobsModule {}

/** Runs the handlers. Not global: global modules are closed first, but handlers need the connections to the end. */
@Module({ providers: [JobWorkers] })
export class JobWorkersModule {}

/** The reason of a failure, for the log and the job. PostgreSQL's JSON holds neither NUL nor lone surrogates. */
function reasonOf(error: Error): string {
  return messageOf(error).replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed();
}

/** Seconds that pg-boss pauses before the next try, by the number of earlier tries. */
function pauseAfter(earlier: number, longestSeconds: number): number {
  return Math.min(longestSeconds, FIRST_PAUSE_SECONDS * 2 ** Math.min(earlier, 30) * (1 + Math.random()));
}

/** Whether one release is newer than another; `3.0.0-dev` comes before `3.0.0`. */
function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((release) => release.split('-', 1)[0]!) as [string, string];
  const order = a.localeCompare(b, 'en', { numeric: true });
  return order > 0 || (order === 0 && other.includes('-') && !one.includes('-'));
}
