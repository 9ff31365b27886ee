import type { ClientBase } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';

/** Name of the queue. A job has the id of its message, and no content of its own. */
export const QUEUE = 'messages';

const NEVER = 2 ** 31 - 1;

/** The queue never gives up a message by itself: only `schedule.ts` does, and then its sender sees it. */
const OPTIONS: QueueOptions = {
  retryLimit: NEVER,
  retentionSeconds: NEVER,
  // After a crash; a failed delivery sets the time of its next try itself.
  retryDelay: 1,
  // A worker silent for this long is considered dead, and others take its messages.
  heartbeatSeconds: 20,
  // Limit for a whole batch, bookkeeping included, for transports without a time-out of their own.
  expireInSeconds: 120,
  // The message itself is the record.
  deleteAfterSeconds: 600,
};

/** How often, in seconds, one of the instances looks for dead workers, and for jobs to be deleted. */
const INTERVALS = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  maintenanceIntervalSeconds: 120,
};
/** The parts of pg-boss that are not used here run as seldom as it allows. */
const UNUSED = { schedule: false, flowIntervalSeconds: 3_600 };

/** A pg-boss that maintains its queues once it is started. */
export function createBoss(db: Db): PgBoss {
  return new PgBoss({ db, ...INTERVALS, ...UNUSED });
}

/** Brings the tables of pg-boss and the queue up to date. Only one instance may do so at a time. */
export async function installQueue(session: Pick<ClientBase, 'query'>): Promise<void> {
  const db = { executeSql: (text: string, values?: unknown[]) => session.query(text, values) };
  const boss = new PgBoss({ db, supervise: false, ...UNUSED });
  let failure: unknown;
  boss.on('error', (error) => (failure = error));
  await boss.start();
  try {
    await boss.createQueue(QUEUE, OPTIONS);
    await boss.updateQueue(QUEUE, OPTIONS);
  } finally {
    await boss.stop({ graceful: false });
  }
  if (failure) throw failure;
}
