import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg';
import { currentWork } from '../process/index.js';
import { prepareSession, TIMEOUTS } from './session-settings.js';
import { SharedRead } from './shared-reads.js';
import { codeOf } from './unavailable.js';

/** A position in the write-ahead log (WAL): the timeline, and the bytes since the log's beginning. */
type WalPosition = readonly [timeline: number, bytes: bigint];

/** The end of the acknowledged log: as flushed, or if commits do not wait for the disk, as inserted. */
const PRIMARY = `SELECT pg_walfile_name(lsn), lsn - '0/0' FROM (SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END) AS now(lsn)`;

const REPLICA = "SELECT pg_last_wal_replay_lsn() - '0/0'";

/** An identity that only a primary and its replicas share, and for a replica, the timeline from its control file. */
const IDENTITY = `SELECT system_identifier || ' ' || current_database(),
  (SELECT min_recovery_end_timeline FROM pg_control_recovery() WHERE pg_is_in_recovery()) FROM pg_control_system()`;

/**
 * Reads from replicas what the primary would answer. Every read first asks the primary for the end of its
 * log, by one statement for all simultaneous reads, and uses only a replica that has replayed the log that
 * far. So no read is ever stale, whichever instance a write went through. The cost: one more round trip per
 * read, and on the primary a statement that touches no table.
 */
export class Replicas {
  private readonly replicas: Replica[];
  private turn = 0;

  /** @param preparesStatements whether connections keep their prepared statements */
  constructor(
    private readonly primary: Pool,
    pools: readonly PoolConfig[],
    preparesStatements: boolean,
  ) {
    const position = new SharedRead(async (): Promise<WalPosition> => {
      const name = preparesStatements ? 'wal_position' : undefined;
      const found = await currentWork.run(undefined, () => firstRow(primary, PRIMARY, name));
      const [file, bytes] = found as [string, string];
      return [parseInt(file.slice(0, 8), 16), BigInt(bytes)];
    });
    this.replicas = pools.map((options) => new Replica(options, primary, position, preparesStatements));
  }

  /** Reads from the usable replicas in turn; from the primary if none is usable or the replica fails. */
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

/** Milliseconds between two checks of a replica that is catching up. */
const CHECK_MS = 1;
/** Milliseconds from the first failed probe to the next, doubled after each failure; and the maximum. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/** SQLSTATEs that are no fault of the replica: wrong SQL (not a lost prepared statement), or a time-out. */
const REFUSED = /^(?:22|42(?!P05)|57014)/;

/** The primary has not answered, which says nothing about the replica. */
class PrimaryAway extends Error {
  static readonly throw = (cause: Error): never => {
    throw new PrimaryAway(cause.message, { cause });
  };
}

/** A replica of the primary. After a failure or a lag, it is not used until it passes a probe. */
class Replica {
  isUsable = false;
  private readonly logger = new Logger('Replica');
  private readonly pool: Pool;
  /** The timeline that the replica follows, as of its latest connection; 0 for a server that is no replica. */
  private timeline = 0;
  private readonly host: string;
  private isClosed = false;

  constructor(
    options: PoolConfig,
    private readonly primary: Pool,
    private readonly position: SharedRead<WalPosition>,
    private readonly preparesStatements: boolean,
  ) {
    this.host = new URL(options.connectionString!).host;
    const onConnect = async (client: ClientBase) => {
      // An error of a lent connection reaches its statement anyway; without a listener, the process would end.
      client.on('error', this.suspend);
      await prepareSession(client);
      await this.identify(client);
    };
    this.pool = new Pool({ ...options, onConnect });
    this.pool.on('error', this.suspend);
    void this.probe();
  }

  /** Runs `work` once the replica has caught up. @throws if it fails or lags, within TIMEOUTS.replica */
  async read<T>(work: (connection: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    let isCurrent = false;
    const { pool } = this;
    // All connections count as taken if the reads that already wait will get the idle ones.
    const isBusy = pool.totalCount === pool.options.max && pool.idleCount <= pool.waitingCount;
    try {
      client = await pool.connect();
      await this.catchUp(client);
      isCurrent = true;
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      // The replica is fine if the primary was away, if the replica refused or cancelled a statement, or if
      // other reads hold all connections.
      const isRefused = isCurrent && REFUSED.test(codeOf(error) ?? '');
      const isSound = error instanceof PrimaryAway || (client ? isRefused : isBusy);
      client?.release(isSound ? undefined : (error as Error));
      if (!isSound) this.suspend();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.pool.end();
  }

  /** Waits until the replica has replayed the primary's current log, at most for `TIMEOUTS.replay`. */
  private async catchUp(client: PoolClient): Promise<void> {
    const [[timeline, target], replayed] = await Promise.all([
      this.position.ask().catch(PrimaryAway.throw),
      this.replayedBy(client),
    ]);
    // After a failover, a position says nothing about a replica of the old primary.
    if (this.timeline !== timeline) throw new Error('it follows another primary');
    const deadline = performance.now() + TIMEOUTS.replay;
    for (let reached = replayed; reached < target; reached = await this.replayedBy(client)) {
      if (performance.now() > deadline) throw new Error('it lags');
      await sleep(CHECK_MS);
    }
  }

  private async replayedBy(client: PoolClient): Promise<bigint> {
    const [bytes] = await firstRow(client, REPLICA, this.preparesStatements ? 'wal_replayed' : undefined);
    return BigInt((bytes as string | null) ?? -1);
  }

  /** Checks that a new connection leads to a replica of the primary, and notes its timeline. */
  private async identify(client: ClientBase): Promise<void> {
    const [[identity, timeline], [primary]] = await Promise.all([
      firstRow(client, IDENTITY),
      firstRow(this.primary, IDENTITY).catch(PrimaryAway.throw),
    ]);
    if (identity !== primary) throw new Error('it holds another database');
    this.timeline = Number(timeline ?? 0);
  }

  private readonly suspend = (): void => {
    if (!this.isUsable) return;
    this.isUsable = false;
    void this.probe();
  };

  /** Repeats an empty read, with growing pauses, until one succeeds. */
  private async probe(pauseMs = FIRST_PAUSE_MS, isLogged = false): Promise<void> {
    try {
      await this.read(async () => {});
      this.isUsable = true;
      if (isLogged) this.logger.warn(`${this.host} is used again`);
    } catch (error) {
      if (this.isClosed) return;
      const isLong = pauseMs >= MAX_PAUSE_MS;
      if (isLong && !isLogged)
        this.logger.warn(`${this.host} is not used for now: ${(error as Error).message}`);
      const next = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      setTimeout(() => void this.probe(next, isLong), pauseMs).unref();
    }
  }
}

/** @param name of the prepared statement; without one, the statement is not prepared */
async function firstRow(connection: Pool | ClientBase, text: string, name?: string): Promise<unknown[]> {
  const { rows } = await connection.query<unknown[]>({ name, text, rowMode: 'array' });
  return rows[0] ?? [];
}
