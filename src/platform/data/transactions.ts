import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { codeOf } from '../database/index.js';

/** SQLSTATE `in_failed_sql_transaction`. */
const UNDONE = '25P02';

/** A transaction that is open. */
interface Session {
  readonly manager: EntityManager;
  /** Whether it has ended: what is still asked of it would be done outside of it, or never. */
  isOver: boolean;
  /** The failure of a part, for which all of it is undone. */
  failure?: { readonly error: unknown };
  /** Its last statement, which is sent together with COMMIT. */
  last?: () => Promise<unknown>;
}

const known = new WeakMap<DataSource, Transactions>();

/**
 * The transaction that is open around the current call. A `FastRepository` works in it, and so does `manager`; whatever
 * else is called works on a connection of its own, as TypeORM documents.
 */
export class Transactions {
  private readonly open = new AsyncLocalStorage<Session>();

  private constructor(private readonly database: DataSource) {}

  /** Those of a data source, which are the same for all who ask. */
  static of(database: DataSource): Transactions {
    return known.getOrInsertComputed(database, (one) => new Transactions(one));
  }

  /**
   * TypeORM's manager of the open transaction, else that of no transaction.
   * @throws Error where that transaction has ended: somebody has not waited for all of its work
   */
  get manager(): EntityManager {
    return this.current?.manager ?? this.database.manager;
  }

  /** Whether a transaction is open around the current call. */
  get isOpen(): boolean {
    return this.current !== undefined;
  }

  /**
   * Runs `work` in the open transaction, or else in a new one of TypeORM's. An error undoes all of it, and all of the
   * transaction that it was part of, even if that goes on after the error. A request's transaction has until its answer is
   * due: waiting for a connection, and for rows that others hold, is part of that time.
   * @throws Error as `manager` does; whatever `work` throws
   */
  async run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const { current } = this;
    if (!current) return this.begin(this.database.manager, work);
    try {
      return await work(current.manager);
    } catch (error) {
      current.failure ??= { error };
      throw error;
    }
  }

  /** Runs `work` in the transaction of a manager, or in a new one on its connection; it is then the open one. */
  async within<T>(manager: EntityManager, work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    if (this.open.getStore()?.manager === manager) return this.run(work);
    if (!manager.queryRunner?.isTransactionActive) return this.begin(manager, work);
    const { result, isWhole } = await this.work(manager, work);
    await isWhole;
    return result;
  }

  /**
   * Has the open transaction send a statement last, together with COMMIT. Its failure is that of the transaction.
   * @throws Error where no transaction is open, or one has a last statement already
   */
  last(statement: () => Promise<unknown>): void {
    const { current } = this;
    if (!current || current.last) throw new Error('A transaction has one last statement');
    current.last = statement;
  }

  private get current(): Session | undefined {
    const session = this.open.getStore();
    if (session?.isOver) throw new Error('The transaction has ended before all of its work was done');
    return session;
  }

  private async begin<T>(
    manager: EntityManager,
    work: (transaction: EntityManager) => Promise<T>,
  ): Promise<T> {
    const { result, isWhole } = await manager.transaction((own) => this.work(own, work));
    await isWhole;
    return result;
  }

  /**
   * Does the work of a transaction up to its COMMIT. A failure that was ignored has PostgreSQL answer that by a ROLLBACK, which
   * neither `pg` nor TypeORM takes for a failure: the last statement in front of it fails, and is sent together with it.
   */
  private async work<T>(
    manager: EntityManager,
    work: (transaction: EntityManager) => Promise<T>,
  ): Promise<{ result: T; isWhole: Promise<unknown> }> {
    const session: Session = { manager, isOver: false };
    try {
      const result = await this.open.run(session, () => work(manager));
      if (session.failure) throw session.failure.error;
      const client = (await manager.queryRunner!.connect()) as Client;
      const last = session.last ?? (() => client.query('SELECT'));
      const isWhole = this.open.run(session, last).catch((cause: unknown) => {
        if (codeOf(cause) !== UNDONE) throw cause;
        throw new Error('The transaction was undone: a failure of one of its statements was ignored', {
          cause,
        });
      });
      isWhole.catch(() => {});
      if (!client.pipeline) await isWhole;
      return { result, isWhole };
    } finally {
      session.isOver = true;
    }
  }
}
