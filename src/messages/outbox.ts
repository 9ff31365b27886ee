import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { type Db, PgBoss } from 'pg-boss';
import { DataSource } from 'typeorm';
import { Transactions } from '../platform/data/transactions.js';
import { Connections } from '../platform/database/connections.js';
import { QUEUE } from './delivery/queue.js';

/** Puts the jobs of messages into the transaction that stores these: either both are there, or neither. */
@Injectable()
export class Outbox {
  private readonly boss: PgBoss;
  private readonly names = new Map<string, string>();

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {
    // Outside of a transaction it looks up its queue.
    this.boss = new PgBoss({
      db: { executeSql: async (...sql) => ({ rows: await database.query(...sql) }) },
    });
  }

  /** Adds a job for each message, with the message's id. @throws Error if there is a job for one already */
  async add(ids: readonly string[]): Promise<void> {
    const jobs = ids.map((id) => ({ id }));
    const made = await this.boss.insert(QUEUE, jobs, { db: this.transaction, returnId: true });
    if (made?.length !== ids.length)
      throw new Error('pg-boss has skipped a job, which has an id of an earlier one');
  }

  /** The open transaction, for pg-boss. Its long statements are prepared: parsing one takes longer than running it. */
  private get transaction(): Db {
    const { prepares } = Connections.of(this.database);
    return {
      executeSql: async (text: string, values?: unknown[]) => {
        const client = (await this.transactions.manager.queryRunner!.connect()) as PoolClient;
        return client.query({ name: prepares ? this.nameOf(text) : undefined, text, values });
      },
    };
  }

  private nameOf(text: string): string {
    let name = this.names.get(text);
    if (!name)
      this.names.set(text, (name = `job_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`));
    return name;
  }
}
