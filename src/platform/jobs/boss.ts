import { Logger } from '@nestjs/common';
import { type ClientBase, Pool, type QueryResult } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';
import type { Config } from '../../config.js';
import { JOB_CONNECTIONS, TIMEOUTS } from '../database/index.js';

/** More tries, or seconds, than there will ever be. */
const NEVER = 2 ** 31 - 1;
/** Seconds for which a job that has failed for good is kept, for the operator. */
export const FAILED_FOR_SECONDS = 30 * 24 * 60 * 60;
/** Seconds after which a try counts as failed, even if it goes on. */
export const TRY_SECONDS = 120;

/** A queue never gives up a job by itself: only `QueueWorker` does. */
export const QUEUE_OPTIONS: QueueOptions = {
  retryLimit: NEVER,
  retentionSeconds: NEVER,
  // After a crash; a failed try sets the time of the next one itself.
  retryDelay: 1,
  // A worker silent for this long is considered dead, and others take its jobs.
  heartbeatSeconds: 20,
  // A worker ends a try itself before this.
  expireInSeconds: TRY_SECONDS + 30,
  // Enough to see in the database what has just been done.
  deleteAfterSeconds: 600,
};

/** How often, in seconds, one of the instances looks for dead workers, and for jobs to be deleted. */
const INTERVALS = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  maintenanceIntervalSeconds: 120,
};
/** The parts of pg-boss that are not used here run as seldom as it allows. */
const UNUSED = { flowIntervalSeconds: 3_600 };

/** A pg-boss that gives and takes jobs once it is started, and maintains nothing. */
export function createBoss(db: Db): PgBoss {
  return new PgBoss({ db, supervise: false, schedule: false, ...UNUSED });
}

/**
 * A pg-boss that maintains the queues once it is started.
 * @param schedule whether it also makes the jobs of schedules
 */
export function createMaintenance(db: Db, schedule: boolean): PgBoss {
  return new PgBoss({ db, schedule, ...INTERVALS, ...UNUSED });
}

/** Brings the tables of pg-boss up to date. Only one instance may do so at a time. */
export async function installJobs(session: Pick<ClientBase, 'query'>): Promise<void> {
  const db = { executeSql: (text: string, values?: unknown[]) => session.query(text, values) };
  const boss = createBoss(db);
  let failure: unknown;
  boss.on('error', (error) => (failure = error));
  await boss.start();
  await boss.stop({ graceful: false });
  if (failure) throw failure;
}

/** Connections for each use, and for how many milliseconds their server may be silent while a statement runs. */
const USES = {
  /** It waits for nothing else: a server that is frozen behind an address that has moved must be noticed. */
  worker: { max: 1, query_timeout: 5_000 },
  /** pg-boss now and then rebuilds an index, which may send nothing for long. */
  maintenance: { max: JOB_CONNECTIONS - 1, query_timeout: 120_000 },
  /** pg-boss looks at its queues beside the transaction of a command. */
  command: { max: 2, query_timeout: 120_000 },
};

/** Connections of the jobs' own, past a pooler, so that they and requests do not wait for each other. */
export class JobsDatabase implements Db {
  private readonly pool: Pool;

  constructor({ DATABASE_DIRECT_URL, DATABASE_URL }: Config, use: keyof typeof USES = 'command') {
    const options = {
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-jobs',
      connectionTimeoutMillis: TIMEOUTS.start,
      keepAlive: true,
      ...USES[use],
    };
    this.pool = new Pool(options);
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
