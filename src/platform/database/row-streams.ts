import type { Readable } from 'node:stream';
import { callbackify } from 'node:util';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import QueryStream from 'pg-query-stream';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { Config } from '../../config.js';
import { turns } from '../process/index.js';
import { asker, asPartOf } from './asker.js';
import { EXACT } from './exact-values.js';
import { FairPool } from './fair-pool.js';
import { HostClient } from './host-client.js';
import { TIMEOUTS } from './session-settings.js';
import { isUnavailable } from './unavailable.js';

/** A query in SQL, with its parameters `$1` and so on. */
export interface Sql {
  readonly sql: string;
  readonly parameters?: readonly unknown[];
}

/** The rows of a query, one by one, each with its columns by name. */
export type Rows<Row> = Readable & AsyncIterable<Row>;

/** What is fetched at a time, in bytes as PostgreSQL sends them, as far as the rows before tell. */
const FETCHED_BYTES = 256 * 1_024;

/** Rows that are fetched first, and the most that are at a time. */
const ROWS = { first: 16, most: 1_024 };

/**
 * A transaction, which a pooler leaves on one connection. However long the reader takes, it ends with its connection, at which
 * the server looks every second while it works (not on Windows, where it cannot).
 */
const BEGIN = `START TRANSACTION; SET LOCAL statement_timeout = 0;
  SELECT set_config('client_connection_check_interval', '1000', true) FROM pg_settings
    WHERE name = 'dynamic_shared_memory_type' AND setting <> 'windows'`;

/** A query that is read by a cursor, as fast as its reader takes the rows. */
class RowStream extends QueryStream {
  private fetched = ROWS.first;
  private bytesBefore: number | undefined;
  private silence?: NodeJS.Timeout;
  /** For whom its rows are. */
  readonly client = asker.getStore()?.client ?? '';

  constructor(
    { sql, parameters = [] }: Sql,
    private readonly connection: PoolClient & HostClient,
  ) {
    super(sql, [...parameters], { types: EXACT, highWaterMark: 1 });
  }

  /** Fetches as many rows as are about `FETCHED_BYTES`: a thousand short ones, or a single large one. */
  override _read(): void {
    const { bytesRead } = this.connection.socket;
    if (this.bytesBefore !== undefined) {
      const bytes = (bytesRead - this.bytesBefore) / this.fetched;
      const fit = Math.floor(FETCHED_BYTES / Math.max(1, bytes));
      this.fetched = Math.max(1, Math.min(fit, this.fetched * 2, ROWS.most));
    }
    this.bytesBefore = bytesRead;
    turns.add(this);
  }

  /** A turn lasts until the rows have been taken. */
  goOn(): boolean {
    this.silence ??= setTimeout(() => this.destroy(new Error(SILENT)), TIMEOUTS.pausedReader);
    try {
      super._read(this.fetched);
    } catch (error) {
      this.destroy(error as Error);
    }
    return !this.destroyed;
  }

  override push(row: unknown): boolean {
    clearTimeout(this.silence);
    this.silence = undefined;
    return super.push(row);
  }

  /** Where the connection is gone, `pg` tells of what it could not write to it, without a code. */
  override destroy(error?: Error): this {
    if (!error || !this.connection.socket.destroyed || isUnavailable(error)) return super.destroy(error);
    return super.destroy(new Error(`Connection terminated: ${error.message}`, { cause: error }));
  }

  /** What has not come to its end leaves the server at work: its connection is closed. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    turns.delete(this);
    clearTimeout(this.silence);
    if (!this.readableEnded || error) {
      this.connection.terminate('nobody reads the rows any more');
      this.connection.release(true);
      return done(error);
    }
    callbackify(() => this.giveBack())(done);
  }

  private async giveBack(): Promise<void> {
    try {
      await this.connection.query('COMMIT');
      this.connection.release();
    } catch {
      this.connection.release(true);
    }
  }
}

const SILENT = 'Connection terminated: the database has sent no row for too long';

/**
 * Reads any number of rows with little memory, by a cursor on a connection which is that of no request: `DATABASE_STREAMS` of
 * them at a time in a process, of which one client never has all.
 */
@Injectable()
export class RowStreams implements OnApplicationShutdown {
  private readonly open = new Set<RowStream>();
  private pool?: Pool;

  constructor(private readonly config: Config) {}

  /**
   * Runs a query as TypeORM's `stream()` does: in one snapshot, and outside of a transaction that is open. It has begun when
   * the first rows are there, so that what fails before is answered as an Error. It ends, and gives its connection back, with
   * its last row, when the request ends that it is for, or when its reader destroys it (leaving a `for await` does). So it
   * does after 30 seconds in which the database has given nothing.
   * @throws Error where no connection is free or the database is away, answered 503; QueryFailedError of `pg` for a wrong query
   */
  async stream<Row extends object>(query: Sql | SelectQueryBuilder<ObjectLiteral>): Promise<Rows<Row>> {
    const sql = 'sql' in query ? query : sqlOf(query);
    const client = await this.connect();
    const rows = new RowStream(sql, client);
    this.open.add(rows);
    // A reader is told of an error too; one that has none yet is no reason to end the process.
    rows.on('error', () => {}).once('close', () => this.open.delete(rows));
    asker.getStore()?.whenOver(() => rows.destroy());
    client.query(rows);
    await begun(rows);
    return rows as Readable;
  }

  /** What is still read then is no answer any more. */
  async onApplicationShutdown(): Promise<void> {
    for (const rows of this.open) rows.destroy();
    await this.pool?.end();
  }

  private async connect(): Promise<PoolClient & HostClient> {
    this.pool ??= this.newPool();
    const client = (await asPartOf(undefined, () => this.pool!.connect())) as PoolClient & HostClient;
    try {
      await client.query(BEGIN);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  private newPool(): Pool {
    const { DATABASE_DIRECT_URL, DATABASE_URL, DATABASE_STREAMS } = this.config;
    const pool = new FairPool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-streams',
      // It keeps one for those who ask for no other before they give it back: here, nobody is such.
      max: DATABASE_STREAMS + 1,
      Client: HostClient,
      connectionTimeoutMillis: TIMEOUTS.connect,
      keepAlive: true,
    });
    pool.on('error', () => {});
    return pool;
  }
}

function sqlOf(query: SelectQueryBuilder<ObjectLiteral>): Sql {
  const [sql, parameters] = query.getQueryAndParameters();
  return { sql, parameters };
}

/** Resolves when the first rows are there, or there are none. @throws what the query has failed for */
async function begun(rows: QueryStream): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    rows.once('readable', resolve).once('error', reject).once('close', resolve);
    rows.read(0);
  });
}
