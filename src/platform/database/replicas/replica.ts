import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { TIMEOUTS } from '../timeouts.js';
import { replayedBytes, replayedTimeline, systemOf, type WalPosition } from './position.js';

/** Milliseconds between two looks at a replica that is catching up. */
const LOOK_MS = 1;
/** Milliseconds from the first probe that fails to the next; doubled after each, up to the longest. */
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** What a replica is compared with. */
export interface Primary {
  /** Whether connections keep the statements that they have parsed. */
  prepares: boolean;
  position(): Promise<WalPosition>;
  system(): Promise<string>;
}

/** The replica is there, but not as far as it should be. */
class Behind extends Error {}

/** A replica of the primary. After a failure, or if it lags, it is not used until it passes a probe. */
export class Replica {
  /** Whether it is worth asking. */
  isUsable = false;
  private readonly logger = new Logger('Replica');
  private readonly pool: Pool;
  private readonly name: string;
  private readonly timelines = new WeakMap<PoolClient, number>();
  private readonly closing = new AbortController();

  constructor(
    options: PoolConfig,
    private readonly primary: Primary,
  ) {
    this.name = new URL(options.connectionString!).host;
    this.pool = new Pool(options);
    this.pool.on('error', this.suspend);
    // A connection that breaks while it is in use also fails the statement that uses it.
    this.pool.on('connect', (client) => client.on('error', this.suspend));
    void this.probe();
  }

  /**
   * Reads what the primary would have answered at this moment, or later.
   * @param work may still run when its result is no longer waited for
   * @throws within TIMEOUTS.replica where the replica is away or behind; else what `work` throws
   */
  async read<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await inTime(this.attempt(work));
    } catch (error) {
      this.suspend();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.pool.end();
  }

  private async attempt<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      const [wanted, replayed] = await Promise.all([
        this.primary.position(),
        replayedBytes(client, this.primary.prepares),
      ]);
      await this.catchUp(client, wanted, replayed);
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(error instanceof Behind ? undefined : (error as Error));
      throw error;
    }
  }

  /** Waits a few milliseconds at most. */
  private async catchUp(client: PoolClient, wanted: WalPosition, replayed: bigint): Promise<void> {
    // After a failover a position says nothing of a replica that went on with the old primary.
    if ((await this.timelineOf(client)) !== wanted.timeline) throw new Error('it follows another primary');
    const deadline = performance.now() + TIMEOUTS.replay;
    let reached = replayed;
    while (reached < wanted.bytes) {
      if (performance.now() > deadline) throw new Behind('it lags');
      await sleep(LOOK_MS);
      reached = await replayedBytes(client, this.primary.prepares);
    }
  }

  /** Looked up once for each connection, with whether it leads to a replica of this primary. */
  private async timelineOf(client: PoolClient): Promise<number> {
    const known = this.timelines.get(client);
    if (known !== undefined) return known;
    const [own, primary] = await Promise.all([systemOf(client), this.primary.system()]);
    if (own !== primary) throw new Error('it holds another database');
    const timeline = await replayedTimeline(client);
    this.timelines.set(client, timeline);
    return timeline;
  }

  private readonly suspend = (): void => {
    if (!this.isUsable) return;
    this.isUsable = false;
    void this.probe();
  };

  /** Makes empty reads, with growing pauses, until one works. */
  private async probe(): Promise<void> {
    const { signal } = this.closing;
    let pause = 0;
    let isMissed = false;
    while (!this.isUsable && !signal.aborted) {
      try {
        await sleep(pause, undefined, { signal, ref: false });
        await inTime(this.attempt(async () => {}));
        this.isUsable = true;
        if (isMissed) this.logger.warn(`${this.name} is used again`);
      } catch (error) {
        pause = Math.min(pause * 2 || PAUSE_MS, LONGEST_PAUSE_MS);
        if (isMissed || signal.aborted || pause < LONGEST_PAUSE_MS) continue;
        isMissed = true;
        this.logger.warn(`${this.name} is not used for now: ${(error as Error).message}`);
      }
    }
  }
}

/** Rejects after TIMEOUTS.replica; `DeadlineClient` closes a silent connection later. */
function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error('it does not answer')), TIMEOUTS.replica);
  void work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
