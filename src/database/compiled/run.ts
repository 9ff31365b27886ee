import type { Pool, PoolClient, QueryArrayResult } from 'pg';
import { type EntityManager, QueryFailedError, QueryRunnerAlreadyReleasedError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { Statement } from './statement.js';

/** The rows of an answer, each an array of the values of its columns. */
export type Rows = QueryArrayResult<unknown[]>;

/**
 * Runs a statement: in a transaction on the connection of its query runner, else on any of the pool that TypeORM owns.
 * @throws QueryFailedError, as TypeORM does
 */
export async function run(
  { dataSource, queryRunner }: EntityManager,
  { name, text, parameters }: Statement,
  values: Record<string, unknown>,
): Promise<Rows> {
  if (queryRunner?.isReleased) throw new QueryRunnerAlreadyReleasedError();
  const { master } = dataSource.driver as PostgresDriver;
  const connection: Pool | PoolClient = queryRunner ? await queryRunner.connect() : master;
  const ordered = parameters.map((parameter) => values[parameter]);
  try {
    return await connection.query<unknown[]>({ name, text, values: ordered, rowMode: 'array' });
  } catch (error) {
    throw new QueryFailedError(text, ordered, error as Error);
  }
}
