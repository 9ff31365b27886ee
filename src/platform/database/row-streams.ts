import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { PoolClient } from 'pg';
import QueryStream from 'pg-query-stream';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { currentWork } from '../process/index.js';
import { Connections, EXACT } from './connections.js';
import { withoutDeadline } from './lent-pool.js';
import { TIMEOUTS } from './session-settings.js';
import { NoConnection } from './unavailable.js';

/** A query in SQL, with parameters `$1` and so on. */
export interface Sql {
  readonly sql: string;
  readonly parameters?: readonly unknown[];
}

/** The rows of a query, one by one, each with its columns by name. */
export type Rows<Row> = Readable & AsyncIterable<Row>;

/** Rows per fetch. */
const BATCH = 100;

/** Starts a transaction whose statements have no time limit; it ends when the client disconnects. */
const BEGIN = 'START TRANSACTION; SET LOCAL statement_timeout = 0';
/** The longest time-out of Node, in effect none: `RowStream.silence` watches over the stream instead. */
const NO_TIMEOUT = 2_147_483_647;

/** A stream that fails when its server has sent nothing for too long. */
class RowStream extends QueryStream {
  private silence?: NodeJS.Timeout;

  override _read(size: number): void {
    this.silence ??= setTimeout(
      () => this.destroy(new NoConnection('The database has sent no row for too long')),
      TIMEOUTS.silentStream,
    );
    super._read(size);
  }

  override push(row: unknown): boolean {
    clearTimeout(this.silence);
    this.silence = undefined;
    return super.push(row);
  }

  /** Does not wait for the server to close the cursor, which ends with the transaction or the connection. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.silence);
    done(error);
  }
}

/** Reads rows by cursors, with little memory: `DATABASE_STREAMS` streams per process, within clients' quotas. */
@Injectable()
export class RowStreams implements OnApplicationShutdown {
  private readonly open = new Set<Readable>();

  constructor(private readonly connections: Connections) {}

  /**
   * Runs a query as TypeORM's `stream()` does: in one snapshot, outside of any open transaction. Resolves
   * when the first rows have arrived, so that earlier failures get an error response. The stream ends, and
   * releases its connection, with the last row, when its request ends, when its reader destroys it (leaving a
   * `for await` does), or when the database sends nothing for 30 seconds.
   * @throws Error, answered 503, if no connection is free or the database is away; `pg`'s error for bad SQL
   */
  async stream<Row extends object>(query: Sql | SelectQueryBuilder<ObjectLiteral>): Promise<Rows<Row>> {
    const [sql, parameters = []] =
      'sql' in query ? [query.sql, query.parameters] : query.getQueryAndParameters();
    const client = await this.connect();
    const rows = new RowStream(sql, [...parameters], { types: EXACT, batchSize: BATCH });
    Object.assign(rows, { query_timeout: NO_TIMEOUT });
    this.open.add(rows);
    // The reader gets the error too; without a reader, the error must not end the process.
    rows
      .on('error', () => {})
      .once('close', () => {
        this.open.delete(rows);
        void release(client, rows.readableEnded);
      });
    currentWork.getStore()?.whenOver(() => rows.destroy());
    client.query(rows);
    await Promise.race([once(rows, 'readable'), once(rows, 'close')]);
    return rows as Readable;
  }

  /** Destroys open streams, whose responses can no longer be completed. */
  onApplicationShutdown(): void {
    for (const rows of this.open) rows.destroy();
  }

  private async connect(): Promise<PoolClient> {
    // The stream itself releases the connection at its end, and has no deadline.
    const client = await withoutDeadline(() => this.connections.primary.slow!.connect());
    try {
      await client.query(BEGIN);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}

/** Closes the connection of an unfinished stream, whose statement still runs. */
async function release(client: PoolClient, hasEnded: boolean): Promise<void> {
  try {
    if (hasEnded) await client.query('COMMIT');
    client.release(!hasEnded);
  } catch {
    client.release(true);
  }
}
