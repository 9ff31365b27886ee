import { Logger } from '@nestjs/common';
import { type ClientBase, Pool, type QueryResult } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';
import type { Config } from '../../config.js';
import { JOB_CONNECTIONS, TIMEOUTS } from '../database/index.js';
import type { JobQueue } from './job.js';

/** pg-boss waits one to two times this number of seconds before the first retry, and doubles the pause each time. */
export const FIRST_PAUSE_SECONDS = 3;
const DAY_SECONDS = 24 * 60 * 60;
/** Seconds; practically for ever. */
const NEVER = 2 ** 31 - 1;

/** The options of a queue, which its jobs inherit. */
export function optionsOf({ longestPauseSeconds }: Pick<JobQueue, 'longestPauseSeconds'>): QueueOptions {
  return {
    retryLimit: retriesOfADay(longestPauseSeconds),
    retryDelay: FIRST_PAUSE_SECONDS,
    retryBackoff: true,
    retryDelayMax: longestPauseSeconds,
    retentionSeconds: NEVER,
    // Applies to failed jobs only: completed jobs are deleted at once.
    deleteAfterSeconds: 30 * DAY_SECONDS,
    // A worker without a heartbeat for this time is dead: others take over its jobs.
    heartbeatSeconds: 20,
    expireInSeconds: 120,
  };
}

/** The number of retries that last for a day with the pauses between them. */
function retriesOfADay(longestPauseSeconds: number): number {
  let retries = 0;
  for (let seconds = 0; seconds < DAY_SECONDS; retries++)
    seconds += Math.min(longestPauseSeconds, FIRST_PAUSE_SECONDS * 1.5 * 2 ** retries);
  return retries;
}

/** Seconds between two searches, by one instance, for dead workers and for failed jobs to delete. */
const INTERVALS = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  maintenanceIntervalSeconds: 120,
};
/** Unused parts of pg-boss run as seldom as it allows. */
const UNUSED = { flowIntervalSeconds: 3_600 };

/** A pg-boss for workers, without maintenance. */
export function createBoss(db: Db): PgBoss {
  return new PgBoss({ db, supervise: false, schedule: false, ...UNUSED });
}

/**
 * A pg-boss that maintains the queues.
 * @param schedule whether it also adds the jobs of schedules
 */
export function createMaintenance(db: Db, schedule: boolean): PgBoss {
  return new PgBoss({ db, schedule, ...INTERVALS, ...UNUSED });
}

/** Migrates the tables of pg-boss. Only one instance may do so at a time. */
export async function installJobs(session: Pick<ClientBase, 'query'>): Promise<void> {
  const boss = createBoss({ executeSql: (text, values) => session.query(text, values) });
  let failure: unknown;
  boss.on('error', (error) => (failure = error));
  await boss.start();
  await boss.stop({ graceful: false });
  if (failure) throw failure;
}

/** For each use: the number of connections, and the milliseconds that a statement may take. */
const USES = {
  /** Short, to notice a server that is frozen while its address already leads to another one. */
  worker: { max: 1, query_timeout: 5_000 },
  /** Long, as pg-boss sometimes rebuilds an index. */
  maintenance: { max: JOB_CONNECTIONS - 1, query_timeout: 120_000 },
};

/** Connections for jobs alone, past any pooler, so that jobs and requests do not wait for each other. */
export class JobsDatabase implements Db {
  private readonly pool: Pool;

  constructor({ DATABASE_DIRECT_URL, DATABASE_URL }: Config, use: keyof typeof USES = 'maintenance') {
    this.pool = new Pool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-jobs',
      connectionTimeoutMillis: TIMEOUTS.start,
      keepAlive: true,
      ...USES[use],
    });
    // The next statement replaces a broken idle connection. Without a listener, the error would end the process.
    this.pool.on('error', (error) => new Logger('Jobs').debug(error.message));
  }

  /** Runs a statement for pg-boss. */
  executeSql(text: string, values?: unknown[]): Promise<QueryResult> {
    return this.pool.query(text, values);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
