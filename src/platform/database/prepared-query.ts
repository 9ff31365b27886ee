import { type Connection, type PoolClient, Query, types } from 'pg';

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

  constructor(
    private readonly statement: Statement,
    values: readonly unknown[],
    done: Done,
  ) {
    // Of an object, it would copy the properties one by one.
    super(statement.text, values, done);
    this.name = statement.name;
  }

  override prepare(connection: Connection): void {
    this.described = Described.of(connection);
    this.reads = this.described.reads.get(this.statement.name);
    super.prepare(this.reads ? this.described.silent : connection);
  }

  handleRowDescription({ fields }: { fields: { dataTypeID: number }[] }): void {
    this.reads = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID) as Read);
    this.described.reads.set(this.statement.name, this.reads);
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

/** Runs a prepared statement. Resolves to its rows. @throws what PostgreSQL refuses it for */
export function runPrepared(
  client: PoolClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const done: Done = (failure, rows) => (failure ? reject(failure) : resolve(rows));
    client.query(new PreparedQuery(statement, values, done) as never);
  });
}
