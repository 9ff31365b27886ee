import type { Readable } from 'node:stream';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { PoolClient } from 'pg';
import QueryStream from 'pg-query-stream';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { Config } from '../../config.js';
import { asker } from './asker.js';
import { EXACT } from './exact-values.js';
import { LentPool } from './lent-pool.js';
import { prepareSession, TIMEOUTS } from './session-settings.js';
import { NoConnection } from './unavailable.js';

/** A query in SQL, with its parameters `$1` and so on. */
export interface Sql {
  readonly sql: string;
  readonly parameters?: readonly unknown[];
}

/** The rows of a query, one by one, each with its columns by name. */
export type Rows<Row> = Readable & AsyncIterable<Row>;

/** Rows that are fetched at a time. */
const BATCH = 100;

/**
 * A transaction, which a pooler leaves on one connection. However long the reader takes, it ends with its connection, at which
 * the server looks every second while it works (not on Windows, where it cannot).
 */
const BEGIN = `START TRANSACTION; SET LOCAL statement_timeout = 0;
  SELECT set_config('client_connection_check_interval', '1000', true) FROM pg_settings
    WHERE name = 'dynamic_shared_memory_type' AND setting <> 'windows'`;

/** A stream that ends where its server has sent nothing for too long. */
class RowStream extends QueryStream {
  private silence?: NodeJS.Timeout;

  override _read(size: number): void {
    this.silence ??= setTimeout(() => this.destroy(new NoConnection(SILENT)), TIMEOUTS.silentStream);
    super._read(size);
  }

  override push(row: unknown): boolean {
    clearTimeout(this.silence);
    this.silence = undefined;
    return super.push(row);
  }

  /** Its cursor is closed with the transaction, or the connection: to wait for the server would be to wait for ever if that is gone. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.silence);
    done(error);
  }
}

/**
 * Reads any number of rows with little memory, by a cursor on a connection which is that of no request: `DATABASE_STREAMS` of
 * them at a time in a process, of which one client has at most half.
 */
@Injectable()
export class RowStreams implements OnApplicationShutdown {
  private readonly open = new Set<Readable>();
  private pool?: LentPool;

  constructor(private readonly config: Config) {}

  /**
   * Runs a query as TypeORM's `stream()` does: in one snapshot, and outside of a transaction that is open. It has begun when
   * the first rows are there, so that what fails before is answered as an Error. It ends, and gives its connection back, with
   * its last row, when the request ends that it is for, or when its reader destroys it (leaving a `for await` does). So it
   * does after 30 seconds in which the database has sent nothing.
   * @throws Error where no connection is free or the database is away, answered 503; an error of `pg` for a wrong query
   */
  async stream<Row extends object>(query: Sql | SelectQueryBuilder<ObjectLiteral>): Promise<Rows<Row>> {
    const { sql, parameters = [] } = 'sql' in query ? query : sqlOf(query);
    const client = await this.connect();
    const rows = new RowStream(sql, [...parameters], { types: EXACT, batchSize: BATCH });
    this.open.add(rows);
    // A reader is told of an error too; one that has none yet is no reason to end the process.
    rows
      .on('error', () => {})
      .once('close', () => {
        this.open.delete(rows);
        void giveBack(client, rows.readableEnded);
      });
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

  private async connect(): Promise<PoolClient> {
    this.pool ??= this.newPool();
    // It is given back when it ends, and not when the request is answered.
    const { client: caller = '' } = asker.getStore() ?? {};
    const asked = { client: caller, left: Infinity, whenOver: () => {}, ranOut: () => {} };
    const client = await asker.run(asked, () => this.pool!.connect());
    try {
      await client.query(BEGIN);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  private newPool(): LentPool {
    const { DATABASE_DIRECT_URL, DATABASE_URL, DATABASE_STREAMS } = this.config;
    const pool = new LentPool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-streams',
      max: DATABASE_STREAMS,
      connectionTimeoutMillis: TIMEOUTS.connect,
      keepAlive: true,
      onConnect: prepareSession,
    });
    pool.on('error', () => {});
    return pool;
  }
}

const SILENT = 'The database has sent no row for too long';

function sqlOf(query: SelectQueryBuilder<ObjectLiteral>): Sql {
  const [sql, parameters] = query.getQueryAndParameters();
  return { sql, parameters };
}

/** Resolves when the first rows are there, or there are none. @throws what the query has failed for */
async function begun(rows: Readable): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    rows.once('readable', resolve).once('error', reject).once('close', resolve);
    rows.read(0);
  });
}

/** A stream that has not come to its end leaves the server at work: its connection is closed. */
async function giveBack(client: PoolClient, hasEnded: boolean): Promise<void> {
  try {
    if (hasEnded) await client.query('COMMIT');
    client.release(!hasEnded);
  } catch {
    client.release(true);
  }
}
