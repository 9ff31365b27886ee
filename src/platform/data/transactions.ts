import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, EntityManager } from 'typeorm';
import { Connections } from '../database/connections.js';
import { BatchedWrites } from './batched-writes.js';

const known = new WeakMap<DataSource, Transactions>();

/**
 * The transaction that is open around the current call. A `FastRepository` works in it, and so does `manager`; whatever
 * else is called works on a connection of its own, as TypeORM documents.
 */
export class Transactions {
  private readonly open = new AsyncLocalStorage<EntityManager>();

  private constructor(private readonly database: DataSource) {}

  /** Those of a data source, which are the same for all who ask. */
  static of(database: DataSource): Transactions {
    let transactions = known.get(database);
    if (!transactions) known.set(database, (transactions = new Transactions(database)));
    return transactions;
  }

  /** TypeORM's manager of the open transaction, else that of no transaction. */
  get manager(): EntityManager {
    return this.open.getStore() ?? this.database.manager;
  }

  /** Runs `work` in the open transaction, or else in a new one. An error undoes all of it. */
  run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const open = this.open.getStore();
    if (open) return work(open);
    return this.database.transaction((transaction) => this.open.run(transaction, () => work(transaction)));
  }

  /**
   * Batches writes of several statements: the returned function makes one write, in a transaction shared with others
   * that come at the same time, or in the open one.
   * @param write makes all of them or none, and returns their results in the same order
   */
  batched<Item, Result>(write: (items: Item[]) => Promise<Result[]>): (item: Item) => Promise<Result> {
    const batch = new BatchedWrites<Item, Result>(Connections.of(this.database).writes, (items) =>
      // The batch belongs to nobody's transaction.
      this.open.exit(() => this.run(() => write(items))),
    );
    return async (item) => (this.open.getStore() ? (await write([item]))[0]! : batch.add(item));
  }
}
