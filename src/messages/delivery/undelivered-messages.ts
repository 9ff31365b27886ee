import { PgBoss } from 'pg-boss';
import type { JobsDatabase } from '../../platform/jobs/index.js';
import { MessageStatus } from '../message.entity.js';
import { QUEUE } from '../queue.js';

/** Messages per transaction. */
const BATCH = 1_000;

/** A message that has not been delivered, without its text, which is not for operators to read. */
export interface Undelivered {
  id: string;
  createdAt: Date;
  /** Tries so far; null for a failed message, whose tries are no longer known. */
  tries: number | null;
  /** Why the last try failed. */
  reason: string | null;
}

/** Lists and retries the messages that were not delivered. */
export class UndeliveredMessages {
  private readonly boss: PgBoss;

  constructor(private readonly database: JobsDatabase) {
    this.boss = new PgBoss({ db: database });
  }

  /** Oldest first. */
  async list(status: 'failed' | 'queued', limit: number): Promise<Undelivered[]> {
    const { rows } = await this.database.executeSql(status === 'failed' ? FAILED : QUEUED, [limit]);
    return rows as Undelivered[];
  }

  /** Queues failed messages again, as if they were new. Returns the ids of those that had failed. */
  retry(ids: string[]): Promise<string[]> {
    return this.database.transaction(async (db) => {
      const { rows } = await db.executeSql(
        `UPDATE messages SET status = $2, failure = NULL WHERE id = ANY($1) AND status = $3 RETURNING id`,
        [ids, MessageStatus.Queued, MessageStatus.Failed],
      );
      const retried = (rows as { id: string }[]).map(({ id }) => id);
      if (retried.length > 0) {
        // pg-boss keeps a job for a while after its end, and accepts no second one with the same id.
        await this.boss.deleteJob(QUEUE, retried, { db });
        await this.boss.insert(
          QUEUE,
          retried.map((id) => ({ id })),
          { db },
        );
      }
      return retried;
    });
  }

  /** Retries every failed message once, in the order of ids: one that fails again meanwhile is not retried twice. */
  async retryAll(): Promise<number> {
    let last = '00000000-0000-0000-0000-000000000000';
    for (let count = 0; ;) {
      const { rows } = await this.database.executeSql(NEXT, [last, BATCH]);
      if (rows.length === 0) return count;
      count += (await this.retry(rows.map(({ id }: { id: string }) => id))).length;
      last = rows.at(-1).id;
    }
  }
}

const NEXT = `SELECT id FROM messages WHERE status = 'failed' AND id > $1 ORDER BY id LIMIT $2`;
const FAILED = `
  SELECT id, created_at AS "createdAt", NULL AS tries, failure AS reason
  FROM messages WHERE status = 'failed' ORDER BY id LIMIT $1`;
const QUEUED = `
  SELECT id, created_on AS "createdAt", CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries,
    output->>'reason' AS reason
  FROM pgboss.job WHERE name = '${QUEUE}' AND state <= 'active' ORDER BY priority DESC, created_on LIMIT $1`;
