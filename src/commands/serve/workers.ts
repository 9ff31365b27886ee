import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import { Config } from '../../config.js';
import { type OpenDatabase, startOnDatabase } from '../../platform/database/index.js';
import type { Features } from '../../platform/features/index.js';
import { ErrorFilter, HttpAdapter, MetricsController, ROUTING } from '../../platform/http/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import { claimPort, OperatorError } from '../../platform/process/index.js';
import { type Log, Metrics, NestLogger, WorkerMetrics } from '../../platform/telemetry/index.js';
import type { Alive, RunningService, Serving } from './serve.js';

/** The primary gives up after this many workers in a row have ended before serving. */
const MAX_FAILURES = 5;
/** Milliseconds before a worker that has not served is replaced. */
const PAUSE_MS = 200;
/** Milliseconds between checks for silent workers; workers send a message as often. */
const LOOK_MS = 1_000;
/** Messages in a row that a worker may miss before it is replaced, as suspended or in an endless loop. */
const MAX_SILENCE = 5;
/** Milliseconds after the grace period before a worker that does not end, e.g. a suspended one, is killed. */
const END_MS = 5_000;

/** The port of the workers' metrics unless `METRICS_PORT` is set. */
const DEFAULT_METRICS_PORT = 9464;

/**
 * Prepares the database and runs workers on it. The primary itself serves only the metrics of all workers, so
 * that a scrape never waits for a suspended worker.
 * @param stopping aborts the start, and ends the replacement of workers
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function bootPrimary(
  config: Config,
  log: Log,
  { migrations }: Features,
  stopping: AbortSignal,
): Promise<RunningService> {
  const start = async (database: OpenDatabase) => {
    const demoKey = await openDemoKey(database, new NestLogger(log));
    const workers = new Workers(config, { DATABASE_URL: database.config.DATABASE_URL! }, stopping);
    try {
      const serving = await workers.start();
      const metrics = await serveMetrics(config, log);
      const metricsUrl = Object.assign(new URL('/metrics', serving.url), { port: metrics.port }).href;
      const stop = async () => {
        await Promise.all([workers.stop(), metrics.app.close()]);
      };
      return { ...serving, metricsUrl, dataPath: database.path, demoKey, failure: workers.failure, stop };
    } catch (error) {
      await workers.stop();
      throw error;
    }
  };
  return startOnDatabase(config, { migrations, install: installJobs }, start, stopping);
}

/** Opens the demo key if there is a data folder; only then loads the modules that the key needs. */
async function openDemoKey({ config, path }: OpenDatabase, logger: NestLogger): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { withContext } = await import('../admin/context.js');
  const { DemoKey } = await import('../../auth/demo-key.js');
  return withContext(config, (app) => app.get(DemoKey).open(path), logger);
}

@Module({
  controllers: [MetricsController],
  providers: [
    { provide: Metrics, useClass: WorkerMetrics },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
class WorkerMetricsModule {}

/** Serves the metrics of all workers: on any free port if another service has the default port. */
async function serveMetrics(config: Config, log: Log) {
  const { HOST, METRICS_PORT = await claimPort(DEFAULT_METRICS_PORT, HOST).catch(() => 0) } = config;
  const adapter = new HttpAdapter(config);
  const module = { module: WorkerMetricsModule, providers: [{ provide: Config, useValue: config }] };
  const options = { abortOnError: false, bodyParser: false, logger: new NestLogger(log), ...ROUTING };
  const app = await (await NestFactory.create(module, adapter, options)).init();
  await adapter.open(METRICS_PORT, HOST);
  const { port } = app.getHttpServer().address() as AddressInfo;
  adapter.connections.metricsPort = port;
  return { app, port };
}

/** The worker processes; a worker that ends is replaced. */
export class Workers {
  /** Holds the workers' rate-limit counts; nothing calls it. */
  protected readonly limits = new RateLimiterClusterMaster();
  private readonly logger = new Logger('Workers');
  /** The workers that have not ended, each with a promise of its end. */
  private readonly exits = new Map<Worker, Promise<unknown>>();
  /** The workers that serve, each with the number of checks since its last message. */
  private readonly serving = new Map<Worker, number>();
  private readonly started = Promise.withResolvers<Serving>();
  private readonly failed = Promise.withResolvers<Error>();
  /** Resolves to the reason if the workers cannot start. */
  readonly failure = this.failed.promise;
  private failures = 0;
  private isEnding = false;

  /** @param environment variables of the workers in addition to those of this process */
  constructor(
    private readonly config: Config,
    private readonly environment: Record<string, string>,
    private readonly stopping: AbortSignal,
  ) {}

  /** Starts all workers; resolves once they serve. @throws OperatorError if they fail, or are stopped first */
  async start(): Promise<Serving> {
    const { PORT, HOST, WORKERS } = this.config;
    this.stopping.throwIfAborted();
    const stopped = new OperatorError('The service was stopped.');
    this.stopping.addEventListener('abort', () => this.failed.resolve(stopped));
    // For systems without port sharing: a round-robin primary would pass connections to a dying worker.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    this.environment.PORT = String(await claimPort(PORT, HOST));
    for (let i = 0; i < WORKERS; i++) this.fork();
    setInterval(() => this.killSilent(), LOOK_MS).unref();
    const outcome = await Promise.race([this.started.promise, this.failure]);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  /** Stops the workers, which finish accepted requests; resolves when all have ended. */
  async stop(): Promise<void> {
    this.isEnding = true;
    await Promise.all([...this.exits].map(([worker, exit]) => this.end(worker, exit)));
  }

  private async end(worker: Worker, exit: Promise<unknown>): Promise<void> {
    worker.process.kill('SIGTERM');
    const cut = setTimeout(() => worker.process.kill('SIGKILL'), this.config.SHUTDOWN_GRACE_MS + END_MS);
    await exit;
    clearTimeout(cut);
  }

  private get isOver(): boolean {
    return this.isEnding || this.stopping.aborted;
  }

  private fork(): void {
    if (this.isOver) return;
    const worker = cluster.fork(this.environment);
    this.exits.set(worker, once(worker, 'exit'));
    // Node emits an error for a message to a worker that has just ended; `exit` is handled below.
    worker.on('error', () => {});
    worker.on('message', (message: Serving | Alive | { type?: undefined } | null) => {
      if (message?.type === 'alive' && this.serving.has(worker)) this.serving.set(worker, 0);
      if (message?.type !== 'serving') return;
      this.failures = 0;
      this.serving.set(worker, 0);
      if (this.serving.size === this.config.WORKERS) this.started.resolve(message);
    });
    worker.once('exit', (code, signal) => void this.replace(worker, signal ?? `exit code ${code}`));
  }

  /** Counts the primary's own checks, not time: if all processes were suspended together, no worker is killed. */
  private killSilent(): void {
    if (this.isOver) return;
    for (const [worker, silence] of this.serving) {
      this.serving.set(worker, silence + 1);
      if (silence !== MAX_SILENCE) continue;
      this.logger.warn(`A worker has not answered for ${MAX_SILENCE} seconds, and is killed`);
      worker.process.kill('SIGKILL');
    }
  }

  private async replace(worker: Worker, how: string): Promise<void> {
    this.exits.delete(worker);
    const hasServed = this.serving.delete(worker);
    if (this.isOver) return;
    if (!hasServed && ++this.failures >= MAX_FAILURES && this.serving.size === 0) {
      const times = `${this.failures} in a row, the last with ${how}`;
      return this.failed.resolve(new OperatorError(`The workers end as soon as they start: ${times}.`));
    }
    this.logger.warn(`A worker has ended with ${how}; starting another`);
    if (!hasServed) await sleep(PAUSE_MS);
    this.fork();
  }
}
