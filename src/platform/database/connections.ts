import { Logger } from '@nestjs/common';
import {
  type Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  Query,
  type QueryResult,
} from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BatchCounts } from './batcher.js';
import type { DeadlineClient } from './deadline-client.js';
import { EXACT, readerOf } from './exact-json.js';
import type { FairPool } from './fair-pool.js';
import { Hosts } from './host-client.js';
import { Replicas } from './replicas.js';
import { codeOf, isLostStatement } from './unavailable.js';

/** A statement. With a name, its SQL is fixed: a connection parses it once, and from then on only runs it. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** The values of a row, in the order of the columns. */
type Row = unknown[];

/** Reads a value from PostgreSQL's text. */
type Read = (text: string) => unknown;

type Done = (failure: Error | null, rows: Row[]) => void;

/** What `pg` calls of a query, beside its documented methods. */
interface Internals {
  readonly callback: Done;
  name: string;
  prepare(connection: Connection): void;
}

const InternalQuery = Query as unknown as new (
  text: string,
  values: readonly unknown[],
  done: Done,
) => Internals;

/** A connection, and how the columns are read of the statements that it has run. */
class Described {
  private static readonly all = new WeakMap<Connection, Described>();
  readonly reads = new Map<string, readonly Read[]>();
  /** The connection, but it does not ask for the description of a result. */
  readonly silent: Connection;

  private constructor(connection: Connection) {
    this.silent = Object.create(connection, { describe: { value: () => {} } }) as Connection;
  }

  static of(connection: Connection): Described {
    let described = this.all.get(connection);
    if (!described) this.all.set(connection, (described = new Described(connection)));
    return described;
  }
}

/**
 * One run of a prepared statement. `pg` has PostgreSQL describe the columns of the result at every run; here it does so at
 * the first one on each connection. They stay as they are: PostgreSQL refuses to run a prepared statement whose result
 * would now have other types.
 */
class PreparedQuery extends InternalQuery {
  private readonly answer: Row[] = [];
  private described!: Described;
  private reads?: readonly Read[];
  private failure: Error | null = null;

  /** @param ownName under which the connection keeps it */
  constructor(
    private readonly ownName: string,
    text: string,
    values: readonly unknown[],
    done: Done,
  ) {
    // Of an object, it would copy the properties one by one.
    super(text, values, done);
    this.name = ownName;
  }

  override prepare(connection: Connection): void {
    this.described = Described.of(connection);
    this.reads = this.described.reads.get(this.ownName);
    super.prepare(this.reads ? this.described.silent : connection);
  }

  handleRowDescription({ fields }: { fields: { dataTypeID: number }[] }): void {
    this.reads = fields.map(({ dataTypeID }) => readerOf(dataTypeID));
    this.described.reads.set(this.ownName, this.reads);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    try {
      this.answer.push(fields.map((text, i) => (text === null ? null : this.reads![i]!(text))));
    } catch (error) {
      this.failure = error as Error;
    }
  }

  handleCommandComplete(): void {
    // The rows are all that is wanted.
  }

  handleReadyForQuery(): void {
    this.callback(this.failure, this.answer);
  }
}

/** Milliseconds without names after a loss; twice as many after each that follows soon, up to the longest. */
const PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * The prepared statements of some connections. What one connection has lost is likely lost on all: a table was changed,
 * or a pooler discards what sessions hold. After a loss, statements go without names for a while, and then under new
 * ones, so that no other connection runs into its own old plan, however late it is used again.
 */
class PreparedStatements {
  private readonly logger = new Logger('Database');
  private generation = 0;
  private pauseMs = 0;
  private namelessUntil = -Infinity;

  /** @param areKept whether a connection keeps its prepared statements at all */
  constructor(private readonly areKept: boolean) {}

  /** Runs a statement. Resolves to its rows. @throws what PostgreSQL refuses it for */
  run(client: PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const { generation } = this;
    const name = this.nameOf(statement);
    if (name === undefined) return this.runNameless(client, statement, values);
    return new Promise((resolve, reject) => {
      const done: Done = (failure, rows) => {
        if (!failure) return resolve(rows);
        this.check(failure, generation);
        reject(failure);
      };
      client.query(new PreparedQuery(name, statement.text, values, done) as never);
    });
  }

  /** The same for one that no connection can have lost. */
  async runNameless(client: PoolClient, { text }: Statement, values: readonly unknown[]): Promise<Row[]> {
    const query = { text, values: values as unknown[], rowMode: 'array' as const, types: EXACT };
    return (await client.query<Row>(query)).rows;
  }

  /** The same by `pg`'s own query, whose rows are objects. */
  async query(client: PoolClient, statement: Statement, values?: unknown[]): Promise<QueryResult> {
    const { generation } = this;
    try {
      return await client.query({ name: this.nameOf(statement), text: statement.text, values });
    } catch (error) {
      this.check(error, generation);
      throw error;
    }
  }

  /** The present name; undefined if it is to go without one. */
  private nameOf({ name }: Statement): string | undefined {
    if (name === undefined || !this.areKept || performance.now() < this.namelessUntil) return undefined;
    return this.generation === 0 ? name : `${name} ${this.generation}`;
  }

  private check(failure: unknown, generation: number): void {
    if (generation === this.generation && isLostStatement(failure)) this.renew(failure);
  }

  private renew(failure: unknown): void {
    const now = performance.now();
    const isSoon = now - this.namelessUntil < LONGEST_PAUSE_MS;
    this.pauseMs = isSoon ? Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS) : PAUSE_MS;
    this.namelessUntil = now + this.pauseMs;
    this.generation++;
    this.logger.warn(
      `Prepared statements are lost (SQLSTATE ${codeOf(failure)}: a table was changed, or a pooler keeps no statements): none for ${this.pauseMs / 1_000} s`,
    );
  }
}

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

  /**
   * The rows of a statement, run on the primary behind another one in a transaction of both, which one packet begins and ends:
   * what the first one takes, such as a lock of its own, is there before the other one waits for anything. Should the transaction
   * not begin, both are run outside of it: the other one has to find out, and change nothing.
   */
  async runBehind(
    first: Statement,
    firstValues: readonly unknown[],
    statement: Statement,
    values: readonly unknown[],
  ): Promise<unknown[][]> {
    const client = (await this.primary.connect()) as DeadlineClient & PoolClient;
    try {
      const begun = client.begin(true);
      const taken = this.prepared.run(client, first, firstValues);
      const done = this.prepared.run(client, statement, values);
      const committed = client.query('COMMIT');
      // Until all of them have their answers, the connection is nobody else's.
      await Promise.allSettled([begun, taken, done, committed]);
      // In this order: behind a failure, PostgreSQL refuses the others for that.
      await begun;
      await taken;
      const rows = await done;
      await committed;
      client.release();
      return rows;
    } catch (error) {
      client.release(isAnswer(error) ? undefined : (error as Error));
      throw error;
    }
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
