import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import type { Position, Slice } from '../api/index.js';
import {
  type Connections,
  type Row,
  SharedRead,
  type Statement,
  withoutDeadline,
} from '../database/index.js';
import { currentWork, NOBODY } from '../process/index.js';
import { invalidCursor, LEAST, type Listing, textOf } from './listing.js';
import { convert, type Shape, type ShapeColumn } from './shape.js';
import { hiddenList, select } from './sql.js';
import type { PageStart } from './values.js';

/** Maximum number of pages, for each table, whose shared reads are kept. */
const MAX_SHARED = 1_000;

/**
 * Reads pages of a table's rows, each by one keyset statement. Simultaneous requests for a page share one
 * read, which is charged to the request whose payers hold the fewest connections.
 */
export class Pages {
  private readonly shared = new LRUCache<string, SharedRead<Slice>>({ max: MAX_SHARED });
  /** Statements by `Listing.form` (filters and order), rounded limit, and whether a position is given. */
  private readonly written = new Map<string, Written>();

  constructor(
    private readonly shape: Shape,
    private readonly connections: Connections,
  ) {}

  async read(manager: EntityManager, list: Listing, place: PageStart): Promise<Slice> {
    const { connections } = this;
    const { limit, after } = place;
    const form = `${list.form} ${stepOf(limit)} ${after !== undefined}`;
    const { statement, parameters } = this.written.getOrInsertComputed(form, () =>
      writePage(this.shape, list, place),
    );
    const values = parameters.map((parameter) => parameter(list, after));
    const read = async () => {
      const rows = connections.runList(manager, statement, values);
      return this.cut(list, await (after ? rows.catch(invalidCursor) : rows), limit);
    };
    const work = currentWork.getStore();
    // A transaction, or an operation with a time limit of its own, reads on its own connection.
    if (manager.queryRunner || work?.hasOwnTime) return read();
    const { quota } = connections.primary;
    const payers = work?.payers ?? NOBODY;
    // Payers at their quota share only reads of their own requests, so that no other request waits with them.
    const own = quota.isFull(payers) ? payers.join() : '';
    const question = `${own} ${form} ${JSON.stringify([limit, ...values.map(textOf)])}`;
    let shared = this.shared.get(question);
    if (!shared) {
      shared = new SharedRead((all) => {
        const fewest = [...all].reduce((one, other) => (quota.held(other) < quota.held(one) ? other : one));
        // These payers are at their quota now: later requests start a read of their own.
        if (!own && quota.isFull(fewest)) this.shared.delete(question);
        return withoutDeadline(read, fewest);
      });
      this.shared.set(question, shared);
    }
    return shared.ask(payers);
  }

  /** Cuts a page from the rows read: a row beyond `limit` means that another page follows. */
  private cut(list: Listing, all: readonly Row[], limit: number): Slice {
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? this.positionOf(list, rows.at(-1)!) : undefined };
  }

  private positionOf({ sort }: Listing, row: Row): Position {
    const { selected, keys } = this.shape;
    const id = String(row[selected.indexOf(keys[0]!)]);
    if (sort === undefined) return { id };
    const column = this.shape.column(sort);
    const value = row[selected.indexOf(column)];
    const exact = column.read ? column.read(value) : value;
    return { id, value: exact instanceof Date ? exact.toISOString() : String(exact) };
  }
}

/** The sort value of a position. Times become a `Date`: PostgreSQL cannot read every year that `toISOString` writes. */
function sortValue({ type }: ShapeColumn, { value = '' }: Position): unknown {
  if (type !== 'timestamp with time zone') return value;
  const time = new Date(value);
  // PostgreSQL refuses any other text, such as the 30th of February.
  return !Number.isNaN(time.getTime()) && time.toISOString() === value ? time : value;
}

/** Computes the value of a parameter for a list of the statement's form. */
type Parameter = (list: Listing, after: Position | undefined) => unknown;

interface Written {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

/** The parameters of a statement that is being written. Each method adds one, and returns its SQL. */
class Parameters {
  readonly all: Parameter[] = [];

  /** A value that the planner sees. */
  readonly visible = (column: ShapeColumn, value: Parameter): string =>
    `$${this.all.push((list, after) => convert(column, value(list, after)))}`;

  /** A value that is hidden from the planner. */
  readonly hidden = (column: ShapeColumn, value: Parameter): string =>
    `(SELECT CAST(${this.visible(column, value)} AS ${column.type}))`;

  /** The values of the list's `among`. */
  hiddenList(column: ShapeColumn): string {
    const values: Parameter = ({ among }) => among![1].map((value) => convert(column, value));
    return hiddenList(`$${this.all.push(values)}`, column);
  }
}

/** A column that has the same value in all rows, with the SQL of that value. */
interface Fixed {
  readonly column: ShapeColumn;
  readonly value: string;
}

/** LIMIT is a literal in the SQL, so page sizes are rounded up: ten statements instead of a hundred. */
const STEP = 10;
const stepOf = (limit: number) => Math.ceil(limit / STEP) * STEP;

/** The alias of a joined list of values; no table has this name. */
const ONE_OF = '"one of"';

/** The statement of a page, which reads at least one row beyond the limit. */
function writePage(shape: Shape, list: Listing, { limit, after }: PageStart): Written {
  const parameters = new Parameters();
  const key = shape.keys[0]!;
  const order = list.sort === undefined ? [key] : [shape.column(list.sort), key];
  const among = list.among && shape.column(list.among[0]);
  // A list of keys selects few rows, so any index will do.
  const isOfKeys = among === key;
  const write = isOfKeys ? parameters.visible : parameters.hidden;
  const nulls: ShapeColumn[] = [];
  const equal: Fixed[] = [];
  for (const [i, [name, value]] of list.equal.entries()) {
    const column = shape.column(name);
    if (value === null) nulls.push(column);
    else equal.push({ column, value: write(column, (other) => other.equal[i]![1]) });
  }
  const last = isOfKeys ? undefined : among ? { column: among, value: `${ONE_OF}.v` } : equal.pop();
  const conditions = equal.map(({ column, value }) => `${column.sql} = ${value}`);
  conditions.push(...nulls.map(({ sql }) => `${sql} IS NULL`));
  if (isOfKeys) conditions.push(`${key.sql} = ANY(${parameters.hiddenList(key)})`);
  conditions.push(...bounds(parameters, last, order, list, after));
  // The null columns come first, so that only an index on them and the other columns gives this order.
  const columns = [...(isOfKeys ? [] : nulls), ...(last ? [last.column] : []), ...order];
  const limited = `LIMIT ${stepOf(limit) + 1}`;
  const text = `${select(shape, conditions)} ORDER BY ${inOrder(columns, list)} ${limited}`;
  const statement = (whole: string) => ({
    statement: shape.prepared(whole, () => whole),
    parameters: parameters.all,
  });
  if (!among || isOfKeys) return statement(text);
  // Reads the first rows for each value of the list; the first of all these rows are the page.
  const all = `unnest(${parameters.hiddenList(among)}) AS ${ONE_OF}(v)`;
  const sorted = inOrder(order, list, 'found.');
  return statement(
    `SELECT found.* FROM ${all} CROSS JOIN LATERAL (${text}) AS found ORDER BY ${sorted} ${limited}`,
  );
}

/**
 * The conditions that bound the rows. The last column with a value, the sort column and the key are compared
 * together, and rows are ordered by all three, so that only an index on them avoids a sort. With an equality
 * instead, the planner may scan the whole primary key in search of a rare value. For a comparison of several
 * columns with hidden values, the planner assumes that a third of the rows match: too many to sort.
 */
function bounds(
  { visible, hidden }: Parameters,
  last: Fixed | undefined,
  order: readonly ShapeColumn[],
  list: Listing,
  after: Position | undefined,
): string[] {
  const { range, isDescending } = list;
  const columns = [...(last ? [last.column] : []), ...order];
  const write = columns.length > 1 ? hidden : visible;
  const head = last ? [last.value] : [];
  const compare = (operator: string, values: string[]) =>
    `${rowOf(columns.slice(0, values.length).map(({ sql }) => sql))} ${operator} ${rowOf(values)}`;
  const least = order.map(({ type }) => `CAST('${LEAST[type]}' AS ${type})`);
  const end = (value: Parameter) => [...head, write(order[0]!, value), ...least.slice(1)];
  const start = after && [
    ...head,
    ...order.map((column) =>
      write(column, (_list, from) => (column === order.at(-1) ? from!.id : sortValue(column, from!))),
    ),
  ];
  const { from, to } = range ?? {};
  // A page that starts after a row needs no other bound on that side.
  const [above, below] = isDescending ? [undefined, start] : [start, undefined];
  const low = above ?? (from === undefined ? last && [...head, ...least] : end((other) => other.range!.from));
  const high = below ?? (to === undefined ? last && head : end((other) => other.range!.to));
  return [
    ...(low ? [compare(above ? '>' : '>=', low)] : []),
    ...(high ? [compare(below || to !== undefined ? '<' : '<=', high)] : []),
  ];
}

function inOrder(columns: readonly ShapeColumn[], { isDescending }: Listing, prefix = ''): string {
  return columns.map(({ sql }) => `${prefix}${sql}${isDescending ? ' DESC' : ''}`).join(', ');
}

function rowOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `(${values.join(', ')})`;
}
