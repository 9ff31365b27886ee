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

/** A worker that has served for this many milliseconds has started well; what ends it later is another matter. */
const STEADY_MS = 5_000;
/** After this many early ends in a row, another worker would fail as well. */
const MAX_FAILURES = 5;
/** Milliseconds before a worker that ended early is replaced; doubled after each further one, up to the last value. */
const PAUSE_MS = { first: 100, last: 5_000 };

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
  /** Since when each has been serving, by `performance.now()`. */
  private readonly serving = new Map<Worker, number>();
  private port?: Promise<number>;
  private failures = 0;
  private isEnding = false;
  private begun!: (serving: Serving) => void;
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
    this.stopping.throwIfAborted();
    const begun = new Promise<Serving>((resolve) => (this.begun = resolve));
    this.stopping.addEventListener('abort', () => this.fail(new OperatorError('The service was stopped.')));
    // Matters only where sockets cannot share a port: a connection that the primary has handed to a dying worker would
    // stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    relayBroadcasts();
    answerWorkers({ port: () => this.claimPort(), metrics: collectMetrics() });
    for (let i = 0; i < this.config.WORKERS; i++) this.fork();
    const first = await Promise.race([begun, this.failure]);
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

  private fork(): void {
    if (this.isOver) return;
    const worker = cluster.fork(this.environment);
    this.ends.set(worker, once(worker, 'exit'));
    // A message to a worker that has just ended; `exit` is handled below.
    worker.on('error', () => {});
    worker.on('message', (message: Serving | { type?: undefined } | null) => {
      if (message?.type === 'serving') this.note(worker, message);
    });
    worker.once('exit', (code, signal) => void this.replace(worker, signal ?? `exit code ${code}`));
  }

  /** All listen on one port, which is claimed when the first worker asks for it. */
  private async claimPort(): Promise<number> {
    const { PORT, HOST } = this.config;
    try {
      return await (this.port ??= claimPort(PORT, HOST));
    } catch (error) {
      this.fail(cannotListen('PORT', PORT, error, HOST));
      // The workers are about to be stopped and need no answer.
      return new Promise(() => {});
    }
  }

  private note(worker: Worker, serving: Serving): void {
    this.serving.set(worker, performance.now());
    if (this.serving.size === this.config.WORKERS) this.begun(serving);
  }

  private async replace(worker: Worker, how: string): Promise<void> {
    this.ends.delete(worker);
    const wasSteady = this.isSteady(worker);
    this.serving.delete(worker);
    if (this.isOver) return;
    this.failures = wasSteady ? 0 : this.failures + 1;
    if (this.failures >= MAX_FAILURES && ![...this.ends.keys()].some((other) => this.isSteady(other))) {
      this.fail(
        new OperatorError(
          `The workers end as soon as they start: ${this.failures} in a row, the last with ${how}.`,
        ),
      );
      return;
    }
    this.logger.warn(`A worker has ended with ${how}; another takes its place`);
    if (!wasSteady) await sleep(Math.min(PAUSE_MS.first * 2 ** (this.failures - 1), PAUSE_MS.last));
    this.fork();
  }

  private get isOver(): boolean {
    return this.isEnding || this.stopping.aborted;
  }

  private isSteady(worker: Worker): boolean {
    const since = this.serving.get(worker);
    return since !== undefined && performance.now() - since >= STEADY_MS;
  }
}
