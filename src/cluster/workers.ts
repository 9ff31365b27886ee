import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import { claimPort } from '../common/doors.js';
import type { Tale } from '../common/siblings.js';
import { type Config, StartupError } from '../config.js';
import { cannotListen } from '../common/cannot-listen.js';
import type { ClaimedPort, FromWorker } from './worker.js';

type Message = FromWorker | Tale | null;
type Serving = Extract<FromWorker, object>['serves'];

/** A worker that has served for so many milliseconds started well, and what ends it later is another matter. */
const STEADY_MS = 5_000;
/** So many workers that end in a row before that are a fault that another one has too. */
const MAX_FAILURES = 5;
/** Milliseconds before a worker that ended early is replaced; twice as many after each further one, up to the last. */
const PAUSE_MS = { first: 100, last: 5_000 };

/** The processes that serve: as many as were asked for, one that ends is replaced. */
export class Workers {
  /** Resolves, where they cannot go on, to what is wrong. */
  readonly failure: Promise<Error>;
  /** The limits' counts, which the workers ask for. */
  readonly counts = new RateLimiterClusterMaster();
  private readonly logger = new Logger('Workers');
  /** Since when each serves, by `performance.now()`. */
  private readonly serving = new Map<Worker, number>();
  private port?: Promise<number>;
  private failures = 0;
  private isEnding = false;
  private begun!: (serving: Serving) => void;
  private fail!: (error: Error) => void;

  /** @param environment what the workers have beside the environment of this process */
  constructor(
    private readonly config: Config,
    private readonly environment: Record<string, string>,
    private readonly stopping: AbortSignal,
  ) {
    this.failure = new Promise((resolve) => (this.fail = resolve));
  }

  /**
   * Starts them all; resolves once they serve.
   * @throws StartupError where they do not, or are stopped before
   */
  async start(): Promise<Serving> {
    const begun = new Promise<Serving>((resolve) => (this.begun = resolve));
    this.stopping.addEventListener('abort', () => this.fail(new StartupError('The service was stopped.')));
    // Elsewhere than on Linux, where they need no primary to listen: a connection that the primary has handed to a worker
    // that dies before it takes it would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    for (let i = 0; i < this.config.WORKERS; i++) this.fork();
    const first = await Promise.race([begun, this.failure]);
    if (first instanceof Error) throw first;
    return first;
  }

  /** Lets each finish what it has accepted; resolves when all have ended. */
  async stop(): Promise<void> {
    this.isEnding = true;
    await Promise.all(all().map((worker) => this.end(worker)));
  }

  private async end(worker: Worker): Promise<void> {
    const exit = once(worker, 'exit');
    worker.process.kill('SIGTERM');
    await exit;
  }

  private fork(): void {
    if (this.isOver) return;
    const worker = cluster.fork(this.environment);
    // A message to a worker that has just ended; its end is heard of below.
    worker.on('error', () => {});
    worker.on('message', (message: Message) => void this.hear(worker, message));
    worker.once('exit', (code, signal) => void this.replace(worker, signal ?? `exit code ${code}`));
  }

  private async hear(worker: Worker, message: Message): Promise<void> {
    if (message === 'which port?') return this.tellPort(worker);
    if (!message || typeof message !== 'object') return;
    if ('serves' in message) this.note(worker, message.serves);
    if (!('tells' in message)) return;
    for (const other of all()) if (other !== worker && other.isConnected()) other.send(message);
  }

  /** All listen on one port, which is claimed when the first is ready to. */
  private async tellPort(worker: Worker): Promise<void> {
    const { PORT, HOST } = this.config;
    try {
      const port = await (this.port ??= claimPort(PORT, HOST));
      if (worker.isConnected()) worker.send({ port } satisfies ClaimedPort);
    } catch (error) {
      this.fail(cannotListen(PORT, error));
    }
  }

  private note(worker: Worker, serving: Serving): void {
    this.serving.set(worker, performance.now());
    if (this.serving.size === this.config.WORKERS) this.begun(serving);
  }

  private async replace(worker: Worker, how: string): Promise<void> {
    const wasSteady = this.isSteady(worker);
    this.serving.delete(worker);
    if (this.isOver) return;
    this.failures = wasSteady ? 0 : this.failures + 1;
    if (this.failures >= MAX_FAILURES && !all().some((other) => this.isSteady(other))) {
      this.fail(
        new StartupError(
          `The workers end as soon as they start: ${this.failures} in a row, the last with ${how}.`,
        ),
      );
      return;
    }
    this.logger.warn(`A worker has ended with ${how}; another takes its place.`);
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

function all(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}
