import { hash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { type ClientBase, Pool, type QueryResult } from 'pg';
import { type ConstructorOptions, type Db, PgBoss, type QueueOptions } from 'pg-boss';
import { Config } from '../../config.js';
import { JOB_CONNECTIONS, TIMEOUTS } from '../database/index.js';
import { RELEASE } from '../process/index.js';
import type { JobQueue } from './job.js';

/** pg-boss waits one to two times this number of seconds before the first retry, and doubles the pause each time. */
export const FIRST_PAUSE_SECONDS = 3;
const DAY_SECONDS = 24 * 60 * 60;
/** PostgreSQL's largest integer: practically endless, as seconds or retries. */
export const ENDLESS = 2 ** 31 - 1;

/**
 * The dead letter queue of all queues: pg-boss adds a job here for each job that has failed for good, however
 * its last try ended. The underscores keep releases before 3.0 from warning that the queue has no handler.
 */
export const FAILED_JOBS: JobQueue = { name: '__failed-jobs', concurrency: 25, longestPauseSeconds: 3_600 };

/** The options of a queue, which its jobs inherit. */
export function optionsOf({ longestPauseSeconds }: Pick<JobQueue, 'longestPauseSeconds'>): QueueOptions {
  return {
    retryLimit: retriesOfADay(longestPauseSeconds),
    retryDelay: FIRST_PAUSE_SECONDS,
    retryBackoff: true,
    retryDelayMax: longestPauseSeconds,
    retentionSeconds: ENDLESS,
    // Applies to failed jobs only: completed jobs are deleted at once.
    deleteAfterSeconds: 30 * DAY_SECONDS,
    // A worker without a heartbeat for this time counts as dead: others take over its jobs.
    heartbeatSeconds: 20,
    expireInSeconds: 120,
  };
}

/** The number of retries that take a day, pauses included. */
function retriesOfADay(longestPauseSeconds: number): number {
  let retries = 0;
  for (let seconds = 0; seconds < DAY_SECONDS; retries++)
    seconds += Math.min(longestPauseSeconds, FIRST_PAUSE_SECONDS * 1.5 * 2 ** retries);
  return retries;
}

/** The pg-boss of a process: runs workers, maintains the queues, and adds the jobs of schedules. */
export function createBoss(db: Db, options: ConstructorOptions = {}): PgBoss {
  return new PgBoss({
    db,
    // Seconds between searches, by one instance, for dead workers and for failed jobs to delete.
    superviseIntervalSeconds: 10,
    monitorIntervalSeconds: 10,
    maintenanceIntervalSeconds: 120,
    // Seconds between refreshes of the counts that `burstWhenReadyExceeds` uses.
    queueCacheIntervalSeconds: 10,
    // An unused part of pg-boss, run as seldom as pg-boss allows.
    flowIntervalSeconds: 3_600,
    ...options,
  });
}

/** Migrates the tables of pg-boss. Only one instance may do so at a time. */
export async function installJobs(session: Pick<ClientBase, 'query'>): Promise<void> {
  const db = { executeSql: (text: string, values?: unknown[]) => session.query(text, values) };
  // CREATE SCHEMA needs a right, which the role may lack, even if the schema exists.
  const { rows } = await session.query(`SELECT to_regnamespace('pgboss') IS NULL AS "isMissing"`);
  const createSchema = (rows as [{ isMissing: boolean }])[0].isMissing;
  const boss = createBoss(db, { supervise: false, schedule: false, createSchema });
  let failure: unknown;
  boss.on('error', (error) => (failure = error));
  await boss.start();
  await boss.stop({ graceful: false });
  if (failure) throw failure;
}

/** Milliseconds that a statement may take: few, to notice a frozen server that another server has replaced. */
const STATEMENT_MS = 5_000;
/** Milliseconds for transactions, and for maintenance, which sends whole blocks or rebuilds an index. */
const LONG = { query_timeout: 120_000 };
const MAINTENANCE = /^\s*(?:BEGIN|REINDEX)\b/;

/** The start of the connections' `application_name`; the release and a hash of the schedules follow. */
const CONNECTED_AS = 'petstore-jobs ';

const OTHERS = `SELECT DISTINCT split_part(code, ' ', 1) AS release FROM pg_stat_activity,
  substr(application_name, length($1) + 1) AS code
  WHERE datname = current_database() AND starts_with(application_name, $1) AND code <> $2`;

/**
 * Connections for jobs alone, past any pooler, so that jobs and requests do not wait for each other. pg-boss's own pool
 * would not do, as it has no time-out for an answer.
 */
@Injectable()
export class JobsDatabase implements Db {
  private readonly pool: Pool;
  private mark = '';

  constructor({ DATABASE_DIRECT_URL, DATABASE_URL }: Config) {
    this.pool = new Pool({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: CONNECTED_AS + RELEASE,
      connectionTimeoutMillis: TIMEOUTS.start,
      keepAlive: true,
      query_timeout: STATEMENT_MS,
      max: JOB_CONNECTIONS,
      // Commands end without closing the pool.
      allowExitOnIdle: true,
    });
    // The next statement replaces a broken idle connection. Without a listener, the error would end the process.
    this.pool.on('error', (error) => new Logger('Jobs').debug(error.message));
    // An error of a connection in a transaction fails its statement too.
    this.pool.on('connect', (client) => client.on('error', () => {}));
  }

  /** Adds a hash of the schedules to the names of new connections, for other processes to compare. */
  identify(schedules: string[]): void {
    // Sorted, as modules may come in any order.
    this.mark = hash('sha256', schedules.toSorted().join('\n')).slice(0, 8);
    this.pool.options.application_name = `${CONNECTED_AS}${RELEASE} ${this.mark}`;
  }

  /** The releases of running processes that have other schedules. */
  async others(): Promise<string[]> {
    const { rows } = await this.executeSql(OTHERS, [CONNECTED_AS, `${RELEASE} ${this.mark}`]);
    return (rows as { release: string }[]).map(({ release }) => release);
  }

  executeSql(text: string, values?: unknown[]): Promise<QueryResult> {
    return this.pool.query({ text, values, ...(MAINTENANCE.test(text) && LONG) });
  }

  /** Runs statements, and calls of pg-boss that get `db` as an option, in one transaction. */
  async transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work({
        executeSql: (text, values) => client.query({ text, values, ...LONG }),
      });
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // The transaction ends with its connection.
      client.release(error as Error);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
