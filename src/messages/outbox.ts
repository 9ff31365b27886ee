import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PgBoss } from 'pg-boss';
import type { CompiledEntityManager } from '../platform/data/compiled-entity-manager.js';
import type { PreparedQuery } from '../platform/data/prepared-query.js';
import { Transactions } from '../platform/data/transactions.js';
import { QUEUE } from './delivery/queue.js';
import { Message, MessageStatus } from './message.entity.js';

type NewMessage = Pick<Message, 'id' | 'accountId' | 'message'>;

/**
 * Stores messages, each with its job, in one statement: either both are there, or neither. Messages that are submitted
 * at the same time share a statement, so that a message with its job costs less than one alone without a job.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap {
  private readonly write: (message: NewMessage) => Promise<Date>;
  private query!: PreparedQuery<Message>;

  constructor(private readonly transactions: Transactions) {
    this.write = transactions.grouped((messages, manager) => this.writeAll(messages, manager));
  }

  /** Resolves to when the message was stored: within the open transaction, otherwise durably. */
  store(message: NewMessage): Promise<Date> {
    return this.write(message);
  }

  /** Lets pg-boss write its part of the query, which stays the same from then on. */
  async onApplicationBootstrap(): Promise<void> {
    const { manager } = this.transactions;
    const boss = new PgBoss({
      db: { executeSql: async (text, values) => ({ rows: await manager.query(text, values) }) },
    });
    // pg-boss shows its SQL only by running it, so it runs on a connection that keeps the text.
    const db = {
      executeSql: async (text: string) => {
        this.query = storing(text);
        return { rows: [] };
      },
    };
    await boss.insert(QUEUE, [{}], { db, returnId: true });
  }

  private async writeAll(messages: NewMessage[], manager: CompiledEntityManager): Promise<Date[]> {
    const ids = messages.map(({ id }) => id);
    const stored = await manager.prepared(Message, this.query, {
      jobs: JSON.stringify(ids.map((id) => ({ id }))),
      ids,
      accountIds: messages.map(({ accountId }) => accountId),
      texts: messages.map(({ message }) => message),
    });
    const times = new Map(stored.map(({ id, createdAt }) => [id, createdAt]));
    return ids.map((id) => times.get(id)!);
  }
}

/**
 * Joins the insert of pg-boss, whose only parameter is a JSON array of jobs, to that of the messages. If pg-boss skips a
 * job, because it has one with that id, the division by zero undoes both.
 */
function storing(insertJobs: string): PreparedQuery<Message> {
  const text = `
    WITH message AS (
      INSERT INTO messages (id, account_id, message, status)
      SELECT *, '${MessageStatus.Queued}' FROM unnest($2::uuid[], $3::bigint[], $4::text[])
      RETURNING id, created_at
    ), job AS (${insertJobs})
    SELECT id, created_at FROM message
    WHERE 1 / (SELECT (count(*) = cardinality($2))::int FROM job) = 1`;
  const parameters = ['jobs', 'ids', 'accountIds', 'texts'];
  return { name: 'store', columns: ['id', 'createdAt'], parameters, build: () => text };
}
