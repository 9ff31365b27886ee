import { hash } from 'node:crypto';
import { DatabaseError, Pool, type PoolClient, type PoolConfig, type QueryArrayConfig, types } from 'pg';
import {
  type DataSource,
  type EntityManager,
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
} from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { parseExactly } from '../process/index.js';
import type { LendingPg, LentPool } from './lent-pool.js';
import { Replicas } from './replicas.js';
import { answered503, isLostStatement } from './unavailable.js';

/** The fixed part of a statement, used as a prototype, as `pg` copies all own properties at every run. */
export interface Statement extends QueryArrayConfig {
  readonly text: string;
}

export type Row = unknown[];

/** The options of TypeORM, and those of this service. */
export type ConnectionOptions = PostgresDataSourceOptions & {
  readonly driver: LendingPg;
  /** The pools of the replicas from which lists are read; none by default. */
  readonly replicaPools?: readonly PoolConfig[];
  /** Whether a connection keeps its prepared statements; true by default. */
  readonly preparesStatements?: boolean;
};

/** SQLSTATEs of a useless connection: lost, shutting down, idle in a transaction too long, or read-only. */
const USELESS = /^(?:08|57P|25P03|25006)/;

const instances = new WeakMap<DataSource, Connections>();

/** The connections of a data source: the pool of TypeORM to the primary, and pools to replicas. */
export class Connections {
  readonly primary: LentPool;
  private readonly preparesStatements: boolean;
  private readonly replicas?: Replicas;

  private constructor({ options }: DataSource) {
    const { driver, replicaPools = [], preparesStatements = true } = options as ConnectionOptions;
    this.primary = driver.pool!;
    this.preparesStatements = preparesStatements;
    if (replicaPools.length > 0) this.replicas = new Replicas(this.primary, replicaPools, preparesStatements);
  }

  /** The only instance for an initialized data source. */
  static of(database: DataSource): Connections {
    return instances.getOrInsertComputed(database, (source) => new Connections(source));
  }

  /**
   * A statement with fixed SQL; each connection parses it once if it has a label.
   * @param label begins the name of the prepared statement
   */
  statement(text: string, label?: string): Statement {
    const statement = { text, types: EXACT, rowMode: 'array' as const };
    if (label === undefined || !this.preparesStatements) return statement;
    // PostgreSQL cuts names after 63 bytes. A name must mean one SQL text, as a pooler shares sessions.
    return { ...statement, name: `${label.slice(0, 15)}_${hash('sha256', text, 'base64url').slice(0, 16)}` };
  }

  /**
   * Runs a statement in the manager's transaction if there is one, else on any connection of the pool.
   * @returns rows as arrays of column values
   * @throws QueryFailedError; a useless connection is closed, which undoes its transaction
   */
  async run(
    { queryRunner }: EntityManager,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    if (!queryRunner) return this.runOn(this.primary, statement, values);
    if (queryRunner.isReleased) throw new QueryRunnerAlreadyReleasedError();
    return this.send((await queryRunner.connect()) as PoolClient, statement, values);
  }

  /** Runs the statement of a list as `run` does; outside of a transaction, on a replica if there is one. */
  runList(manager: EntityManager, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (manager.queryRunner) return this.run(manager, statement, values);
    const read = (connection: Pool | PoolClient) =>
      connection instanceof Pool
        ? this.runOn(connection, statement, values)
        : this.send(connection, statement, values);
    return this.replicas ? this.replicas.read(read) : read(this.primary);
  }

  /** Runs a statement on a client; the statement has been sent when this returns. @throws as `run` does */
  send(client: PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return query(client, statement, values).catch((error: unknown) => {
      if (!isAnswer(error)) void client.end();
      throw failure(error, statement, values);
    });
  }

  /** Closes the pools to replicas; TypeORM closes its own. */
  async close(): Promise<void> {
    await this.replicas?.close();
  }

  /** Unlike `pool.query`, keeps the connection after an error with which the server answered. */
  private async runOn(pool: Pool, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      const client = await pool.connect();
      try {
        const rows = await query(client, statement, values);
        client.release();
        return rows;
      } catch (error) {
        // The server has run nothing: sends the statement again without a name, then closes the connection.
        if (isLostStatement(error))
          return await query(client, this.statement(statement.text), values).finally(() =>
            client.release(true),
          );
        client.release(isAnswer(error) ? undefined : (error as Error));
        throw error;
      }
    } catch (error) {
      throw failure(error, statement, values);
    }
  }
}

async function query(client: PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  return (await client.query<Row>(Object.create(statement) as Statement, values as unknown[])).rows;
}

function failure(error: unknown, { text }: Statement, values: readonly unknown[]): QueryFailedError {
  return new QueryFailedError(text, values as unknown[], answered503(error as Error));
}

/** Whether the server refused a statement, and the connection can run the next one. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !USELESS.test(error.code ?? '') && !isLostStatement(error);
}

type Parse = (text: string) => unknown;

const JSON_TYPES = new Set<number>([types.builtins.JSON, types.builtins.JSONB]);
const INTEGER = /^-?\d{16,19}$/;

/** The parser of `pg` for a PostgreSQL type, except that 64-bit integers in JSON are not rounded. */
function parserOf(type: number): Parse {
  return JSON_TYPES.has(type) ? (text) => parseExactly(text, integer) : (types.getTypeParser(type) as Parse);
}

/** The parsers as an option of a query of `pg`. */
export const EXACT = { getTypeParser: parserOf as typeof types.getTypeParser };

/** Integers of 64 bits beyond 2^53 − 1 become values of `JSON.rawJSON`. */
function integer(source: string, value: number): unknown {
  if (Number.isSafeInteger(value) || !INTEGER.test(source)) return value;
  const digits = BigInt(source);
  return BigInt.asIntN(64, digits) === digits ? JSON.rawJSON(source) : value;
}
