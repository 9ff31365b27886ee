import { Logger } from '@nestjs/common';
import { type ClientBase, Pool, type QueryResult } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';
import type { Config } from '../../config.js';
import { JOB_CONNECTIONS, TIMEOUTS } from '../database/index.js';
import type { JobQueue } from './job.js';

/** pg-boss pauses for this many seconds to twice as many before the first retry, and doubles that each time. */
export const FIRST_PAUSE_SECONDS = 3;
const DAY_SECONDS = 24 * 60 * 60;
/** More seconds than there will ever be. */
const NEVER = 2 ** 31 - 1;

/** What pg-boss is told of a queue; its jobs have the same. */
export function optionsOf({ longestPauseSeconds }: Pick<JobQueue, 'longestPauseSeconds'>): QueueOptions {
  return {
    retryLimit: retriesOfADay(longestPauseSeconds),
    retryDelay: FIRST_PAUSE_SECONDS,
    retryBackoff: true,
    retryDelayMax: longestPauseSeconds,
    retentionSeconds: NEVER,
    // Only jobs that have failed are there for so long: those that are done are deleted at once.
    deleteAfterSeconds: 30 * DAY_SECONDS,
    // A worker that is silent for this long is dead, and others take its jobs.
    heartbeatSeconds: 20,
    expireInSeconds: 120,
  };
}

/** How many retries, with the pauses before them, take a day. */
function retriesOfADay(longestPauseSeconds: number): number {
  let retries = 0;
  for (let seconds = 0; seconds < DAY_SECONDS; retries++)
    seconds += Math.min(longestPauseSeconds, FIRST_PAUSE_SECONDS * 1.5 * 2 ** retries);
  return retries;
}

/** How often, in seconds, one of the instances looks for dead workers, and for failed jobs to be deleted. */
const INTERVALS = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  maintenanceIntervalSeconds: 120,
};
/** The parts of pg-boss that are not used here run as seldom as it allows. */
const UNUSED = { flowIntervalSeconds: 3_600 };

/** A pg-boss that works on jobs once it is started, and maintains nothing. */
export function createBoss(db: Db): PgBoss {
  return new PgBoss({ db, supervise: false, schedule: false, ...UNUSED });
}

/**
 * A pg-boss that maintains the queues once it is started.
 * @param schedule whether it also adds the jobs of schedules
 */
export function createMaintenance(db: Db, schedule: boolean): PgBoss {
  return new PgBoss({ db, schedule, ...INTERVALS, ...UNUSED });
}

/** Brings the tables of pg-boss up to date. Only one instance may do so at a time. */
export async function installJobs(session: Pick<ClientBase, 'query'>): Promise<void> {
  const boss = createBoss({ executeSql: (text, values) => session.query(text, values) });
  let failure: unknown;
  boss.on('error', (error) => (failure = error));
  await boss.start();
  await boss.stop({ graceful: false });
  if (failure) throw failure;
}

/** Connections for each use, and for how many milliseconds their server may be silent while a statement runs. */
const USES = {
  /** A server that is frozen behind an address that has moved must be noticed. */
  worker: { max: 1, query_timeout: 5_000 },
  /** pg-boss now and then rebuilds an index, which may send nothing for long. */
  maintenance: { max: JOB_CONNECTIONS - 1, query_timeout: 120_000 },
};

/** Connections of the jobs' own, past a pooler, so that they and requests do not wait for each other. */
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
    // An idle connection that breaks is replaced by the next statement; without a listener it would end the process.
    this.pool.on('error', (error) => new Logger('Jobs').debug(error.message));
  }

  /** Runs one statement; the name is pg-boss's. */
  executeSql(text: string, values?: unknown[]): Promise<QueryResult> {
    return this.pool.query(text, values);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
