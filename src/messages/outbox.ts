import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Pool, QueryConfig, QueryResult } from 'pg';
import { PgBoss } from 'pg-boss';
import { DataSource, QueryRunnerAlreadyReleasedError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Transactions } from '../database/transactions.js';
import { isUnavailable } from '../database/unavailable.js';
import { QUEUE } from './delivery/queue.js';
import { type Message, MessageStatus } from './message.entity.js';

/** Statements that store messages at the same time. What comes meanwhile goes together with the next. */
const STATEMENTS = 2;
/** Messages in one statement, so that even the longest are a few MB. */
const BATCH = 50;

interface Waiting {
  message: NewMessage;
  stored: (createdAt: Date) => void;
  refused: (error: unknown) => void;
}

type NewMessage = Pick<Message, 'id' | 'accountId' | 'message'>;
type Query = (config: QueryConfig) => Promise<QueryResult<{ id: string; createdAt: Date }>>;

/**
 * Stores messages, each with its job, in one statement: either both are there, or neither. Messages that are submitted
 * while others are on their way share a statement, which makes a message with its job cheaper than alone without.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap {
  private readonly waiting: Waiting[] = [];
  private statements = 0;
  private sql = '';

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** Lets pg-boss write its part of the statement, which stays the same from then on. */
  async onApplicationBootstrap(): Promise<void> {
    const boss = new PgBoss({ db: { executeSql: async (text, values) => this.pool.query(text, values) } });
    const db = {
      executeSql: async (text: string) => {
        this.sql = statement(text);
        return { rows: [] };
      },
    };
    await boss.insert(QUEUE, [{}], { db, returnId: true });
  }

  /** Resolves to when a message was stored: within the open transaction, or else durably. */
  async store(message: NewMessage): Promise<Date> {
    const { queryRunner } = this.transactions.manager;
    if (!queryRunner) return this.storeWithOthers(message);
    const client = (await queryRunner.connect()) as { query: Query };
    // Its connection has broken, and is not the transaction's any more.
    if (queryRunner.isReleased) throw new QueryRunnerAlreadyReleasedError();
    return (await this.insert([message], (config) => client.query(config))).get(message.id)!;
  }

  private storeWithOthers(message: NewMessage): Promise<Date> {
    return new Promise((stored, refused) => {
      this.waiting.push({ message, stored, refused });
      this.send();
    });
  }

  private send(): void {
    if (this.statements === STATEMENTS || this.waiting.length === 0) return;
    this.statements++;
    void this.storeAll(this.waiting.splice(0, BATCH)).finally(() => {
      this.statements--;
      this.send();
    });
  }

  /** Where a statement is refused for one of its messages, each of the others still gets its own chance. */
  private async storeAll(batch: Waiting[]): Promise<void> {
    try {
      const query: Query = (config) => this.pool.query(config);
      const times = await this.insert(
        batch.map(({ message }) => message),
        query,
      );
      for (const { message, stored } of batch) stored(times.get(message.id)!);
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) for (const { refused } of batch) refused(error);
      else for (const one of batch) await this.storeAll([one]);
    }
  }

  private async insert(messages: NewMessage[], query: Query): Promise<Map<string, Date>> {
    const ids = messages.map(({ id }) => id);
    const values = [
      JSON.stringify(ids.map((id) => ({ id }))),
      ids,
      messages.map(({ accountId }) => accountId),
      messages.map(({ message }) => message),
    ];
    const { rows } = await query({ name: 'store-messages', text: this.sql, values });
    return new Map(rows.map(({ id, createdAt }) => [id, createdAt]));
  }

  /** TypeORM's own pool to the primary. */
  private get pool(): Pool {
    return (this.database.driver as PostgresDriver).master as Pool;
  }
}

/**
 * Joins the insert of pg-boss, whose only parameter is a JSON array of jobs, to that of the messages. Where it has left
 * one out, as it does with an id that it has already, the division by zero undoes both.
 */
function statement(insertJobs: string): string {
  return `
    WITH message AS (
      INSERT INTO messages (id, account_id, message, status)
      SELECT *, '${MessageStatus.Queued}' FROM unnest($2::uuid[], $3::bigint[], $4::text[])
      RETURNING id, created_at
    ), job AS (${insertJobs})
    SELECT id, created_at AS "createdAt" FROM message
    WHERE 1 / (SELECT (count(*) = cardinality($2))::int FROM job) = 1`;
}
