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
import { type BatchCounts, UnsentError } from './batcher.js';
import type { DeadlineClient } from './deadline-client.js';
import { readerOf, withExactTimes } from './exact-values.js';
import type { FairPg, FairPool } from './fair-pool.js';
import { Hosts } from './host-client.js';
import { Replicas } from './replicas.js';
import { codeOf, isLostStatement } from './unavailable.js';

/** A statement. With a name, its SQL is fixed: a connection parses it once, and from then on only runs it. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** A statement and its values. */
export type Run = readonly [statement: Statement, values: readonly unknown[]];

/** The values of a row, in the order of the columns. */
type Row = unknown[];

/** Reads a value from PostgreSQL's text. */
type Read = (text: string) => unknown;

type Done = (failure: Error | null, rows: Row[][]) => void;

/** What `pg` has of a query, beside its documented properties. */
interface Internals {
  readonly callback: Done;
  name?: string;
  text: string;
  values: readonly unknown[];
  queryMode?: 'extended';
  prepare(connection: Connection): void;
}

const InternalQuery = Query as unknown as new (
  text: string,
  values: readonly unknown[],
  done: Done,
) => Internals;

/** A connection, and how the columns are read of the statements that it keeps. */
class Described {
  private static readonly all = new WeakMap<Connection, Described>();
  readonly reads = new Map<string, readonly Read[]>();
  /** The connection, but it ends nothing: what is sent next is of the same transaction. */
  readonly open: Connection;
  /** The same, and it does not ask for the description of a result. */
  readonly silent: Connection;

  private constructor(connection: Connection) {
    const none = { value: () => {} };
    this.open = Object.create(connection, { sync: none, close: none }) as Connection;
    this.silent = Object.create(this.open, { describe: none }) as Connection;
  }

  static of(connection: Connection): Described {
    let described = this.all.get(connection);
    if (!described) this.all.set(connection, (described = new Described(connection)));
    return described;
  }
}

/** So many runs of a message are answered before the others have been run. */
const FLUSH_AFTER = 8;

/** What `pg` notes of the statements that it has sent to be parsed. */
interface Kept {
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
}

interface Fields {
  fields: { dataTypeID: number }[];
}

const readsOf = (fields: Fields['fields']): Read[] => fields.map(({ dataTypeID }) => readerOf(dataTypeID));

/**
 * Runs of some statements in one message, which PostgreSQL does all or none of: until the end of a message (Sync), all is one
 * transaction. `pg` ends the message behind each run, and has PostgreSQL describe the columns of the result each time; here a
 * connection has them described once. They stay as they are: PostgreSQL refuses to run a prepared statement whose result would
 * now have other types.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
class Runs extends InternalQuery {
  private readonly answers: Row[][];
  private described?: Described;
  private kept!: Kept;
  private reads?: readonly Read[];
  private place = 0;
  private failure: Error | null = null;

  constructor(
    private readonly runs: readonly Run[],
    done: Done,
  ) {
    // Of an object, it would copy the properties one by one.
    super('', [], done);
    this.answers = runs.map(() => []);
    this.queryMode = 'extended';
    const [{ name, text }, values] = runs.at(-1)!;
    // What observes queries, such as tracing, sees the last one.
    Object.assign(this, { text, values, name: runs.length === 1 ? name : undefined });
  }

  override prepare(connection: Connection): void {
    this.described = Described.of(connection);
    this.kept = connection as unknown as Kept;
    const { submittedNamedStatements, parsedStatements } = this.kept;
    const { open, silent, reads } = this.described;
    for (const [i, [{ name, text }, values]] of this.runs.entries()) {
      if (name !== undefined && !(name in parsedStatements || name in submittedNamedStatements)) {
        // A failed run may have left it there, or whoever had the session before, behind a pooler.
        connection.close({ type: 'S', name }, false);
        connection.parse({ name, text, types: [] }, false);
        submittedNamedStatements[name] = text;
      }
      Object.assign(this, { name, text, values: withExactTimes(values) });
      super.prepare(name !== undefined && reads.has(name) ? silent : open);
      // PostgreSQL keeps its answers to itself until then: a long message would seem to be silence.
      if (i % FLUSH_AFTER === FLUSH_AFTER - 1) connection.flush();
      if (!this.failure) continue;
      // Its values could not be sent, but others were: no portal has this name, so PostgreSQL undoes those.
      if (i > 0) connection.execute({ portal: 'none' }, false);
      break;
    }
    // Of several, none is what `pg` notes as parsed.
    if (this.runs.length > 1) this.name = undefined;
    connection.sync();
  }

  handleRowDescription({ fields }: Fields): void {
    this.reads = readsOf(fields);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const reads = (this.reads ??= this.described!.reads.get(this.runs[this.place]![0].name!)!);
    try {
      const row = fields.map((text, i) => (text === null ? null : reads[i]!(text)));
      this.answers[this.place]!.push(row);
    } catch (error) {
      this.failure ??= error as Error;
    }
  }

  handleCommandComplete(): void {
    const [{ name, text }] = this.runs[this.place++]!;
    if (name !== undefined) {
      const { kept } = this;
      const described = this.described!;
      kept.parsedStatements[name] = text;
      delete kept.submittedNamedStatements[name];
      described.reads.set(name, this.reads ?? described.reads.get(name) ?? []);
    }
    this.reads = undefined;
  }

  /** Called by `pg` for what PostgreSQL has refused, and for a value that cannot be sent. */
  handleError(error: Error, connection: Connection): void {
    // Without a description, it was never sent.
    const { open, silent } = this.described ?? {};
    if (connection === open || connection === silent)
      this.failure = new UnsentError(error.message, { cause: error });
    else {
      if (this.described)
        for (const [{ name }] of this.runs.slice(this.place))
          delete this.kept.submittedNamedStatements[name!];
      this.callback(this.failure ?? error, this.answers);
    }
  }

  handleReadyForQuery(): void {
    this.callback(this.failure, this.answers);
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

  /**
   * Runs some statements, all or none of them. Resolves to the rows of each.
   * @param named whether they go by their names; without, no connection can have lost one
   * @throws what PostgreSQL refuses one for
   */
  run(client: PoolClient, runs: readonly Run[], named = true): Promise<Row[][]> {
    const { generation } = this;
    const all = runs.map(([statement, values]): Run => {
      const name = named ? this.nameOf(statement) : undefined;
      return [{ name, text: statement.text }, values];
    });
    return new Promise((resolve, reject) => {
      const done: Done = (failure, rows) => {
        if (!failure) return resolve(rows);
        this.check(failure, generation);
        reject(failure);
      };
      client.query(new Runs(all, done) as never);
    });
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
  readonly driver: FairPg;
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

  private constructor({ options }: DataSource) {
    const { driver, url, replicaPools: pools = [], preparesStatements = true } = options as ConnectionOptions;
    this.primary = driver.pool!;
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
  async run(
    connection: Pool | PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<unknown[][]> {
    const run: Run = [statement, values];
    if (connection instanceof Pool) return this.runOnAny(connection, run);
    return (await this.prepared.run(connection, [run]))[0]!;
  }

  /**
   * The rows of each of some statements, which are run on the primary in one transaction.
   * @param withinMs after so long the connection is closed: nobody waits for the answers any more
   * @throws the first failure, for which nothing was done unless the connection was lost
   */
  async runAll(runs: readonly Run[], withinMs: number): Promise<unknown[][][]> {
    const client = (await this.primary.connect()) as DeadlineClient & PoolClient;
    const timer = setTimeout(() => client.terminate('the statements have taken too long'), withinMs);
    const send = async () => {
      try {
        return await this.prepared.run(client, runs);
      } catch (error) {
        // PostgreSQL tells of a failure before it has given up the locks: whoever tries again elsewhere must not meet them.
        if (isAnswer(error)) await client.query('SELECT');
        throw error;
      }
    };
    return lent(client, send).finally(() => clearTimeout(timer));
  }

  /** Closes those to replicas; TypeORM closes its own. */
  async close(): Promise<void> {
    await this.replicas?.close();
  }

  /** What a connection of the pool has lost was not begun, and no transaction is undone by that: it is sent again, without a name. */
  private async runOnAny(pool: Pool, run: Run): Promise<unknown[][]> {
    const client = await pool.connect();
    const send = (named: boolean) => this.prepared.run(client, [run], named);
    const [rows] = await lent(client, () =>
      send(true).catch((error: unknown) => {
        if (isLostStatement(error)) return send(false);
        throw error;
      }),
    );
    return rows!;
  }
}

/** Runs work on a connection of a pool, and gives it back: `Pool.query` would close it at any error, also one that is an answer. */
async function lent<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    client.release();
    return result;
  } catch (error) {
    client.release(isAnswer(error) ? undefined : (error as Error));
    throw error;
  }
}

/** Whether the server has refused a statement, and goes on with the next one. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !ENDED.test(error.code ?? '');
}
