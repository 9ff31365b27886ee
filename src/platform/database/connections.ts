import { DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { EXACT } from './exact-values.js';
import type { LendingPg, LentPool } from './lent-pool.js';
import { Replicas } from './replicas.js';
import { isLostStatement } from './unavailable.js';

/** A statement. The SQL of a named statement is fixed: a connection parses it once. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

type Row = unknown[];

/** The options of TypeORM, and those of this service. */
export type ConnectionOptions = PostgresDataSourceOptions & {
  readonly driver: LendingPg;
  /** The pools of replicas that lists are read from; none when left out. */
  readonly replicaPools?: readonly PoolConfig[];
  /** Whether a connection keeps its prepared statements; true when left out. */
  readonly preparesStatements?: boolean;
};

/** SQLSTATEs after which a connection is useless: the server stops, has waited too long for a transaction, or is read-only. */
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

  /** Reads lists, outside of transactions: from a replica if one is as current as the primary. */
  readList<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    return this.replicas ? this.replicas.read(work) : work(this.primary);
  }

  /** Rows as arrays of column values. @throws the error of PostgreSQL; a useless connection is closed, its work undone */
  async run(connection: Pool | PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (connection instanceof Pool) return this.runOn(await connection.connect(), statement, values);
    try {
      return await this.send(connection, statement, values);
    } catch (error) {
      if (!isAnswer(error)) void connection.end();
      throw error;
    }
  }

  /** Closes the pools to replicas; TypeORM closes its own. */
  async close(): Promise<void> {
    await this.replicas?.close();
  }

  /** Unlike `query` of the pool, keeps the connection after an error that the server answered. */
  private async runOn(client: PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      const rows = await this.send(client, statement, values);
      client.release();
      return rows;
    } catch (error) {
      // The server has run nothing: sends the statement again without a name, then closes the connection.
      if (isLostStatement(error))
        return this.send(client, { text: statement.text }, values).finally(() => client.release(true));
      client.release(isAnswer(error) ? undefined : (error as Error));
      throw error;
    }
  }

  private async send(
    client: PoolClient,
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const sent = {
      name: this.preparesStatements ? name : undefined,
      text,
      values: [...values],
      types: EXACT,
    };
    return (await client.query<Row>({ ...sent, rowMode: 'array' })).rows;
  }
}

/** Whether the server has refused a statement, and the connection is good for the next one. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !USELESS.test(error.code ?? '') && !isLostStatement(error);
}
