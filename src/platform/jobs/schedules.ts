import type { PgBoss } from 'pg-boss';
import type { JobQueue } from './job.js';

/** Gives the database the schedules of the queues, and takes out those that are no longer declared. */
export async function keepSchedules(boss: PgBoss, queues: readonly JobQueue[]): Promise<void> {
  const scheduled = new Map(queues.flatMap(({ name, cron }) => (cron ? [[name, cron]] : [])));
  for (const { name } of await boss.getSchedules()) if (!scheduled.has(name)) await boss.unschedule(name);
  for (const [name, cron] of scheduled) await boss.schedule(name, cron, null, { tz: 'UTC' });
}
