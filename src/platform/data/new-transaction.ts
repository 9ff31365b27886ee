import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { asPartOf, DeadlineClient } from '../database/index.js';

/** What the work of a transaction has come to, and its last statements, which have been sent. */
export interface Ending<T> {
  result: T;
  last: Promise<unknown>[];
  /** Whether the answer to its COMMIT is waited for. */
  matters: boolean;
}

/** A transaction that was certainly undone, for what one of those who share it has done or cannot do in company. */
export class UndoneError extends Error {}

/** TypeORM's `transaction`, in two round trips less: its look-ups go out with its begin, and its end with its last statements. */
export async function inNewTransaction<T>(
  database: DataSource,
  work: (transaction: EntityManager) => Promise<Ending<T>>,
): Promise<T> {
  const runner = database.createQueryRunner();
  let left: Promise<void> | undefined;
  try {
    const { begun } = await begin(runner);
    const { result, last, matters } = await work(runner.manager);
    await begun;
    const committed = commit(runner, last);
    if (matters) await committed;
    else left = committed;
    return result;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    // Nobody waits for the end of what has only read.
    if (left) void left.catch(() => {}).then(() => runner.release());
    else await runner.release();
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
 * Ends a transaction, right behind its last statements: if one of them fails, the server undoes all of it instead.
 * @throws what one of them has failed for; UndoneError where the server has undone it for a failure that the work has ignored
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
    throw new UndoneError('The transaction was undone: a failure of one of its statements was ignored');
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
