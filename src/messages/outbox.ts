import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PgBoss } from 'pg-boss';
import type { EntityManager } from 'typeorm';
import { run } from '../database/compiled/run.js';
import type { Statement } from '../database/compiled/statement.js';
import { Transactions } from '../database/transactions.js';
import { QUEUE } from './delivery/queue.js';
import { type Message, MessageStatus } from './message.entity.js';

type NewMessage = Pick<Message, 'id' | 'accountId' | 'message'>;

/**
 * Stores messages, each with its job, in one statement: either both are there, or neither. Messages that are submitted
 * at the same time share a statement, which makes a message with its job cheaper than alone without.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap {
  /** Resolves to when a message was stored: within the open transaction, or else durably. */
  readonly store: (message: NewMessage) => Promise<Date>;
  private statement!: Statement;

  constructor(private readonly transactions: Transactions) {
    this.store = transactions.grouped((messages, manager) => this.storeAll(messages, manager));
  }

  /** Lets pg-boss write its part of the statement, which stays the same from then on. */
  async onApplicationBootstrap(): Promise<void> {
    const { manager } = this.transactions;
    const boss = new PgBoss({
      db: { executeSql: async (text, values) => ({ rows: await manager.query(text, values) }) },
    });
    const db = {
      executeSql: async (text: string) => {
        this.statement = {
          name: 'messages_store',
          text: withJobs(text),
          parameters: PARAMETERS,
          columns: [],
        };
        return { rows: [] };
      },
    };
    await boss.insert(QUEUE, [{}], { db, returnId: true });
  }

  private async storeAll(messages: NewMessage[], manager: EntityManager): Promise<Date[]> {
    const ids = messages.map(({ id }) => id);
    const { rows } = await run(manager, this.statement, {
      jobs: JSON.stringify(ids.map((id) => ({ id }))),
      ids,
      accountIds: messages.map(({ accountId }) => accountId),
      texts: messages.map(({ message }) => message),
    });
    const times = new Map(rows as [string, Date][]);
    return ids.map((id) => times.get(id)!);
  }
}

/** What `$1` to `$4` of the statement are. */
const PARAMETERS = ['jobs', 'ids', 'accountIds', 'texts'];

/**
 * Joins the insert of pg-boss, whose only parameter is a JSON array of jobs, to that of the messages. Where it has left
 * one out, as it does with an id that it has already, the division by zero undoes both.
 */
function withJobs(insertJobs: string): string {
  return `
    WITH message AS (
      INSERT INTO messages (id, account_id, message, status)
      SELECT *, '${MessageStatus.Queued}' FROM unnest($2::uuid[], $3::bigint[], $4::text[])
      RETURNING id, created_at
    ), job AS (${insertJobs})
    SELECT id, created_at FROM message
    WHERE 1 / (SELECT (count(*) = cardinality($2))::int FROM job) = 1`;
}
