import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg';
import { prepareSession, TIMEOUTS } from './session-settings.js';
import { SharedRead } from './shared-reads.js';

/** How far the write-ahead log (WAL) has come, in bytes since it began, and on which of its timelines. */
type WalPosition = readonly [timeline: number, bytes: bigint];

/**
 * The end of the log up to which commits may have been acknowledged: that of the flushed log, or of the inserted one if
 * commits do not wait for the disk.
 */
const PRIMARY = `SELECT pg_walfile_name(lsn), lsn - '0/0' FROM (SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END) AS now(lsn)`;

const REPLICA = "SELECT pg_last_wal_replay_lsn() - '0/0'";

/**
 * What is the same for a primary and its replicas, and no others, and the timeline that a replica follows. That is in the
 * server's control file: reading it costs as much as a page of rows.
 */
const IDENTITY = `SELECT system_identifier || ' ' || current_database(),
  (SELECT min_recovery_end_timeline FROM pg_control_recovery() WHERE pg_is_in_recovery()) FROM pg_control_system()`;

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
    const position = new SharedRead(async (): Promise<WalPosition> => {
      const name = prepares ? 'wal_position' : undefined;
      const [file, bytes] = (await first(primary, PRIMARY, name)) as [string, string];
      return [parseInt(file.slice(0, 8), 16), BigInt(bytes)];
    });
    this.replicas = pools.map((options) => new Replica(options, primary, position, prepares));
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
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** A replica of the primary. After a failure, or if it lags, it is not used until it passes a probe. */
class Replica {
  /** Whether it is worth asking. */
  isUsable = false;
  private readonly logger = new Logger('Replica');
  private readonly pool: Pool;
  /** The timeline that it follows, as its latest connection has found; 0 for a server that is no replica. */
  private timeline = 0;
  private readonly host: string;
  private isClosed = false;

  constructor(
    options: PoolConfig,
    private readonly primary: Pool,
    private readonly position: SharedRead<WalPosition>,
    private readonly prepares: boolean,
  ) {
    this.host = new URL(options.connectionString!).host;
    const onConnect = async (client: ClientBase) => {
      // What fails while a connection is lent fails the statement too; without a listener, it would end the process.
      client.on('error', this.suspend);
      await prepareSession(client);
      await this.identify(client);
    };
    this.pool = new Pool({ ...options, onConnect });
    this.pool.on('error', this.suspend);
    void this.probe();
  }

  /**
   * Reads what the primary would have answered at this moment, or later.
   * @throws if the replica is away or behind, within TIMEOUTS.replica for each statement; else what `work` throws
   */
  async read<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    try {
      client = await this.pool.connect();
      await this.catchUp(client);
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client?.release(error as Error);
      this.suspend();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.pool.end();
  }

  /** Waits a few milliseconds at most until the next statement of the connection sees all that the primary has now. */
  private async catchUp(client: PoolClient): Promise<void> {
    const [[timeline, wanted], replayed] = await Promise.all([this.position.ask(), this.replayedBy(client)]);
    // After a failover a position says nothing of a replica that went on with the old primary.
    if (this.timeline !== timeline) throw new Error('it follows another primary');
    const deadline = performance.now() + TIMEOUTS.replay;
    for (let reached = replayed; reached < wanted; reached = await this.replayedBy(client)) {
      if (performance.now() > deadline) throw new Error('it lags');
      await sleep(LOOK_MS);
    }
  }

  private async replayedBy(client: PoolClient): Promise<bigint> {
    const [bytes] = await first(client, REPLICA, this.prepares ? 'wal_replayed' : undefined);
    return BigInt((bytes as string | null) ?? -1);
  }

  /** Makes sure that a new connection leads to a replica of the primary, and keeps the timeline that this follows. */
  private async identify(client: ClientBase): Promise<void> {
    const [[own, timeline], [primary]] = await Promise.all([
      first(client, IDENTITY),
      first(this.primary, IDENTITY),
    ]);
    if (own !== primary) throw new Error('it holds another database');
    this.timeline = Number(timeline ?? 0);
  }

  private readonly suspend = (): void => {
    if (!this.isUsable) return;
    this.isUsable = false;
    void this.probe();
  };

  /** Makes empty reads, with growing pauses, until one works. */
  private async probe(pauseMs = FIRST_PAUSE_MS, isTold = false): Promise<void> {
    try {
      await this.read(async () => {});
      this.isUsable = true;
      if (isTold) this.logger.warn(`${this.host} is used again`);
    } catch (error) {
      if (this.isClosed) return;
      const isLong = pauseMs >= LONGEST_PAUSE_MS;
      if (isLong && !isTold)
        this.logger.warn(`${this.host} is not used for now: ${(error as Error).message}`);
      const next = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      setTimeout(() => void this.probe(next, isLong), pauseMs).unref();
    }
  }
}

/** @param name under which the connection is to keep the statement; it keeps none without */
async function first(connection: Pool | ClientBase, text: string, name?: string): Promise<unknown[]> {
  const { rows } = await connection.query<unknown[]>({ name, text, rowMode: 'array' });
  return rows[0] ?? [];
}
