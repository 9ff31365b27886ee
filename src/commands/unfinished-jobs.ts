import type { JobsDatabase } from '../platform/jobs/index.js';

// pg-boss documents its table: https://pgboss.io/sql/job-table

/** An unfinished job, without its payload, which operators should not read. */
export interface UnfinishedJob {
  id: string;
  queue: string;
  createdAt: Date;
  /** Tries so far. */
  tries: number;
  /** Why the last try failed. */
  reason: string | null;
}

const STATES = { failed: `state = 'failed'`, waiting: `state <= 'active'` };
export type JobStatus = keyof typeof STATES;

const list = (status: JobStatus) => `
  SELECT id, name AS queue, created_on AS "createdAt", coalesce(output->>'reason', output->>'message') AS reason,
    CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries
  FROM pgboss.job
  WHERE ${STATES[status]} AND name NOT LIKE '\\_\\_pgboss%' AND name = coalesce($2, name)
  ORDER BY created_on LIMIT $1`;

const FAILED = `state = 'failed' AND ($1::uuid[] IS NULL OR id = ANY($1)) AND name = coalesce($2, name)`;
/** The owner of a message sees `queued` again. */
const RETRY = `
  WITH retried AS (
    UPDATE pgboss.job SET state = 'created', start_after = now(), started_on = NULL, completed_on = NULL,
      retry_count = 0, output = NULL
    WHERE ${FAILED} RETURNING id),
  messages AS (
    UPDATE messages SET status = 'queued', failure = NULL
    FROM retried WHERE messages.id = retried.id AND status = 'failed')
  SELECT id FROM retried`;
/** The owner of a message still sees `failed`. */
const DROP = `DELETE FROM pgboss.job WHERE ${FAILED} RETURNING id`;

/** Failed jobs by id, or by queue; all by default. */
interface Selection {
  ids?: readonly string[];
  queue?: string;
}

/** The unfinished jobs, for the operator. */
export class UnfinishedJobs {
  constructor(private readonly database: JobsDatabase) {}

  /** Oldest first. @param queue all queues by default */
  async list(status: JobStatus, limit: number, queue?: string): Promise<UnfinishedJob[]> {
    const { rows } = await this.database.executeSql(list(status), [limit, queue]);
    return rows as UnfinishedJob[];
  }

  /** Queues failed jobs again as new. Returns their ids. */
  retry(selection: Selection): Promise<string[]> {
    return this.change(RETRY, selection);
  }

  /** Deletes failed jobs. Returns their ids. */
  drop(selection: Selection): Promise<string[]> {
    return this.change(DROP, selection);
  }

  private async change(sql: string, { ids, queue }: Selection): Promise<string[]> {
    const { rows } = await this.database.executeSql(sql, [ids, queue]);
    return (rows as { id: string }[]).map(({ id }) => id);
  }
}
