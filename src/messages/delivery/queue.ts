import type { ClientBase } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';

/** Name of the queue. A job has the id of its message, and no content of its own. */
export const QUEUE = 'messages';

const NEVER = 2 ** 31 - 1;

/** The queue never gives a message up by itself: only `schedule.ts` does, and then the sender is told. */
const OPTIONS: QueueOptions = {
  retryLimit: NEVER,
  retentionSeconds: NEVER,
  // After a crash; a delivery that failed has its next time set with it.
  retryDelay: 1,
  // A worker that has said nothing for so long is dead, and its messages are another's.
  heartbeatSeconds: 20,
  // The time-out of all tries in one batch together with their bookkeeping, for transports that know none.
  expireInSeconds: 120,
  // The message itself is the record.
  deleteAfterSeconds: 600,
};

/** How often, in seconds, some instance looks for workers that died, and for jobs that are to be deleted. */
const INTERVALS = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  maintenanceIntervalSeconds: 120,
};
/** Parts of pg-boss that nothing here uses look as seldom as they can. */
const UNUSED = { schedule: false, flowIntervalSeconds: 3_600 };

/** A pg-boss that runs its queues' upkeep once it is started. */
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
