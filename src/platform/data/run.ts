import type { Pool, PoolClient, QueryArrayResult } from 'pg';
import { QueryFailedError, QueryRunnerAlreadyReleasedError } from 'typeorm';
import type { CompiledDataSourceOptions } from './compiled-data-source.js';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import type { Statement } from './statement.js';

/** The rows of an answer, each an array of column values. */
type Rows = QueryArrayResult<unknown[]>;

/**
 * Runs a statement: in a transaction on the connection of its query runner, else on any connection of TypeORM's pool.
 * @throws QueryFailedError, as TypeORM does
 */
export async function run(
  { dataSource, queryRunner }: CompiledEntityManager,
  statement: Statement,
  values: Record<string, unknown>,
): Promise<Rows> {
  if (queryRunner?.isReleased) throw new QueryRunnerAlreadyReleasedError();
  const { primary, options } = dataSource;
  return runOn(queryRunner ? await queryRunner.connect() : primary, options, statement, values);
}

/**
 * Runs the statement of a list, wherever lists are read from.
 * @throws QueryFailedError, as TypeORM does
 */
export function runList(
  { dataSource }: CompiledEntityManager,
  statement: Statement,
  values: Record<string, unknown>,
): Promise<Rows> {
  return dataSource.readList((connection) => runOn(connection, dataSource.options, statement, values));
}

async function runOn(
  connection: Pool | PoolClient,
  { preparesStatements }: CompiledDataSourceOptions,
  { name, text, parameters }: Statement,
  values: Record<string, unknown>,
): Promise<Rows> {
  const ordered = parameters.map((parameter) => values[parameter]);
  const query = {
    name: preparesStatements ? name : undefined,
    text,
    values: ordered,
    rowMode: 'array' as const,
  };
  try {
    return await connection.query<unknown[]>(query);
  } catch (error) {
    throw new QueryFailedError(text, ordered, error as Error);
  }
}
