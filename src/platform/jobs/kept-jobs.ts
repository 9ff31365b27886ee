import { QUEUE_OPTIONS } from './boss.js';
import type { JobsDatabase } from './jobs-database.js';

/** A job that is not done, without its payload, which is not for operators to read. */
export interface KeptJob {
  id: string;
  queue: string;
  createdAt: Date;
  /** Tries so far. */
  tries: number;
  /** Why the last one failed. */
  reason: string | null;
}

/** Which jobs are meant. */
export type JobStatus = 'failed' | 'waiting';

const IN = { failed: `state = 'failed'`, waiting: `state <= 'active'` };

/** Lists and retries the jobs that are not done, of all queues. */
export class KeptJobs {
  constructor(private readonly database: JobsDatabase) {}

  /** Oldest first. @param queue all when left out */
  async list(status: JobStatus, limit: number, queue: string | null = null): Promise<KeptJob[]> {
    const { rows } = await this.database.executeSql(
      `SELECT id, name AS queue, created_on AS "createdAt", output->>'reason' AS reason,
         CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries
       FROM pgboss.job WHERE ${IN[status]} AND name = coalesce($2, name) AND name NOT LIKE '\\_\\_pgboss%'
       ORDER BY created_on LIMIT $1`,
      [limit, queue],
    );
    return rows as KeptJob[];
  }

  /** Queues failed jobs again, as if they were new. Returns the ids of those that had failed. */
  async retry(ids: readonly string[]): Promise<string[]> {
    const { rows } = await this.database.executeSql(
      `UPDATE pgboss.job SET state = 'created', start_after = now(), started_on = NULL, completed_on = NULL,
         retry_count = 0, output = NULL, data = nullif(data, 'null') - 'failingSince', deletion_seconds = $2
       WHERE id = ANY($1) AND state = 'failed' RETURNING id`,
      [ids, QUEUE_OPTIONS.deleteAfterSeconds],
    );
    return (rows as { id: string }[]).map(({ id }) => id);
  }
}
