import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { Connections } from '../database/connections.js';
import { limit, type OpenTransaction, sendLast } from './open-transaction.js';
import { type Ending, inNewTransaction } from './quick-transaction.js';
import { settled } from './settled.js';
import { Together, made } from './together.js';

const LOCK = {
  name: 'try_lock',
  text: 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, $2::bigint))',
};

/** Enough for those who have their turn; in milliseconds. */
const BRIEF_LOCKS = 'SET LOCAL lock_timeout = 50';

const known = new WeakMap<DataSource, Transactions>();

/**
 * The transaction that is open around the current call. A `FastRepository` works in it, and so does `manager`; whatever
 * else is called works on a connection of its own, as TypeORM documents.
 */
export class Transactions {
  private readonly open = new AsyncLocalStorage<OpenTransaction>();

  private constructor(private readonly database: DataSource) {}

  /** Those of a data source, which are the same for all who ask. */
  static of(database: DataSource): Transactions {
    let transactions = known.get(database);
    if (!transactions) known.set(database, (transactions = new Transactions(database)));
    return transactions;
  }

  /**
   * TypeORM's manager of the open transaction, else that of no transaction.
   * @throws Error when that transaction has ended: somebody has not waited for all of its work
   */
  get manager(): EntityManager {
    const open = this.open.getStore();
    if (open?.isOver) throw new Error('The transaction has ended before all of its work was done');
    return open?.manager ?? this.database.manager;
  }

  /**
   * Runs `work` in the open transaction, or else in a new one. An error undoes all of it, and all of the transaction that
   * it was part of, even if that goes on after the error.
   */
  async run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const open = this.open.getStore();
    if (!open) return this.in(this.database.manager, work);
    try {
      return await work(open.manager);
    } catch (error) {
      open.failure ??= { error };
      throw error;
    }
  }

  /**
   * Takes a lock on a name of somebody's until the open transaction ends, unless it is taken: nobody waits for it.
   * @param owner an int64: the same name of another is another lock
   */
  async tryLock(name: string, owner: string): Promise<boolean> {
    const { client } = this.open.getStore()!;
    const [[isMine]] = (await Connections.of(this.database).run(client, LOCK, [name, owner])) as [[boolean]];
    return isMine;
  }

  /**
   * Leaves one statement, whose answer nothing needs, to the end of the open transaction: it is sent together with the
   * COMMIT. Without a transaction it is done at once. If PostgreSQL refuses it, nothing of the transaction is done; what only
   * its answer tells comes too late for that. Not for jobs, which may take more than one statement.
   */
  async atCommit(work: () => Promise<unknown>): Promise<void> {
    const open = this.open.getStore();
    if (open) open.last.push(work);
    else await work();
  }

  /** Runs `work` in the transaction of a manager, or in a new one on its connection; it is then the open one. */
  in<T>(manager: EntityManager, work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    if (!manager.queryRunner) return inNewTransaction(this.database, (own) => this.within(own, work));
    const whole = async (own: EntityManager) => {
      const { result, last } = await this.within(own, work);
      await settled(last);
      return result;
    };
    return manager.queryRunner.isTransactionActive ? whole(manager) : manager.transaction(whole);
  }

  /** Runs `work` in the transaction of a manager, as the open one, to its end. */
  private async within<T>(
    manager: EntityManager,
    work: (own: EntityManager) => Promise<T>,
  ): Promise<Ending<T>> {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    const open: OpenTransaction = { manager, client, last: [], isOver: false };
    const timer = limit(client);
    try {
      const result = await this.open.run(open, () => work(manager));
      if (open.failure) throw open.failure.error;
      return { result, last: await this.open.run(open, () => sendLast(open)) };
    } finally {
      open.isOver = true;
      clearTimeout(timer);
    }
  }

  /**
   * Batches writes of several statements: the returned function makes one write, in a transaction shared with others
   * that come at the same time, or in the open one.
   * @param write makes all of them or none, and returns their results in the same order
   */
  batched<Item, Result>(write: (items: Item[]) => Promise<Result[]>): (item: Item) => Promise<Result> {
    const batch = new Together<Item, Result>(
      Connections.of(this.database).writes,
      async (items) => made(await this.run(() => write(items))),
      (item) =>
        this.run(async (transaction) => {
          await transaction.query(BRIEF_LOCKS);
          return (await write([item]))[0]!;
        }),
    );
    return async (item) => (this.open.getStore() ? (await write([item]))[0]! : batch.add(item));
  }
}
