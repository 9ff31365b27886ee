import { Logger } from '@nestjs/common';
import { type ClientConfig, Pool, type QueryResult } from 'pg';
import type { Db } from 'pg-boss';
import type { Config } from '../../config.js';
import { DeadlineClient, JOB_CONNECTIONS, TIMEOUTS } from '../database/index.js';

/** Connections for each use, and for how many milliseconds their server may be silent while a statement runs. */
const USES = {
  /** It waits for nothing else: a server that is frozen behind an address that has moved must be noticed. */
  worker: { max: 1, silenceMs: 5_000 },
  /** pg-boss now and then rebuilds an index, which may send nothing for long. */
  maintenance: { max: JOB_CONNECTIONS - 1, silenceMs: 120_000 },
  /** pg-boss looks at its queues beside the transaction of a command. */
  command: { max: 2, silenceMs: 120_000 },
};

/** Connections of the jobs' own, past a pooler, so that they and requests do not wait for each other. */
export class JobsDatabase implements Db {
  private readonly pool: Pool;

  constructor({ DATABASE_DIRECT_URL, DATABASE_URL }: Config, use: keyof typeof USES = 'command') {
    const { max, silenceMs } = USES[use];
    class JobsClient extends DeadlineClient {
      constructor(config?: ClientConfig) {
        super(config, silenceMs);
      }
    }
    this.pool = new Pool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-jobs',
      max,
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
