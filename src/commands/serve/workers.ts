import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Config } from '../../config.js';
import {
  answerWorkers,
  cannotListen,
  claimPort,
  OperatorError,
  relayBroadcasts,
} from '../../platform/process/index.js';
import { collectMetrics } from '../../platform/telemetry/index.js';
import type { Serving } from './worker.js';

/** After so many in a row that have ended before they served, another worker would fail as well. */
const MAX_FAILURES = 5;
/** Milliseconds before a worker that has not served is replaced. */
const PAUSE_MS = 200;
/** Milliseconds beyond the grace period after which a worker that does not end, such as one that is stopped, is killed. */
const END_MS = 5_000;

/** The processes that serve: as many as were asked for; one that ends is replaced. */
export class Workers {
  /** Resolves to the reason if they cannot go on. */
  readonly failure: Promise<Error>;
  /** Keeps the workers' limit counts; it only has to exist. */
  protected readonly limits = new RateLimiterClusterMaster();
  private readonly logger = new Logger('Workers');
  /** Those that have not ended, each with a promise of its end. */
  private readonly ends = new Map<Worker, Promise<unknown>>();
  private readonly serving = new Set<Worker>();
  private readonly begun = Promise.withResolvers<Serving>();
  private failures = 0;
  private isEnding = false;
  private fail!: (error: Error) => void;

  /** @param environment what the workers get in addition to the environment of this process */
  constructor(
    private readonly config: Config,
    private readonly environment: Record<string, string>,
    private readonly stopping: AbortSignal,
  ) {
    this.failure = new Promise((resolve) => (this.fail = resolve));
  }

  /**
   * Starts them all; resolves once they serve.
   * @throws OperatorError if they do not, or are stopped first
   */
  async start(): Promise<Serving> {
    const { PORT, HOST, WORKERS } = this.config;
    this.stopping.throwIfAborted();
    this.stopping.addEventListener('abort', () => this.fail(new OperatorError('The service was stopped.')));
    // Where sockets cannot share a port: the primary would hand connections to a worker that is dying.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    relayBroadcasts();
    answerWorkers({ metrics: collectMetrics() });
    const port = await claimPort(PORT, HOST).catch((error) => {
      throw cannotListen('PORT', PORT, error, HOST);
    });
    this.environment.PORT = String(port);
    for (let i = 0; i < WORKERS; i++) this.fork();
    const first = await Promise.race([this.begun.promise, this.failure]);
    if (first instanceof Error) throw first;
    return first;
  }

  /** Lets each finish what it has accepted; resolves when all have ended. */
  async stop(): Promise<void> {
    this.isEnding = true;
    await Promise.all([...this.ends].map(([worker, exit]) => this.end(worker, exit)));
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
    this.ends.set(worker, once(worker, 'exit'));
    // A message to a worker that has just ended; `exit` is handled below.
    worker.on('error', () => {});
    worker.on('message', (message: Serving | { type?: undefined } | null) => {
      if (message?.type !== 'serving') return;
      this.failures = 0;
      this.serving.add(worker);
      if (this.serving.size === this.config.WORKERS) this.begun.resolve(message);
    });
    worker.once('exit', (code, signal) => void this.replace(worker, signal ?? `exit code ${code}`));
  }

  private async replace(worker: Worker, how: string): Promise<void> {
    this.ends.delete(worker);
    const hasServed = this.serving.delete(worker);
    if (this.isOver) return;
    if (!hasServed && ++this.failures >= MAX_FAILURES && this.serving.size === 0) {
      const times = `${this.failures} in a row, the last with ${how}`;
      return this.fail(new OperatorError(`The workers end as soon as they start: ${times}.`));
    }
    this.logger.warn(`A worker has ended with ${how}; another takes its place`);
    if (!hasServed) await sleep(PAUSE_MS);
    this.fork();
  }
}
