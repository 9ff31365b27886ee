import type { ObjectLiteral } from 'typeorm';
import {
  Batcher,
  codeOf,
  type Connections,
  isLostStatement,
  isUndone,
  made,
  type Run,
  type Statement,
  TIMEOUTS,
} from '../database/index.js';
import { type Row, type Shape, type ShapeColumn, type Statements, valuesOf } from './shape.js';
import { type Frame, unseenList } from './sql.js';

/** That something cannot be written by one statement. Nothing was done. */
export class Unfit extends Error {}

/** That it asks for what no statement can do together with its writes. */
export class AsksMore extends Unfit {}

/** A value that the table assigns to a row while it is written. It can be handed on to another row, and nothing else. */
export class Assigned {
  /** @param sql the name of the column */
  constructor(readonly sql: string) {}

  [Symbol.toPrimitive](): never {
    throw new Unfit('The value is known when the row has been written');
  }

  toString(): never {
    return this[Symbol.toPrimitive]();
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

/** A row that is being written: what is not known before the table has assigned it can be handed on. */
export type Draft<Entity> = { readonly [Key in keyof Entity]: Entity[Key] | Assigned };

/** What one statement does beside the row that it is about: SQL, and what its parameters are. */
export interface Part {
  /** Tells its SQL from all others. */
  readonly name: string;
  readonly parameters: Row;
  /** PostgreSQL's names of their types; undefined where there are no lists of them, so that it is done for one at a time. */
  readonly types?: readonly string[];
  /** How many rows it writes. */
  readonly rows: number;
  /** SQL that does it, and returns a row for each that it has written; one that was set, behind the place if there are any. */
  text(frame: Frame): string;
}

/** The row that a statement is about. */
export interface RowPart extends Part {
  readonly shape: Shape;
  readonly statements: Statements;
  /** What is known of the row before it is written, by property. */
  readonly values: ObjectLiteral;
  /** The columns that the table assigns. */
  readonly assigned: readonly ShapeColumn[];
  /** Whether the row is new; else it is set. */
  readonly isNew: boolean;
}

/** SQLSTATE of a statement that was undone, since it has waited for a lock, or taken, longer than it may, or by its `check`. */
const GIVEN_UP = new Set(['55P03', '57014', '22012']);

/** For how many milliseconds statements that are sent together wait for a lock: then each is sent alone. */
const BRIEF_MS = 50;

/** How pieces of work of one moment are sent: each by a statement of its own, or those of one name by one. */
interface Sending<Item> {
  /** What is run first, and gives no answer. With a time, no statement waits longer for a lock. */
  first: (items: readonly Item[], lockMs?: number) => Run[];
  /** Undefined for one that can be no statement with others. */
  nameOf: (item: Item) => string | undefined;
  /** The statement of one, or of several of a name: it gives a row for each. Their places are those among all that are sent. */
  runOf: (items: readonly Item[], places: readonly number[]) => Run;
}

/** For so many milliseconds after PostgreSQL has refused one statement of several pieces of work, each has its own. */
const APART_MS = 1_000;

/**
 * Sends the pieces of work of one moment in one message, which is one transaction. What PostgreSQL refuses one of them for undoes
 * all; then each is sent alone, and answered for itself. At 64 connections, keyed writes are 1.2 to 1.8 times as many as
 * with a transaction each; and 1.3 to 2.1 times as many again, where those of one name are one statement over lists of their
 * parameters (`npm run bench`).
 */
export function sentTogether<Item>(
  connections: Connections,
  { first, nameOf, runOf }: Sending<Item>,
): Batcher<Item, Row> {
  const apartUntil = new Map<string, number>();
  const send = async (items: readonly Item[], lockMs?: number): Promise<Row[]> => {
    const now = performance.now();
    const kinds = Map.groupBy(items.keys(), (place) => nameOf(items[place]!));
    const groups = [...kinds].flatMap(([name, places]) => {
      const isOne = name !== undefined && now >= (apartUntil.get(name) ?? -Infinity);
      return isOne ? [places] : places.map((place) => [place]);
    });
    const before = first(items, lockMs);
    const itemsAt = (places: readonly number[]) => places.map((place) => items[place]!);
    const runs = groups.map((places) => runOf(itemsAt(places), places));
    const found = await connections.runAll([...before, ...runs], TIMEOUTS.request).catch((error: unknown) => {
      const together = groups.filter(({ length }) => isUndone(error) && length > 1);
      for (const [place] of together) apartUntil.set(nameOf(items[place!]!)!, performance.now() + APART_MS);
      throw error;
    });
    const answers: Row[] = [];
    for (const [i, places] of groups.entries())
      for (const [k, place] of places.entries()) answers[place] = found[before.length + i]![k]!;
    return answers;
  };
  const making = {
    make: async (items: Item[]) => made(await send(items, items.length > 1 ? BRIEF_MS : undefined)),
    canRepeat: isUndone,
    tryAlone: async (item: Item, lockMs: number) => (await send([item], lockMs))[0]!,
  };
  return new Batcher<Item, Row>(making, connections.writes);
}

const BRIEFLY = { name: 'lock_briefly', text: `SELECT set_config('lock_timeout', $1, true)` };

/** Sends pieces of work without keys. */
export function statementsTogether(connections: Connections): Batcher<OneStatement, Row> {
  return sentTogether<OneStatement>(connections, {
    first: (_statements, lockMs) => (lockMs === undefined ? [] : [[BRIEFLY, [String(lockMs)]]]),
    nameOf: (statement) => (statement.isForMany ? statement.name : undefined),
    runOf: ([one, ...others]) => (others.length > 0 ? one!.runWith(others) : one!.run),
  });
}

/** The column that numbers pieces of work. No entity has one of this name, or of those of their parameters. */
export const PLACE = '"#"';

/** The name of the column that has a parameter of each of several pieces of work. */
export function parameterColumn(number: number): string {
  return `"$${number}"`;
}

/** Types whose values are written in JSON as in SQL. */
const WHOLE = new Set(['bigint', 'integer', 'smallint']);
const TIMES = new Set(['timestamptz', 'timestamp with time zone']);

/**
 * All that a piece of work writes, by one statement: rows that it sets first, each of which must be there; then one row,
 * whose values it gets; and rows that nobody reads. It is gathered while the work runs, up to the row, and then sent.
 */
export class OneStatement {
  private readonly first: Part[] = [];
  private readonly last: Part[] = [];
  private row?: RowPart;
  private isWriting = false;
  /** Whether it was done. */
  isDone = false;
  /** Whether it was sent, and has done nothing, or waited too long: whatever the work makes of that, it may be done again. */
  isUndone = false;

  /** @param carryOut sends it, and resolves to the row. @throws Unfit if it has done nothing */
  constructor(private readonly carryOut: (statement: OneStatement) => Promise<Row>) {}

  /** Whether it has been sent. */
  get isSent(): boolean {
    return this.row !== undefined;
  }

  /** Sets a row before the one that it is about is written. If there is none, nothing of the statement is done. */
  require(part: Part): void {
    this.first.push(part);
  }

  /** Adds rows that nobody reads. */
  add(part: Part): void {
    this.last.push(part);
  }

  /**
   * Writes the row that it is about, and all that it has gathered, with what `also` adds for the row.
   * @throws AsksMore for a second row
   */
  async write(row: RowPart, also?: (draft: ObjectLiteral) => unknown): Promise<Row> {
    if (this.isWriting) throw new AsksMore('It writes a second row');
    this.isWriting = true;
    const assigned = row.assigned.map(({ property, sql }) => [property, new Assigned(sql)]);
    await also?.({ ...row.values, ...Object.fromEntries(assigned) });
    this.row = row;
    try {
      const written = await this.carryOut(this);
      this.isDone = true;
      return written;
    } catch (error) {
      // What waits for a lock of others has all the time of its request in a transaction.
      this.isUndone = error instanceof Unfit || isLostStatement(error) || GIVEN_UP.has(codeOf(error) ?? '');
      throw error;
    }
  }

  /** What is known of the row. */
  get values(): ObjectLiteral {
    return this.row!.values;
  }

  /** Tells its SQL from that of all others. */
  get name(): string {
    return this.parts.map(({ name }) => name).join('; ');
  }

  /** The values of the parameters: `$1` and so on. */
  get parameters(): Row {
    return this.parts.flatMap(({ parameters }) => parameters);
  }

  /** The queries of a `WITH`, of which `made` is the row. They do it if the query `gate` has found a row. */
  get queries(): string {
    let from = 'gate';
    const queries = this.numbered.map(({ part, name, first }) => {
      const query = `${name} AS (${part.text({ from, value: (i) => `$${first + i}` })})`;
      // All that comes behind the row depends on that alone.
      if (from !== 'made') from = name;
      return query;
    });
    return queries.join(', ');
  }

  /** The statement alone. Of its rows, the second column is true if it has done anything; the row follows. */
  get run(): Run {
    const text = () =>
      `WITH gate AS (SELECT), ${this.queries} SELECT ${this.check}, (SELECT true FROM made), made.* FROM (SELECT) AS asked LEFT JOIN made ON true`;
    return [this.prepare(`alone ${this.name}`, text), this.parameters];
  }

  /** Whether it can be one with others of its name. */
  get isForMany(): boolean {
    return this.parts.every(({ types }) => types !== undefined);
  }

  /** One statement for this one and others of its name, with a row for each; it fails, and does nothing, if it cannot do all of them. */
  runWith(others: readonly OneStatement[]): Run {
    const text = () => {
      const gate = `SELECT * FROM unnest(${this.lists()}) WITH ORDINALITY AS list(${this.items()}, ${PLACE})`;
      return `WITH gate AS MATERIALIZED (${gate}), ${this.queriesOfMany} SELECT ${this.checkOfMany}, true, made.* FROM gate LEFT JOIN made USING (${PLACE}) ORDER BY gate.${PLACE}`;
    };
    const all = [this, ...others].map(({ parameters }) => parameters);
    return [this.prepare(`many ${this.name}`, text), valuesOf(this.parameters, all)];
  }

  /** The parameters of a statement of several: a list of what each has. @param more the types of further ones */
  lists(more: readonly string[] = []): string {
    return [...this.types, ...more].map((type, i) => unseenList(i + 1, { type })).join(', ');
  }

  /** The names of the columns that the lists are, behind which further ones are named in the same way. */
  items(more: readonly string[] = []): string {
    return [...this.types, ...more].map((_type, i) => parameterColumn(i + 1)).join(', ');
  }

  /**
   * The queries of a `WITH` that do it for each row of `gate`, which has the `items`, and numbers its rows. New rows are
   * inserted in that order, and returned in the order in which they were inserted, on which TypeORM relies for its own
   * inserts of many too: so their numbers are those of the work.
   */
  get queriesOfMany(): string {
    let from = 'gate';
    const queries = this.numbered.flatMap(({ part, name, first }) => {
      const isNew = part === this.row && this.row.isNew;
      const order = isNew ? ` ORDER BY ${PLACE}` : '';
      const value = (i: number) => parameterColumn(first + i);
      const text = part.text({ from: from + order, place: `gate.${PLACE}`, value });
      if (part === this.row) from = `gate JOIN made USING (${PLACE})`;
      if (!isNew) return [`${name} AS (${text})`];
      return [`added AS (${text})`, `${name} AS (SELECT *, row_number() OVER () AS ${PLACE} FROM added)`];
    });
    return queries.join(', ');
  }

  /** SQL that fails, by a division by zero, where not all of it was done for each row of `gate`, so that PostgreSQL undoes all. */
  get checkOfMany(): string {
    const counts = this.numbered.map(
      ({ part, name }) => `(SELECT count(*) FROM ${name}) = ${part.rows} * (SELECT count(*) FROM gate)`,
    );
    return `1 / (${counts.join(' AND ')})::integer`;
  }

  /**
   * SQL that fails, by a division by zero, where some of the parts were done and others not, so that PostgreSQL undoes all: a row
   * that is to be set is not there, the row is another by now, or a trigger or a rule has left one out.
   */
  get check(): string {
    const from = this.first.length + 1;
    const checks = this.last.map(({ rows }, i) => `(SELECT count(*) FROM part${from + i}) = ${rows}`);
    const isNothing = this.first.length > 0 ? 'NOT EXISTS (SELECT FROM part0)' : 'true';
    return `1 / (CASE WHEN EXISTS (SELECT FROM made) THEN ${['true', ...checks].join(' AND ')} ELSE ${isNothing} END)::integer`;
  }

  /** How a column of the row is written in SQL. @throws Unfit for a property that is none */
  column(property: string): string {
    const { shape } = this.row!;
    if (!shape.has(property)) throw new Unfit(`${property} is no column`);
    return shape.column(property).sql;
  }

  /** Which of some properties the table assigns. @throws Unfit for one that is no column */
  assigned(properties: readonly string[]): string[] {
    const columns = new Set(this.row!.assigned.map(({ sql }) => sql));
    return properties.filter((property) => columns.has(this.column(property)));
  }

  /** SQL of the JSON of a value that the table assigns. @throws Unfit for a type of column whose JSON is not known */
  json(property: string): string {
    const { shape } = this.row!;
    const { sql, type, isArray } = shape.column(property);
    const { isNullable, precision } = shape.entity.findColumnWithPropertyName(property)!;
    if (!isArray && !isNullable) {
      if (WHOLE.has(type)) return `${sql}::text`;
      if (type === 'uuid') return `'"' || ${sql} || '"'`;
      if (TIMES.has(type) && precision === 3)
        return `'"' || to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;
    }
    throw new Unfit(`${property} has a JSON of its own`);
  }

  /** The prepared statement of SQL around the queries. @param name tells it from the table's others */
  prepare(name: string, text: () => string): Statement {
    return this.row!.statements.once(name, text);
  }

  private get parts(): Part[] {
    return [...this.first, this.row!, ...this.last];
  }

  /** The parts, with the names of their queries, and the numbers of the first of their parameters. */
  private get numbered(): { part: Part; name: string; first: number }[] {
    let next = 1;
    return this.parts.map((part, i) => {
      const first = next;
      next += part.parameters.length;
      return { part, name: part === this.row ? 'made' : `part${i}`, first };
    });
  }

  private get types(): string[] {
    return this.parts.flatMap(({ types }) => types!);
  }
}
