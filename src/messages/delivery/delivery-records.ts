import type { Db, JobWithMetadata, PgBoss } from 'pg-boss';
import { MessageStatus } from '../message.entity.js';
import type { OutgoingMessage } from '../transport.js';
import type { JobsDatabase } from './jobs-database.js';
import { QUEUE } from './queue.js';

/** The job of one message, as seen by the worker that holds it. */
export type MessageJob = JobWithMetadata<{ failingSince?: string } | null>;

/**
 * The outcome of a message, written in one transaction with that of its job: after a crash in between, both are as they
 * were, and the message is tried again. pg-boss ignores a job that another worker has taken over meanwhile; the status
 * of the message is recorded all the same.
 */
export class DeliveryRecords {
  constructor(
    private readonly boss: PgBoss,
    private readonly database: JobsDatabase,
  ) {}

  /** The messages that still have to be delivered, by id. From the primary: a replica may not have them yet. */
  async findQueued(ids: string[]): Promise<Map<string, OutgoingMessage>> {
    const { rows } = await this.database.executeSql(
      `SELECT id, message, created_at AS "createdAt" FROM messages WHERE id = ANY($1) AND status = $2`,
      [ids, MessageStatus.Queued],
    );
    return new Map((rows as OutgoingMessage[]).map((message) => [message.id, message]));
  }

  async delivered(job: MessageJob): Promise<void> {
    await this.database.transaction(async (db) => {
      await this.boss.complete(QUEUE, job, null, { db });
      await setStatus(db, job, MessageStatus.Delivered);
    });
  }

  /** Gives a message up. */
  async failed(job: MessageJob, reason: string): Promise<void> {
    await this.database.transaction(async (db) => {
      await this.boss.complete(QUEUE, job, { failed: reason }, { db });
      await setStatus(db, job, MessageStatus.Failed, reason);
    });
  }

  /** Returns a message to the queue for a later try. */
  async postponed(job: MessageJob, reason: string, failingSince: Date, pauseSeconds: number): Promise<void> {
    await this.database.transaction(async (db) => {
      await this.boss.fail(QUEUE, job, { reason }, { db });
      const options = { id: job.id, startAfter: pauseSeconds, db };
      await this.boss.update(QUEUE, { failingSince: failingSince.toISOString() }, options);
    });
  }
}

/** If two workers have tried the same message, since one was taken for dead, a success outweighs a failure. */
async function setStatus(db: Db, { id }: MessageJob, status: MessageStatus, failure?: string): Promise<void> {
  await db.executeSql(
    `UPDATE messages SET status = $2, failure = $3 WHERE id = $1 AND status <> 'delivered'`,
    [id, status, failure],
  );
}
