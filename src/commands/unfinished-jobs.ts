import { PgBoss } from 'pg-boss';
import { QUEUE } from '../messages/message.entity.js';
import { type JobsDatabase, QUEUE_OPTIONS } from '../platform/jobs/index.js';

/** A job that is not done, without its payload, which is not for operators to read. */
export interface UnfinishedJob {
  id: string;
  queue: string;
  createdAt: Date;
  /** Tries so far; null for a failed message, whose tries are no longer known. */
  tries: number | null;
  /** Why the last try failed. */
  reason: string | null;
}

export type JobStatus = 'failed' | 'waiting';

/** pg-boss's `findJobs` has no limit, and its `retry` keeps the tries and their reason. */
const JOBS = `
  SELECT id, name AS queue, created_on AS "createdAt", output->>'reason' AS reason,
    CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries
  FROM pgboss.job WHERE name NOT LIKE '\\_\\_pgboss%'`;
/** A failed message has no job any more, and a reason until it is dropped. */
const MESSAGES = `
  SELECT id, '${QUEUE}', created_at, failure, NULL FROM messages WHERE status = 'failed' AND failure IS NOT NULL`;
const IN = {
  failed: `${JOBS} AND state = 'failed' UNION ALL ${MESSAGES}`,
  waiting: `${JOBS} AND state <= 'active'`,
};

/** Jobs of one transaction. */
const BATCH = 1_000;
const NEXT = `
  SELECT id FROM (${IN.failed}) AS job WHERE id > $1 AND queue = coalesce($2, queue) ORDER BY id LIMIT ${BATCH}`;

/** The jobs that are not done, those of messages among them, for the operator. */
export class UnfinishedJobs {
  private readonly boss: PgBoss;

  constructor(private readonly database: JobsDatabase) {
    this.boss = new PgBoss({ db: database });
  }

  /** Oldest first. @param queue all when left out */
  async list(status: JobStatus, limit: number, queue: string | null = null): Promise<UnfinishedJob[]> {
    const { rows } = await this.database.executeSql(
      `SELECT * FROM (${IN[status]}) AS job WHERE queue = coalesce($2, queue) ORDER BY "createdAt" LIMIT $1`,
      [limit, queue],
    );
    return rows as UnfinishedJob[];
  }

  /** Queues failed jobs again, as if they were new; a message is `queued` for its owner too. Returns the ids of those that had failed. */
  retry(ids: readonly string[]): Promise<string[]> {
    return this.database.transaction(async (db) => {
      const changed = async (sql: string, ...values: unknown[]) =>
        (await db.executeSql(`${sql} RETURNING id`, [ids, ...values])).rows.map(({ id }) => id as string);
      const messages = await changed(
        `UPDATE messages SET status = 'queued', failure = NULL WHERE id = ANY($1) AND status = 'failed'`,
      );
      if (messages.length > 0) {
        // pg-boss keeps a job for a while after its end, and accepts no second one with the same id.
        await this.boss.deleteJob(QUEUE, messages, { db });
        const jobs = messages.map((id) => ({ id }));
        await this.boss.insert(QUEUE, jobs, { db });
      }
      const { retryLimit, deleteAfterSeconds } = QUEUE_OPTIONS;
      const jobs = await changed(
        `UPDATE pgboss.job SET state = 'created', start_after = now(), started_on = NULL, completed_on = NULL,
           retry_count = 0, retry_limit = $2, output = NULL, data = nullif(data, 'null') - 'failingSince',
           deletion_seconds = $3
         WHERE id = ANY($1) AND state = 'failed'`,
        retryLimit,
        deleteAfterSeconds,
      );
      return [...messages, ...jobs];
    });
  }

  /** Forgets failed jobs; a message stays `failed` for its owner. Returns the ids of those that had failed. */
  async drop(ids: readonly string[]): Promise<string[]> {
    const { rows } = await this.database.executeSql(
      `WITH messages AS (UPDATE messages SET failure = NULL
         WHERE id = ANY($1) AND status = 'failed' AND failure IS NOT NULL RETURNING id),
       jobs AS (DELETE FROM pgboss.job WHERE id = ANY($1) AND state = 'failed' RETURNING id)
       SELECT id FROM messages UNION ALL SELECT id FROM jobs`,
      [ids],
    );
    return rows.map(({ id }) => id as string);
  }

  /** Does something to every failed job once: to one that fails again meanwhile, not twice. Returns their number. */
  async all(change: 'retry' | 'drop', queue: string | null = null): Promise<number> {
    let last = '00000000-0000-0000-0000-000000000000';
    for (let count = 0; ;) {
      const { rows } = await this.database.executeSql(NEXT, [last, queue]);
      if (rows.length === 0) return count;
      const ids = rows.map(({ id }) => id as string);
      count += (await this[change](ids)).length;
      last = ids.at(-1)!;
    }
  }
}
