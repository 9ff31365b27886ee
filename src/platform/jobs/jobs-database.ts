import { Logger } from '@nestjs/common';
import { type ClientConfig, Pool, type QueryResult } from 'pg';
import type { Db } from 'pg-boss';
import type { Config } from '../../config.js';
import { JOB_CONNECTIONS } from '../database/connection-count.js';
import { DeadlineClient } from '../database/deadline-client.js';
import { TIMEOUTS } from '../database/timeouts.js';

/** Milliseconds: rebuilding an index, as pg-boss does now and then, may send nothing for long. */
const SILENCE_MS = 120_000;

class JobsClient extends DeadlineClient {
  constructor(config?: ClientConfig) {
    super(config, SILENCE_MS);
  }
}

/** The workers' own connections, past a pooler, so that they and requests do not wait for each other. */
export class JobsDatabase implements Db {
  private readonly pool: Pool;

  constructor({ DATABASE_DIRECT_URL, DATABASE_URL }: Config) {
    this.pool = new Pool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-jobs',
      max: JOB_CONNECTIONS,
      connectionTimeoutMillis: TIMEOUTS.start,
      keepAlive: true,
      Client: JobsClient,
    });
    // An idle connection that breaks is replaced by the next statement; without a listener it would end the process.
    this.pool.on('error', (error) => new Logger('Jobs').debug(error.message));
  }

  /** Runs one statement; the name is pg-boss's. */
  executeSql(text: string, values?: unknown[]): Promise<QueryResult> {
    return this.pool.query(text, values);
  }

  /** Runs `work` in a transaction; an error undoes all of it. */
  async transaction<T>(work: (transaction: Db) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await work({ executeSql: (text, values) => client.query(text, values) });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // After a failure the state of the connection is unknown: closing it undoes its transaction.
      client.release(failure);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
