import type { PgBoss } from 'pg-boss';
import { createBoss, type JobsDatabase, reasonIn } from '../platform/jobs/index.js';

/** An unfinished job, without its payload, which operators should not read. */
export interface UnfinishedJob {
  id: string;
  queue: string;
  createdAt: Date;
  /** Tries so far. */
  tries: number;
  /** Why the last try failed. */
  reason: string;
}

const STATES = { failed: `state = 'failed'`, waiting: `state <= 'active'` };
export type JobStatus = keyof typeof STATES;

/**
 * pg-boss's `findJobs` reads all jobs of a queue, with their payloads. Its table is documented:
 * https://pgboss.io/sql/job-table
 */
const LIST = (status: JobStatus) => `
  SELECT id, name AS queue, created_on AS "createdAt", output,
    CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries
  FROM pgboss.job
  WHERE ${STATES[status]} AND name NOT LIKE '\\_\\_%' AND name = coalesce($2, name)
  ORDER BY created_on LIMIT $1`;
const SELECT_FAILED = `
  SELECT id, name AS queue, data FROM pgboss.job
  WHERE state = 'failed' AND name NOT LIKE '\\_\\_%' AND ($1::uuid[] IS NULL OR id = ANY($1))
    AND name = coalesce($2, name) FOR UPDATE`;
/** The owner of a message sees `queued` again. */
const QUEUE_MESSAGES = `
  UPDATE messages SET status = 'queued', failure = NULL WHERE id = ANY($1) AND status = 'failed'`;

/** Failed jobs by id, or by queue; all by default. */
interface Selection {
  ids?: readonly string[];
  queue?: string;
}

/** The unfinished jobs, for the operator. */
export class UnfinishedJobs {
  private readonly boss: PgBoss;

  constructor(private readonly database: JobsDatabase) {
    this.boss = createBoss(database);
  }

  /** Oldest first. @param queue all queues by default */
  async list(status: JobStatus, limit: number, queue?: string): Promise<UnfinishedJob[]> {
    const { rows } = await this.database.executeSql(LIST(status), [limit, queue]);
    return (rows as (Omit<UnfinishedJob, 'reason'> & { output: unknown })[]).map(({ output, ...job }) => ({
      ...job,
      reason: reasonIn(output),
    }));
  }

  /** Queues failed jobs again, as new: pg-boss's `retry` gives them a single try. Returns their ids. */
  retry(selection: Selection): Promise<string[]> {
    return this.take(selection, true);
  }

  /** Deletes failed jobs; the owner of a message still sees `failed`. Returns their ids. */
  drop(selection: Selection): Promise<string[]> {
    return this.take(selection, false);
  }

  private take({ ids, queue: only }: Selection, again: boolean): Promise<string[]> {
    return this.database.transaction(async (db) => {
      const { rows } = await db.executeSql(SELECT_FAILED, [ids, only]);
      const failed = rows as { id: string; queue: string; data: object | null }[];
      for (const [queue, jobs] of Map.groupBy(failed, (job) => job.queue)) {
        const taken = jobs.map(({ id }) => id);
        await this.boss.deleteJob(queue, taken, { db });
        if (again)
          await this.boss.insert(
            queue,
            jobs.map(({ id, data }) => ({ id, ...(data && { data }) })),
            { db },
          );
      }
      const all = failed.map(({ id }) => id);
      if (again) await db.executeSql(QUEUE_MESSAGES, [all]);
      return all;
    });
  }
}
