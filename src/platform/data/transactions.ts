import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { codeOf, Connections, type Statement } from '../database/index.js';

/** SQLSTATE `in_failed_sql_transaction`. */
const IN_FAILED_TRANSACTION = '25P02';

/** The types of `pg` lack this property. */
type Connected = PoolClient & { readonly pipeline?: boolean };

interface Session {
  readonly manager: EntityManager;
  /** Whether the transaction has ended: a later statement would run outside of it, or never. */
  hasEnded: boolean;
  /** The failure of a nested `run`, which undoes the whole transaction. */
  failure?: { readonly error: unknown };
  /** Statements sent without waiting for their answers; none of these promises rejects. */
  readonly unanswered: Promise<unknown>[];
  /** The first failure of an unanswered statement, which makes later statements fail. */
  cause?: { readonly error: unknown };
  /** The last statement and its values, sent together with COMMIT. */
  last?: readonly [Statement, readonly unknown[]];
}

/** Fails in a transaction that PostgreSQL has aborted. */
const PROBE: Statement = { text: 'SELECT', rowMode: 'array' };

const instances = new WeakMap<DataSource, Transactions>();

/**
 * Sends a statement without waiting for its answer, so that the next statement can follow at once. A failure
 * undoes the open transaction; its `run` throws the error. Without a transaction, waits. Not for features.
 */
export let goOn: (transactions: Transactions, statement: () => Promise<unknown>) => Promise<void>;

/** The open transaction of the current call. Only statements of `FastRepository` and `manager` belong to it. */
export class Transactions {
  static {
    goOn = async (transactions, statement) => {
      const { current } = transactions;
      const failed = (error: unknown) => {
        if (!current) throw error;
        // This SQLSTATE only says that an earlier statement failed; that statement's error is the cause.
        if (codeOf(error) !== IN_FAILED_TRANSACTION) current.cause ??= { error };
      };
      const answered = statement().catch(failed);
      if (current) current.unanswered.push(answered);
      else await answered;
    };
  }

  private readonly sessions = new AsyncLocalStorage<Session>();

  private constructor(private readonly database: DataSource) {}

  /** The only instance for a data source. */
  static of(database: DataSource): Transactions {
    return instances.getOrInsertComputed(database, (source) => new Transactions(source));
  }

  /** The manager of the open transaction, else of the data source. @throws Error if that transaction has ended */
  get manager(): EntityManager {
    return this.current?.manager ?? this.database.manager;
  }

  /**
   * Runs `work` in the open transaction, or else in a new one of TypeORM. An error undoes the whole
   * transaction, even if an outer `run` catches the error. A request's transaction must end before
   * the request's answer is due; waiting for a connection and for locks takes part of that time.
   * @throws Error as `manager` does; any error of `work`
   */
  async run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const { current } = this;
    if (!current) return this.open(this.database.manager, work);
    try {
      return await work(current.manager);
    } catch (error) {
      current.failure ??= { error };
      throw error;
    }
  }

  /** Makes the transaction of a manager, or a new one on its connection, the open transaction of `work`. */
  async within<T>(manager: EntityManager, work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    if (this.sessions.getStore()?.manager === manager) return this.run(work);
    if (!manager.queryRunner?.isTransactionActive) return this.open(manager, work);
    const { result, isWhole } = await this.work(manager, work);
    await isWhole;
    return result;
  }

  /** Sends a statement last, together with COMMIT. @throws Error without an open transaction, or for a second statement */
  last(statement: Statement, values: readonly unknown[]): void {
    const { current } = this;
    if (!current || current.last)
      throw new Error('A statement can be sent with COMMIT only in an open transaction, and only one');
    current.last = [statement, values];
  }

  private get current(): Session | undefined {
    const session = this.sessions.getStore();
    if (session?.hasEnded) throw new Error('The transaction has ended before all of its work was done');
    return session;
  }

  private async open<T>(
    manager: EntityManager,
    work: (transaction: EntityManager) => Promise<T>,
  ): Promise<T> {
    const { result, isWhole } = await manager.transaction((own) => this.work(own, work));
    await isWhole;
    return result;
  }

  /**
   * Does the work of a transaction up to its COMMIT. After an ignored failure, PostgreSQL answers COMMIT with a ROLLBACK,
   * which neither `pg` nor TypeORM treats as a failure. So a statement that fails in this case is sent with COMMIT.
   */
  private async work<T>(
    manager: EntityManager,
    work: (transaction: EntityManager) => Promise<T>,
  ): Promise<{ result: T; isWhole: Promise<unknown> }> {
    const session: Session = { manager, hasEnded: false, unanswered: [] };
    try {
      const result = await this.sessions
        .run(session, () => work(manager))
        .finally(() => Promise.all(session.unanswered))
        .catch((error: unknown) => {
          throw session.cause ? session.cause.error : error;
        });
      const failure = session.cause ?? session.failure;
      if (failure) throw failure.error;
      const client = (await manager.queryRunner!.connect()) as Connected;
      // `send` sends the statement before it returns, so COMMIT, sent after this method, follows it.
      const [last, values] = session.last ?? [PROBE, []];
      const isWhole = Connections.of(this.database)
        .send(client, last, values)
        .catch((cause: unknown) => {
          if (codeOf(cause) !== IN_FAILED_TRANSACTION) throw cause;
          throw new Error('The transaction was undone: a failure of one of its statements was ignored', {
            cause,
          });
        });
      isWhole.catch(() => {});
      if (!client.pipeline) await isWhole;
      return { result, isWhole };
    } finally {
      session.hasEnded = true;
    }
  }
}
