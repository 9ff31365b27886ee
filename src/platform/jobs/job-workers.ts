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
import type { PgBoss } from 'pg-boss';
import { Config } from '../../config.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { createBoss, createMaintenance, JobsDatabase } from './boss.js';
import type { JobQueue } from './job.js';
import { Jobs } from './jobs.js';
import { QueueWorker } from './queue-worker.js';

const START_RETRY_MS = 1_000;
/** Milliseconds allowed at a stop for handing unfinished jobs back. */
const HAND_BACK_MS = 2_000;

/** Works on the jobs of the queues while the service runs: on all if that is its role, else on those that are for all. */
@Injectable()
export class JobWorkers implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(JobWorkers.name);
  private readonly failures = new ThrottledWarning(this.logger, 'The jobs met an error and go on');
  private workers: QueueWorker[] = [];
  private bosses: PgBoss[] = [];
  private databases: JobsDatabase[] = [];
  private readonly stopping = new AbortController();
  private started?: Promise<void>;
  private stopped?: Promise<void>;

  constructor(
    private readonly config: Config,
    private readonly jobs: Jobs,
  ) {}

  /** Not awaited: requests need neither the workers nor a reachable queue. */
  onApplicationBootstrap(): void {
    const queues = this.jobs.all.filter(
      ({ handle, isForAll }) => handle && (isForAll || this.config.ROLE !== 'api'),
    );
    if (queues.length > 0) this.started = this.start(queues, this.stopping.signal);
  }

  /** Takes no more jobs; those under way continue while the HTTP server finishes its requests. */
  onModuleDestroy(): void {
    this.stopping.abort();
    this.stopped = this.stop();
  }

  /** Before the connections are closed, which the endings of jobs still need: those are of a module further in. */
  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private async start(queues: JobQueue[], stopping: AbortSignal): Promise<void> {
    const own = new JobsDatabase(this.config, 'worker');
    const maintenance = new JobsDatabase(this.config, 'maintenance');
    this.databases = [own, maintenance];
    const hasSchedules = queues.some(({ cron }) => cron);
    const boss = createBoss(own);
    this.bosses = [boss, createMaintenance(maintenance, hasSchedules)];
    for (const one of this.bosses) {
      one.on('error', (error) => this.failures.add(error.message));
      one.on('warning', ({ message }) => this.logger.warn(message));
    }
    while (!stopping.aborted && !(await this.begin()))
      await sleep(START_RETRY_MS, undefined, { signal: stopping }).catch(() => {});
    if (!stopping.aborted) await this.warnOfUnhandled(boss);
    // Each wait may have been the one in which the stop has come: a worker that begins now would never end.
    if (stopping.aborted) return;
    const warn = (error: Error) => this.failures.add(error.message);
    this.workers = queues.map((queue) => new QueueWorker(queue, this.jobs, boss, warn));
  }

  /** Starts both of pg-boss; false if one failed. */
  private async begin(): Promise<boolean> {
    try {
      for (const boss of this.bosses) await boss.start();
      if (this.config.ROLE !== 'api') await keepSchedules(this.bosses[0]!, this.jobs.all);
      return true;
    } catch (error) {
      this.failures.add((error as Error).message);
      return false;
    }
  }

  /** Their jobs wait, for a release that handles them. */
  private async warnOfUnhandled(boss: PgBoss): Promise<void> {
    const declared = new Set(this.jobs.all.map(({ name }) => name));
    const queues = await boss.getQueues().catch(() => []);
    const names = queues
      .map(({ name }) => name)
      .filter((name) => !declared.has(name) && !name.startsWith('__'));
    if (names.length > 0) this.logger.warn(`Nothing handles the jobs of ${names.join(', ')}: they wait`);
  }

  private async stop(): Promise<void> {
    const { bosses, databases, started } = this;
    if (!started) return;
    const within = (ms: number, work: Promise<unknown>) =>
      Promise.race([work.catch(() => {}), sleep(ms, undefined, { ref: false })]);
    await within(HAND_BACK_MS, started);
    const { workers } = this;
    await within(this.config.SHUTDOWN_GRACE_MS, Promise.all(workers.map((worker) => worker.drain())));
    await within(HAND_BACK_MS, Promise.all(workers.map((worker) => worker.handBack())));
    await within(
      HAND_BACK_MS,
      Promise.all(bosses.map((boss) => boss.stop({ graceful: false }))).then(() =>
        Promise.all(databases.map((database) => database.close())),
      ),
    );
  }
}

/** Gives every module durable work. */
@Global()
@Module({ providers: [Jobs], exports: [Jobs] })
export class JobsModule {}

/** Does the work. Not a global module, as those end with the connections that it needs to the last. */
@Module({ providers: [JobWorkers] })
export class JobWorkersModule {}

/** Gives the database the schedules of the queues, and takes out those that are no longer declared. */
async function keepSchedules(boss: PgBoss, queues: readonly JobQueue[]): Promise<void> {
  const scheduled = new Map(queues.flatMap(({ name, cron }) => (cron ? [[name, cron]] : [])));
  for (const { name } of await boss.getSchedules()) if (!scheduled.has(name)) await boss.unschedule(name);
  for (const [name, cron] of scheduled) await boss.schedule(name, cron, null, { tz: 'UTC' });
}
