import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { DeadlineClient } from '../database/deadline-client.js';

/** TypeORM's `transaction`, but the first statement does not wait until the server has begun it: a round trip less. */
export async function inNewTransaction<T>(
  database: DataSource,
  work: (transaction: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = database.createQueryRunner();
  try {
    const begun = await begin(runner);
    const result = await work(runner.manager);
    await begun.done;
    await runner.commitTransaction();
    return result;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    await runner.release();
  }
}

/** Begins a transaction. What the server says to that is `done`. */
async function begin(runner: QueryRunner): Promise<{ done: Promise<unknown> }> {
  const client: unknown = await runner.connect();
  // A subscriber is told of it by TypeORM, and waited for.
  if (!(client instanceof DeadlineClient) || runner.dataSource.subscribers.length > 0)
    return { done: Promise.resolve(await runner.startTransaction()) };
  const done = client.query('START TRANSACTION');
  // It fails for what the statements after it fail for as well.
  done.catch(() => {});
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
  return { done };
}
