import { DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { EXACT } from './exact-values.js';
import type { LendingPg, LentPool } from './lent-pool.js';
import { Replicas } from './replicas.js';
import { isLostStatement } from './unavailable.js';

/** A statement. With a name, its SQL is fixed: a connection parses it once, and from then on only runs it. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** The values of a row, in the order of the columns. */
type Row = unknown[];

/** TypeORM's options, and those that it does not have. */
export type ConnectionOptions = PostgresDataSourceOptions & {
  readonly driver: LendingPg;
  /** The pools of the replicas that lists are read from; none when left out. */
  readonly replicaPools?: readonly PoolConfig[];
  /** Whether a connection keeps its prepared statements; it does when left out. */
  readonly preparesStatements?: boolean;
};

/** SQLSTATEs after which a connection is of no more use: the server stops, has waited too long for a transaction, or is read only. */
const ENDED = /^(?:08|57P|25P03|25006)/;

const known = new WeakMap<DataSource, Connections>();

/** The connections of a data source: TypeORM's own pool to the primary, and those to replicas. */
export class Connections {
  readonly primary: LentPool;
  private readonly prepares: boolean;
  private readonly replicas?: Replicas;

  private constructor({ options }: DataSource) {
    const { driver, replicaPools: pools = [], preparesStatements = true } = options as ConnectionOptions;
    this.primary = driver.pool!;
    this.prepares = preparesStatements;
    if (pools.length > 0) this.replicas = new Replicas(this.primary, pools, preparesStatements);
  }

  /** Those of an initialized data source, which are the same for all who ask. */
  static of(database: DataSource): Connections {
    return known.getOrInsertComputed(database, (one) => new Connections(one));
  }

  /** Reads lists, outside of transactions: from a replica, if one is as current as the primary. */
  readList<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    return this.replicas ? this.replicas.read(work) : work(this.primary);
  }

  /**
   * The rows of a statement, each an array of column values.
   * @throws what PostgreSQL refuses it for. A connection that is of no more use is closed, and a transaction on it undone
   */
  async run(connection: Pool | PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (connection instanceof Pool) return this.runOn(await connection.connect(), statement, values);
    try {
      return await this.send(connection, statement, values);
    } catch (error) {
      if (!isAnswer(error)) void connection.end();
      throw error;
    }
  }

  /** Closes those to replicas; TypeORM closes its own. */
  async close(): Promise<void> {
    await this.replicas?.close();
  }

  /** The pool's own `query` would close the connection at any error, also one that is an answer. */
  private async runOn(client: PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      const rows = await this.send(client, statement, values);
      client.release();
      return rows;
    } catch (error) {
      // It was not begun, and no transaction is undone by that: it is sent again without a name, and the connection then closed.
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
    const sent = { name: this.prepares ? name : undefined, text, values: [...values], types: EXACT };
    return (await client.query<Row>({ ...sent, rowMode: 'array' })).rows;
  }
}

/**
 * Whether the server has refused a statement, and the connection is good for the next one. A prepared statement that it has lost,
 * or whose table was changed, would fail again.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !ENDED.test(error.code ?? '') && !isLostStatement(error);
}
