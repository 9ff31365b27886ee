import { DatabaseError, Pool, type PoolClient, type PoolConfig, types } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { LendingPg, LentPool } from './lent-pool.js';
import { Replicas } from './replicas.js';
import { answered503, isLostStatement } from './unavailable.js';

declare global {
  interface JSON {
    /** A number that `JSON.stringify` writes with these digits. */
    rawJSON(digits: string): { readonly rawJSON: string };
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

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
    try {
      return (await client.query<Row>({ ...sent, rowMode: 'array' })).rows;
    } catch (error) {
      throw answered503(error);
    }
  }
}

/** Whether the server has refused a statement, and the connection is good for the next one. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !USELESS.test(error.code ?? '') && !isLostStatement(error);
}

type Parse = (text: string) => unknown;

const JSON_TYPES = new Set<number>([types.builtins.JSON, types.builtins.JSONB]);
/** A number holds every integer of fewer digits exactly. */
const MAY_LOSE_DIGITS = /\d{16}/;
const INTEGER = /^-?\d{16,19}$/;

/** The parser for a type of PostgreSQL: that of `pg`, except that 64-bit integers in JSON are not rounded. */
function parserOf(type: number): Parse {
  return JSON_TYPES.has(type) ? parseExactly : (types.getTypeParser(type) as Parse);
}

/** The parsers as an option of a query of `pg`. */
export const EXACT = { getTypeParser: parserOf as typeof types.getTypeParser };

/** Parses JSON with exact 64-bit integers: those beyond 2^53 − 1 become values of `JSON.rawJSON`. */
function parseExactly(text: string): unknown {
  return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

function exactly(
  this: unknown,
  _name: string,
  value: unknown,
  { source = '' }: { source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !INTEGER.test(source)) return value;
  const digits = BigInt(source);
  return BigInt.asIntN(64, digits) === digits ? JSON.rawJSON(source) : value;
}
