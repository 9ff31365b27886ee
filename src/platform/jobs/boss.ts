import type { ClientBase } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';

const NEVER = 2 ** 31 - 1;
/** Seconds for which a job that has failed for good is kept, for the operator. */
export const FAILED_FOR_SECONDS = 30 * 24 * 60 * 60;
/** Seconds after which a try counts as failed, even if it goes on. */
export const TRY_SECONDS = 120;

/** A queue never gives up a job by itself: only `back-off.ts` does. */
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
