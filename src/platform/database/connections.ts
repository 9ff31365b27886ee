import { DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BatchCounts } from './batcher.js';
import type { FairPool } from './fair-pool.js';
import { Hosts } from './hosts/hosts.js';
import { PreparedStatements, type Statement } from './prepared-query.js';
import { Replicas } from './replicas/replicas.js';
import { isLostStatement } from './unavailable.js';

/** TypeORM's options, and those that it does not have. */
export type ConnectionOptions = PostgresDataSourceOptions & {
  /** The pools of the replicas that lists are read from; none when left out. */
  readonly replicaPools?: readonly PoolConfig[];
  /** Whether a connection keeps its prepared statements; it does when left out. */
  readonly preparesStatements?: boolean;
};

/** SQLSTATEs after which the connection is closed: the server stops, has waited too long for a transaction, or is read only. */
const ENDED = /^(?:08|57P|25P03|25006)/;

const known = new WeakMap<DataSource, Connections>();

/** The connections of a data source: TypeORM's own pool to the primary, and those to replicas. */
export class Connections {
  /** What requests have asked for, and what was sent for it. */
  readonly reads: BatchCounts = { asked: 0, sent: 0 };
  readonly writes: BatchCounts = { asked: 0, sent: 0 };
  readonly primary: FairPool;
  /** Where the primary may be, if the URL names several hosts. */
  readonly hosts?: Hosts;
  /** The statements that they keep. */
  readonly prepared: PreparedStatements;
  private readonly replicas?: Replicas;

  private constructor({ driver, options }: DataSource) {
    const { url, replicaPools: pools = [], preparesStatements = true } = options as ConnectionOptions;
    this.primary = (driver as PostgresDriver).master as FairPool;
    this.hosts = Hosts.of(url);
    this.prepared = new PreparedStatements(preparesStatements);
    if (pools.length > 0) this.replicas = new Replicas(this.primary, pools, preparesStatements);
  }

  /** Those of an initialized data source, which are the same for all who ask. */
  static of(database: DataSource): Connections {
    let connections = known.get(database);
    if (!connections) known.set(database, (connections = new Connections(database)));
    return connections;
  }

  /** Reads lists, outside of transactions: from a replica, if one is as current as the primary. */
  readList<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    return this.replicas ? this.replicas.read(work) : work(this.primary);
  }

  /** The rows of a statement, each an array of column values. */
  run(connection: Pool | PoolClient, statement: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    return connection instanceof Pool
      ? this.runOnAny(connection, statement, values)
      : this.prepared.run(connection, statement, values);
  }

  /** Closes those to replicas; TypeORM closes its own. */
  async close(): Promise<void> {
    await this.replicas?.close();
  }

  /** `Pool.query` would close the connection at any error, also one that is an ordinary answer. */
  private async runOnAny(pool: Pool, statement: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    const client = await pool.connect();
    try {
      const rows = await this.sendAlone(client, statement, values);
      client.release();
      return rows;
    } catch (error) {
      client.release(isAnswer(error) ? undefined : (error as Error));
      throw error;
    }
  }

  /** What the connection has lost was not begun, and no transaction is undone by that: it is sent again, without a name. */
  private async sendAlone(
    client: PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<unknown[][]> {
    try {
      return await this.prepared.run(client, statement, values);
    } catch (error) {
      if (!isLostStatement(error)) throw error;
      return this.prepared.runNameless(client, statement, values);
    }
  }
}

/** Whether the server has refused a statement, and goes on with the next one. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !ENDED.test(error.code ?? '');
}
