import { Logger } from '@nestjs/common';
import { type Connection, type PoolClient, Query, type QueryResult, types } from 'pg';
import { codeOf, isLostStatement } from './unavailable.js';

/** A statement with fixed SQL. A connection parses it once, under its name, and from then on only runs it. */
export interface Statement {
  readonly name: string;
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
    this.reads = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID) as Read);
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
export class PreparedStatements {
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
    const query = { text, values: values as unknown[], rowMode: 'array' as const };
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
    if (!this.areKept || performance.now() < this.namelessUntil) return undefined;
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
