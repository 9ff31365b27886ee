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
import type { Row, Shape, ShapeColumn, Statements } from './shape.js';
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

/** Statements that are sent in one message. */
interface Message<Item> {
  /** What is run first, and gives no answer. */
  first: Run[];
  /** What is run for one item each, or for several, with a row for each in their order. */
  runs: (readonly [run: Run, ...items: Item[]])[];
  /** Is told that PostgreSQL has refused it, and so has done nothing. */
  refused?: () => void;
}

/**
 * Sends statements of one moment in one message, which is one transaction. What PostgreSQL refuses one of them for undoes
 * all; then each is sent alone, and answered for itself. At 64 connections, keyed writes are 1.2 to 1.8 times as many as
 * with a transaction each (`npm run bench`).
 * @param messageOf with a time, none of its statements waits longer for a lock
 */
export function runsTogether<Item>(
  connections: Connections,
  messageOf: (items: readonly Item[], lockMs?: number) => Message<Item>,
): Batcher<Item, Row> {
  const send = async (items: readonly Item[], lockMs?: number): Promise<Row[]> => {
    const { first, runs, refused } = messageOf(items, lockMs);
    const all = [...first, ...runs.map(([run]) => run)];
    const found = await connections.runAll(all, TIMEOUTS.request).catch((error: unknown) => {
      if (isUndone(error)) refused?.();
      throw error;
    });
    const answers = runs.flatMap(([, ...of], i) =>
      of.map((item, k) => [item, found[first.length + i]![k]!] as const),
    );
    const answerOf = new Map(answers);
    return items.map((item) => answerOf.get(item)!);
  };
  const making = {
    make: async (items: Item[]) => made(await send(items, items.length > 1 ? BRIEF_MS : undefined)),
    canRepeat: isUndone,
    tryAlone: async (item: Item, lockMs: number) => (await send([item], lockMs))[0]!,
  };
  return new Batcher<Item, Row>(making, connections.writes);
}

const BRIEFLY = { name: 'lock_briefly', text: `SELECT set_config('lock_timeout', $1, true)` };

/** For so many milliseconds after PostgreSQL has refused one statement of several pieces of work, each has its own. */
const APART_MS = 1_000;

/**
 * Sends the statements of pieces of work, without keys, of one moment together. Those that do the same are one, over lists of
 * their parameters: at 64 connections, PostgreSQL then needs a third of the time for a message with its job (`npm run bench`).
 */
export function statementsTogether(connections: Connections): Batcher<OneStatement, Row> {
  const apartUntil = new Map<string, number>();
  return runsTogether<OneStatement>(connections, (statements, lockMs) => {
    const kinds = Map.groupBy(statements, ({ name }) => name);
    const now = performance.now();
    const runs = [...kinds].flatMap(([name, [one, ...others]]) => {
      const canBeMany = others.length > 0 && one!.isForMany && now >= (apartUntil.get(name) ?? -Infinity);
      if (canBeMany) return [[one!.runWith(others), one!, ...others] as const];
      return [one!, ...others].map((each) => [each.run, each] as const);
    });
    const refused = () => {
      const many = runs.filter(([, , other]) => other !== undefined);
      for (const [, { name }] of many) apartUntil.set(name, performance.now() + APART_MS);
    };
    return { first: lockMs === undefined ? [] : [[BRIEFLY, [String(lockMs)]]], runs, refused };
  });
}

/** The column that has the place of a piece of work among several; no entity has one of this name. */
const PLACE = '"#"';

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

  /** The queries of a `WITH`, of which `made` is the row. @param gate the query on which all depends */
  queries(gate: string): string {
    let [from, first] = [gate, 1];
    const queries = this.parts.map((part, i) => {
      const name = part === this.row ? 'made' : `part${i}`;
      const own = first;
      const query = `${name} AS (${part.text({ from, value: (k) => `$${own + k}` })})`;
      // All that comes behind the row depends on that alone.
      if (from !== 'made') from = name;
      first += part.parameters.length;
      return query;
    });
    return queries.join(', ');
  }

  /** The statement alone. Of its rows, the second column is true if it has done anything; the row follows. */
  get run(): Run {
    const text = () =>
      `WITH gate AS (SELECT), ${this.queries('gate')} SELECT ${this.check}, (SELECT true FROM made), made.* FROM (SELECT) AS asked LEFT JOIN made ON true`;
    return [this.prepare(`alone ${this.name}`, text), this.parameters];
  }

  /** Whether it can be one with others of its name. */
  get isForMany(): boolean {
    return this.parts.every(({ types }) => types !== undefined);
  }

  /** One statement for this one and others of its name, with a row for each; it fails, and does nothing, if it cannot do all of them. */
  runWith(others: readonly OneStatement[]): Run {
    const all = [this, ...others].map(({ parameters }) => parameters);
    const lists = this.parameters.map((_one, i) => all.map((parameters) => parameters[i]));
    return [this.prepare(`many ${this.name}`, () => this.textOfMany()), lists];
  }

  /**
   * New rows are inserted in the order of the lists, and returned in the order in which they were inserted, on which TypeORM
   * relies for its own inserts of many too: so their numbers are those of the work.
   */
  private textOfMany(): string {
    const types = this.parts.flatMap((part) => part.types!);
    const lists = types.map((type, i) => unseenList(i + 1, { type })).join(', ');
    const items = types.map((_type, i) => `v${i + 1}`).join(', ');
    let first = 1;
    const counts: string[] = [];
    const queries = this.parts.flatMap((part, i) => {
      const own = first;
      first += part.parameters.length;
      const isRow = part === this.row;
      const name = isRow ? 'made' : `part${i}`;
      counts.push(`(SELECT count(*) FROM ${name}) = ${part.rows} * (SELECT count(*) FROM gate)`);
      const isLast = i > this.first.length;
      const from = isLast ? `gate JOIN made USING (${PLACE})` : 'gate';
      const order = isRow && this.row!.isNew ? ` ORDER BY ${PLACE}` : '';
      const frame = { from: from + order, place: `gate.${PLACE}`, value: (k: number) => `gate.v${own + k}` };
      const text = part.text(frame);
      if (!order) return [`${name} AS (${text})`];
      return [`stored AS (${text})`, `made AS (SELECT *, row_number() OVER () AS ${PLACE} FROM stored)`];
    });
    return `WITH gate AS MATERIALIZED (SELECT * FROM unnest(${lists}) WITH ORDINALITY AS list(${items}, ${PLACE})), ${queries.join(', ')}
      SELECT 1 / (${counts.join(' AND ')})::integer, true, made.* FROM gate LEFT JOIN made USING (${PLACE}) ORDER BY gate.${PLACE}`;
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
}
