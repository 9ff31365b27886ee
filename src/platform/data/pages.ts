import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import type { Position, Slice } from '../api/index.js';
import { SharedRead } from '../database/index.js';
import { LEAST, type Listing, sortText, textOf } from './listing.js';
import { namesOf, type Row, type Shape, type ShapeColumn, type Statements } from './shape.js';
import { select, unseenList } from './sql.js';
import type { Place } from './values.js';

/** Pages that were asked for lately, of each table: those that are not remembered are read, and not shared. */
const REMEMBERED = 1_000;

/** Pages of a table's rows, each by one keyset statement. Those who ask for the same page at the same moment share it. */
export class Pages {
  private readonly shared = new LRUCache<string, SharedRead<Slice>>({ max: REMEMBERED });

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {}

  async read(manager: EntityManager, list: Listing, place: Place): Promise<Slice> {
    const { shape, statements } = this;
    const { page, values } = describePage(shape, list, place);
    const { limit } = place;
    const name = nameOf(page);
    const statement = statements.once(name, () => selectPage(shape, page));
    if (manager.queryRunner) return this.cut(page, await statements.run(manager, statement, values), limit);
    const question = JSON.stringify([name, limit, values.map(textOf)]);
    let shared = this.shared.get(question);
    if (!shared) {
      shared = new SharedRead(async () => this.cut(page, await statements.runList(statement, values), limit));
      this.shared.set(question, shared);
    }
    return shared.ask();
  }

  /** The first rows, of which one more was read than wanted. */
  private cut(page: PageShape, all: readonly Row[], limit: number): Slice {
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? this.positionOf(page, rows.at(-1)!) : undefined };
  }

  private positionOf({ sort, key }: PageShape, row: Row): Position {
    const { selected } = this.shape;
    const id = String(row[selected.indexOf(key)]);
    if (!sort) return { id };
    const value = row[selected.indexOf(sort)];
    return { id, value: sortText(sort.read ? sort.read(value) : value) };
  }
}

/** What the pages read by one prepared statement have in common. */
interface PageShape {
  readonly key: ShapeColumn;
  /** What comes before the key in the order of the rows. */
  readonly sort?: ShapeColumn;
  readonly isDescending: boolean;
  /** Columns that have one value in all rows, which is not null. */
  readonly equal: readonly ShapeColumn[];
  /** Columns that are null in all rows. */
  readonly nulls: readonly ShapeColumn[];
  /** A column, or the key, that has one of a list of values. */
  readonly among?: ShapeColumn;
  /** Whether what the rows are in the order of has a least value, and one that it stays below. */
  readonly hasFrom: boolean;
  readonly hasTo: boolean;
  /** Whether it starts with the first row, not after one. */
  readonly isFirst: boolean;
  /** The most rows. */
  readonly size: number;
}

/** The number of rows is fixed in a statement's SQL, so sizes are rounded up: ten statements, not a hundred. */
const STEP = 10;

/** What is asked for of a list: the shape of the statement, and its values. */
function describePage(shape: Shape, list: Listing, place: Place): { page: PageShape; values: unknown[] } {
  const { after } = place;
  const [from, to] = endsOf(list, place);
  const page = shapeOf(shape, list, place, [from, to]);
  const values: unknown[] = [];
  for (const [, value] of list.equal) if (value !== null) values.push(value);
  if (from !== undefined) values.push(from);
  if (to !== undefined) values.push(to);
  if (after) values.push(...list.valuesOf(after));
  if (list.among) values.push(list.among[1]);
  const columns = columnsOf(page);
  return { page, values: values.map((value, i) => written(columns[i]!, value, columns[i] === page.among)) };
}

/** The ends of the range that the rows of a page are in. One that starts after a row is in it from there on. */
function endsOf({ range, isDescending }: Listing, { after }: Place): [from: unknown, to: unknown] {
  return [after && !isDescending ? undefined : range?.from, after && isDescending ? undefined : range?.to];
}

function shapeOf(
  shape: Shape,
  { equal, among, sort, isDescending }: Listing,
  { limit, after }: Place,
  [from, to]: [from: unknown, to: unknown],
): PageShape {
  const [given, nulls]: [ShapeColumn[], ShapeColumn[]] = [[], []];
  for (const [name, value] of equal) (value === null ? nulls : given).push(shape.column(name));
  return {
    key: shape.keys[0]!,
    sort: sort === undefined ? undefined : shape.column(sort),
    isDescending,
    equal: given,
    nulls,
    among: among && shape.column(among[0]),
    hasFrom: from !== undefined,
    hasTo: to !== undefined,
    isFirst: after === undefined,
    size: Math.ceil(limit / STEP) * STEP + 1,
  };
}

/** The columns of the values of a page, in their order. A list of values is the last. */
function columnsOf(page: PageShape): ShapeColumn[] {
  const { equal, among, hasFrom, hasTo, isFirst } = page;
  const columns = [...equal];
  const order = orderOf(page);
  if (hasFrom) columns.push(order[0]!);
  if (hasTo) columns.push(order[0]!);
  if (!isFirst) columns.push(...order);
  if (among) columns.push(among);
  return columns;
}

/** What the rows are in the order of, where the columns that are the same in all of them are left out. */
function orderOf({ sort, key }: PageShape): ShapeColumn[] {
  return sort ? [sort, key] : [key];
}

/** The name that tells the statement of a shape from others. */
function nameOf(page: PageShape): string {
  const { equal, nulls, among, hasFrom, hasTo, isFirst, isDescending, sort, size } = page;
  const order = `${sort ? sort.property : 'key'}${isDescending ? ' down' : ''}${isFirst ? '' : ' after a row'}`;
  const range = `${hasFrom ? ' from' : ''}${hasTo ? ' to' : ''}`;
  return `page of ${size} by ${namesOf(equal)}, no ${namesOf(nulls)}, of several ${among ? among.property : ''}, ${order}${range}`;
}

function written({ write }: ShapeColumn, value: unknown, isList: boolean): unknown {
  if (!write) return value;
  return isList ? (value as unknown[]).map(write) : write(value);
}

/** The name of a joined list of values, which no table has. */
const ONE_OF = '"one of"';

/** How a value is written, by its place and column: as one that the planner sees, or that it does not. */
interface Values {
  seen: (place: number, column: ShapeColumn) => string;
  unseen: (place: number, column: ShapeColumn) => string;
}

/** One page in its order. A list of values is the last of its values. */
function selectPage(shape: Shape, page: PageShape): string {
  const values: Values = {
    seen: (place) => `$${place}`,
    unseen: (place, { type }) => `(SELECT CAST($${place} AS ${type}))`,
  };
  const { among, key, size } = page;
  if (!among || among === key) return pageSql(shape, page, values);
  // The first rows of each value, of which those of all are the first.
  const place = columnsOf(page).length;
  const unseen = (at: number, column: ShapeColumn) =>
    at === place ? `${ONE_OF}.v` : values.unseen(at, column);
  const one = pageSql(shape, page, { ...values, unseen });
  const sorted = inOrder(orderOf(page), page, 'found.');
  return `SELECT found.* FROM unnest(${unseenList(place, among)}) AS ${ONE_OF}(v) CROSS JOIN LATERAL (${one}) AS found ORDER BY ${sorted} LIMIT ${size}`;
}

function pageSql(shape: Shape, page: PageShape, values: Values): string {
  const { equal, nulls, among, key, size } = page;
  // Rows with certain keys are few, whatever index finds them.
  const isOfKeys = among === key;
  const last = isOfKeys ? undefined : (among ?? equal.at(-1));
  const others = last && !among ? equal.slice(0, -1) : equal;
  const write = isOfKeys ? values.seen : values.unseen;
  const conditions = others.map((column, i) => `${column.sql} = ${write(i + 1, column)}`);
  conditions.push(...nulls.map((column) => `${column.sql} IS NULL`));
  if (isOfKeys) conditions.push(`${key.sql} = ANY(${unseenList(columnsOf(page).length, key)})`);
  conditions.push(...bounds(page, last, values));
  // With the columns that are null in front, the order is that of the index on them and what follows alone.
  const order = [...(isOfKeys ? [] : nulls), ...(last ? [last] : []), ...orderOf(page)];
  const sorted = inOrder(order, page);
  return `${select(shape, conditions)} ORDER BY ${sorted} LIMIT ${size}`;
}

/**
 * Between what the rows are. The last column that has a value, what they are in the order of and the key are bounded
 * together, and the rows ordered by all of them, so that only the index on these answers without a sort. With
 * `column = value` the planner may scan the whole primary key in search of a rare value. For a comparison of several
 * columns with values that it cannot see, it assumes that a third of the rows remain, too many to sort for one page,
 * whatever its statistics say.
 */
function bounds(page: PageShape, last: ShapeColumn | undefined, { seen, unseen }: Values): string[] {
  const { equal, among, hasFrom, hasTo, isFirst, isDescending } = page;
  const order = orderOf(page);
  const columns = [...(last ? [last] : []), ...order];
  const write = columns.length > 1 ? unseen : seen;
  const head = last ? [write(last === among ? columnsOf(page).length : equal.length, last)] : [];
  const compare = (operator: string, values: string[]) =>
    `${rowOf(columns.slice(0, values.length).map(({ sql }) => sql))} ${operator} ${rowOf(values)}`;
  const least = order.map(leastOf);
  let place = equal.length;
  const end = () => [...head, write(++place, order[0]!), ...least.slice(1)];
  const [from, to] = [hasFrom && end(), hasTo && end()];
  const after = !isFirst && [...head, ...order.map((column) => write(++place, column))];
  const found: string[] = [];
  if (after && !isDescending) found.push(compare('>', after));
  else if (from || last) found.push(compare('>=', from || [...head, ...least]));
  if (after && isDescending) found.push(compare('<', after));
  else if (to || last) found.push(to ? compare('<', to) : compare('<=', head));
  return found;
}

function inOrder(columns: readonly ShapeColumn[], { isDescending }: PageShape, prefix = ''): string {
  return columns.map(({ sql }) => `${prefix}${sql}${isDescending ? ' DESC' : ''}`).join(', ');
}

function leastOf({ type }: ShapeColumn): string {
  return `CAST('${LEAST[type]}' AS ${type})`;
}

function rowOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `(${values.join(', ')})`;
}
