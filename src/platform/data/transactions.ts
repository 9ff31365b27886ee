import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { ApiError } from '../api/api-error.js';
import { asPartOf } from '../database/asker.js';
import { Connections } from '../database/connections.js';
import { DeadlineClient } from '../database/deadline-client.js';
import { isUndone, made, Together } from './together.js';

const LOCK = {
  name: 'try_lock',
  text: 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, $2::bigint))',
};

/** Enough for those who have their turn; in milliseconds. */
const BRIEF_LOCKS = 'SET LOCAL lock_timeout = 50';

/** A transaction, and whether it has to be undone. */
interface OpenTransaction {
  manager: EntityManager;
  client: PoolClient;
  /** What is done at its end. */
  last: (() => Promise<unknown>)[];
  /** Whether it is being ended: what is still asked for would be done outside of it. */
  isOver: boolean;
  failure?: { error: unknown };
}

/** What the work of a transaction has come to, and its last statements, which have been sent. */
interface Ending<T> {
  result: T;
  last: Promise<unknown>[];
}

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
    return this.current?.manager ?? this.database.manager;
  }

  /**
   * Runs `work` in the open transaction, or else in a new one. An error undoes all of it, and all of the transaction that
   * it was part of, even if that goes on after the error. A request's transaction has until its answer is due: waiting for
   * its turn to get a connection, and for rows that others hold, is part of that time.
   * @throws Error as `manager` does
   */
  async run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const open = this.current;
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
    const { client } = this.current!;
    const [[isMine]] = (await Connections.of(this.database).run(client, LOCK, [name, owner])) as [[boolean]];
    return isMine;
  }

  /**
   * Leaves one statement, whose answer nothing needs, to the end of the open transaction: it is sent together with the
   * COMMIT. Without a transaction it is done at once. If PostgreSQL refuses it, nothing of the transaction is done; what only
   * its answer tells comes too late for that. Not for jobs, which may take more than one statement.
   */
  async atCommit(work: () => Promise<unknown>): Promise<void> {
    const open = this.current;
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

  /**
   * Batches writes of several statements: the returned function makes one write, in a transaction shared with others
   * that come at the same time, or in the open one.
   * @param write makes all of them or none, and returns their results in the same order
   */
  batched<Item, Result>(write: (items: Item[]) => Promise<Result[]>): (item: Item) => Promise<Result> {
    const batch = new Together<Item, Result>(Connections.of(this.database).writes, {
      make: async (items) => made(await this.run(() => write(items))),
      // A business rule is a refusal too: the work ends by it before there is a COMMIT.
      canRepeat: (error) => isUndone(error) || error instanceof ApiError,
      tryAlone: (item) =>
        this.run(async (transaction) => {
          await transaction.query(BRIEF_LOCKS);
          return (await write([item]))[0]!;
        }),
    });
    return async (item) => (this.current ? (await write([item]))[0]! : batch.add(item));
  }

  /**
   * The open transaction.
   * @throws Error where it has ended: what is asked of it then would be done outside of it, or never
   */
  private get current(): OpenTransaction | undefined {
    const open = this.open.getStore();
    if (open?.isOver) throw new Error('The transaction has ended before all of its work was done');
    return open;
  }

  /** Runs `work` in the transaction of a manager, as the open one, to its end. */
  private async within<T>(
    manager: EntityManager,
    work: (own: EntityManager) => Promise<T>,
  ): Promise<Ending<T>> {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    const open: OpenTransaction = { manager, client, last: [], isOver: false };
    const inOpen = <Result>(step: () => Promise<Result>) =>
      asPartOf('within', () => this.open.run(open, step));
    try {
      const result = await inOpen(() => work(manager));
      if (open.failure) throw open.failure.error;
      return { result, last: await inOpen(() => sendLast(open)) };
    } finally {
      open.isOver = true;
    }
  }
}

/** TypeORM's `transaction`, in two round trips less: its look-ups go out with its begin, and its end with its last statements. */
async function inNewTransaction<T>(
  database: DataSource,
  work: (transaction: EntityManager) => Promise<Ending<T>>,
): Promise<T> {
  const runner = database.createQueryRunner();
  try {
    const { begun } = await begin(runner);
    const { result, last } = await work(runner.manager);
    await begun;
    await commit(runner, last);
    return result;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    await runner.release();
  }
}

/** The connection of a transaction that is begun and ended here; a subscriber is told of both by TypeORM, and waited for. */
async function quickClient(runner: QueryRunner): Promise<DeadlineClient | undefined> {
  const client: unknown = await asPartOf('transaction', () => runner.connect());
  return client instanceof DeadlineClient && runner.dataSource.subscribers.length === 0 ? client : undefined;
}

/** Begins a transaction. What the server says to that is `begun`. */
async function begin(runner: QueryRunner): Promise<{ begun: Promise<void> }> {
  const client = await quickClient(runner);
  if (!client) {
    await runner.startTransaction();
    return { begun: Promise.resolve() };
  }
  const begun = client.begin();
  // Where it fails, so do the statements behind it.
  begun.catch(() => {});
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
  return { begun };
}

/**
 * Does the last of a transaction, up to where its statements have been sent.
 * @throws what keeps one from being sent
 */
async function sendLast({ client, last }: OpenTransaction): Promise<Promise<unknown>[]> {
  const sent: Promise<unknown>[] = [];
  for (const work of last) {
    const isSent = client instanceof DeadlineClient ? client.sent() : undefined;
    const done = work();
    done.catch(() => {});
    sent.push(done);
    await Promise.race([isSent ?? done, done]);
  }
  return sent;
}

/**
 * Ends a transaction, right behind its last statements: if one of them fails, the server undoes all of it instead.
 * @throws what one of them has failed for; Error where the server has undone it for a failure that the work has ignored
 */
async function commit(runner: QueryRunner, last: readonly Promise<unknown>[]): Promise<void> {
  const client = await quickClient(runner);
  if (!client) {
    await settled(last);
    return runner.commitTransaction();
  }
  const [{ command }] = await settled([client.query('COMMIT'), ...last]);
  Object.assign(runner, { isTransactionActive: false, transactionDepth: 0 });
  if (command !== 'COMMIT')
    throw new Error('The transaction was undone: a failure of one of its statements was ignored');
}

/**
 * `Promise.all` for the statements of a transaction, which are then sent together: it waits for all of them, also when one
 * has failed, so that none comes after the end of the transaction.
 * @throws the first failure
 */
export async function settled<T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [Key in keyof T]: Awaited<T[Key]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
