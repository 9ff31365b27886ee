import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { TIMEOUTS } from './session-settings.js';
import { SharedRead } from './shared-reads.js';

/** How far the write-ahead log (WAL) has come, in bytes since it began, and on which of its timelines. */
interface WalPosition {
  readonly timeline: number;
  readonly bytes: bigint;
}

/** What a replica is compared with. */
interface Primary {
  position(): Promise<WalPosition>;
  system(): Promise<string>;
}

/**
 * The end of the log up to which commits may have been acknowledged: that of the flushed log, or of the inserted one if
 * commits do not wait for the disk.
 */
const PRIMARY = `SELECT pg_walfile_name(lsn), lsn - '0/0' FROM (SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END) AS now(lsn)`;

const REPLICA = "SELECT pg_last_wal_replay_lsn() - '0/0'";

/** The timeline is in the server's control file: reading it costs as much as a page of rows. */
const TIMELINE = 'SELECT min_recovery_end_timeline FROM pg_control_recovery() WHERE pg_is_in_recovery()';

/** The same for a primary and its replicas, and no others. */
const SYSTEM = 'SELECT system_identifier, current_database() FROM pg_control_system()';

/**
 * Reads from replicas what the primary would answer. Every read first asks the primary how far its log has come, by one
 * statement for all that ask at that moment, and uses no replica that has not replayed it that far. So no read is ever
 * stale, whichever instance a write went through. It costs a round trip, and the primary a statement that touches no
 * table.
 */
export class Replicas {
  private readonly replicas: Replica[];
  private turn = 0;

  /** @param prepares whether connections keep the statements that they have parsed */
  constructor(
    private readonly primary: Pool,
    pools: readonly PoolConfig[],
    prepares: boolean,
  ) {
    const shared = new SharedRead(async (): Promise<WalPosition> => {
      const [file, bytes] = (await first(primary, PRIMARY, prepares && 'wal_position')) as [string, string];
      return { timeline: parseInt(file.slice(0, 8), 16), bytes: BigInt(bytes) };
    });
    const model: Primary = { position: () => shared.ask(), system: () => systemOf(primary) };
    this.replicas = pools.map((options) => new Replica(options, model, prepares));
  }

  /** Reads from one of the usable replicas, in turn; from the primary if none is usable or the replica fails. */
  async read<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    const usable = this.replicas.filter(({ isUsable }) => isUsable);
    const replica = usable[this.turn++ % usable.length];
    if (!replica) return work(this.primary);
    return replica.read(work).catch(() => work(this.primary));
  }

  async close(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.close()));
  }
}

/** Milliseconds between two looks at a replica that is catching up. */
const LOOK_MS = 1;
/** Milliseconds from the first probe that fails to the next; doubled after each, up to the longest. */
const PAUSE_MS = { first: 50, longest: 2_000 };

/** The replica is there, but not as far as it should be. */
class Behind extends Error {}

/** A replica of the primary. After a failure, or if it lags, it is not used until it passes a probe. */
class Replica {
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
    private readonly prepares: boolean,
  ) {
    this.name = new URL(options.connectionString!).host;
    this.pool = new Pool(options);
    this.pool.on('error', this.suspend);
    void this.probe();
  }

  /**
   * Reads what the primary would have answered at this moment, or later.
   * @param work may still run when its result is no longer waited for
   * @throws within TIMEOUTS.replica where the replica is away or behind; else what `work` throws
   */
  async read<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    const timer = new AbortController();
    try {
      const late = sleep(TIMEOUTS.replica, undefined, timer).then(() => {
        throw new Error('it does not answer');
      });
      late.catch(() => {});
      return await Promise.race([this.attempt(work), late]);
    } catch (error) {
      this.suspend();
      throw error;
    } finally {
      timer.abort();
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.pool.end();
  }

  private async attempt<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      const [wanted, replayed] = await Promise.all([this.primary.position(), this.replayedBy(client)]);
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
    for (let reached = replayed; reached < wanted.bytes; reached = await this.replayedBy(client)) {
      if (performance.now() > deadline) throw new Behind('it lags');
      await sleep(LOOK_MS);
    }
  }

  /** How far it has replayed: what the next statement on this connection sees at least. */
  private async replayedBy(client: PoolClient): Promise<bigint> {
    const [bytes] = await first(client, REPLICA, this.prepares && 'wal_replayed');
    return BigInt((bytes ?? -1) as string | number);
  }

  /** The timeline that it follows, 0 for a server that is no replica; looked up once for each connection. */
  private async timelineOf(client: PoolClient): Promise<number> {
    const known = this.timelines.get(client);
    if (known !== undefined) return known;
    const [own, primary] = await Promise.all([systemOf(client), this.primary.system()]);
    if (own !== primary) throw new Error('it holds another database');
    const [timeline] = await first(client, TIMELINE, false);
    this.timelines.set(client, Number(timeline ?? 0));
    return Number(timeline ?? 0);
  }

  private readonly suspend = (): void => {
    if (!this.isUsable) return;
    this.isUsable = false;
    void this.probe();
  };

  /** Makes empty reads, with growing pauses, until one works. */
  private async probe(): Promise<void> {
    const { signal } = this.closing;
    let isMissed = false;
    for (let pause = 0; !this.isUsable && !signal.aborted;) {
      try {
        await sleep(pause, undefined, { signal, ref: false });
        await this.read(async () => {});
        this.isUsable = true;
        if (isMissed) this.logger.warn(`${this.name} is used again`);
      } catch (error) {
        pause = Math.min(pause * 2 || PAUSE_MS.first, PAUSE_MS.longest);
        if (isMissed || signal.aborted || pause < PAUSE_MS.longest) continue;
        isMissed = true;
        this.logger.warn(`${this.name} is not used for now: ${(error as Error).message}`);
      }
    }
  }
}

async function systemOf(connection: Pool | PoolClient): Promise<string> {
  return (await first(connection, SYSTEM, false)).join(' ');
}

/** @param name under which the connection is to keep the statement; false if it keeps none */
async function first(connection: Pool | PoolClient, text: string, name: string | false): Promise<unknown[]> {
  const { rows } = await connection.query<unknown[]>({ name: name || undefined, text, rowMode: 'array' });
  return rows[0] ?? [];
}
