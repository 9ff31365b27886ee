import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import type { Position, Slice } from '../api/index.js';
import { SharedRead } from '../database/index.js';
import { LEAST, type Listing, sortText, textOf } from './listing.js';
import { namesOf, type Row, type Shape, type ShapeColumn, type Statements } from './shape.js';
import { hiddenList, select } from './sql.js';
import type { PageStart } from './values.js';

/** Recent pages of each table whose reads are shared. */
const MAX_SHARED = 1_000;

/** Pages of a table's rows, each by one keyset statement. Reads of the same page at the same moment share it. */
export class Pages {
  private readonly shared = new LRUCache<string, SharedRead<Slice>>({ max: MAX_SHARED });

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {}

  async read(manager: EntityManager, list: Listing, place: PageStart): Promise<Slice> {
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

  /** A page of the rows read, which are one more than the page. */
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

interface PageShape {
  readonly key: ShapeColumn;
  readonly sort?: ShapeColumn;
  readonly isDescending: boolean;
  /** Columns with one value in all rows, which is not null. */
  readonly equal: readonly ShapeColumn[];
  readonly nulls: readonly ShapeColumn[];
  /** A column, or the key, with one of a list of values. */
  readonly among?: ShapeColumn;
  /** Whether the sort column, or the key, has a lower bound, inclusive. */
  readonly hasFrom: boolean;
  /** Whether it has an upper bound, exclusive. */
  readonly hasTo: boolean;
  readonly isFirst: boolean;
  /** The LIMIT: more rows than the page by at least one. */
  readonly size: number;
}

/** LIMIT is a literal, so sizes are rounded up: ten statements instead of a hundred. */
const STEP = 10;

function describePage(shape: Shape, list: Listing, place: PageStart): { page: PageShape; values: unknown[] } {
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

/** The range of a page. A page that starts after a row needs no other bound on that side. */
function endsOf({ range, isDescending }: Listing, { after }: PageStart): [from: unknown, to: unknown] {
  return [after && !isDescending ? undefined : range?.from, after && isDescending ? undefined : range?.to];
}

function shapeOf(
  shape: Shape,
  { equal, among, sort, isDescending }: Listing,
  { limit, after }: PageStart,
  [from, to]: [from: unknown, to: unknown],
): PageShape {
  const [valued, nulls]: [ShapeColumn[], ShapeColumn[]] = [[], []];
  for (const [name, value] of equal) (value === null ? nulls : valued).push(shape.column(name));
  return {
    key: shape.keys[0]!,
    sort: sort === undefined ? undefined : shape.column(sort),
    isDescending,
    equal: valued,
    nulls,
    among: among && shape.column(among[0]),
    hasFrom: from !== undefined,
    hasTo: to !== undefined,
    isFirst: after === undefined,
    size: Math.ceil(limit / STEP) * STEP + 1,
  };
}

/** The columns of the values of a page, in their order; a list of values is the last. */
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

/** The columns of the order, without those that are the same in all rows. */
function orderOf({ sort, key }: PageShape): ShapeColumn[] {
  return sort ? [sort, key] : [key];
}

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

/** The alias of a joined list of values; no table has this name. */
const ONE_OF = '"one of"';

/** Writes a parameter, by its number and column: visible to the planner, or hidden from it. */
interface Values {
  visible: (place: number, column: ShapeColumn) => string;
  hidden: (place: number, column: ShapeColumn) => string;
}

/** The SQL of a page; a list of values is the last parameter. */
function selectPage(shape: Shape, page: PageShape): string {
  const values: Values = {
    visible: (place) => `$${place}`,
    hidden: (place, { type }) => `(SELECT CAST($${place} AS ${type}))`,
  };
  const { among, key, size } = page;
  if (!among || among === key) return pageSql(shape, page, values);
  // The first rows of each value; the page is the first of all these.
  const place = columnsOf(page).length;
  const hidden = (at: number, column: ShapeColumn) =>
    at === place ? `${ONE_OF}.v` : values.hidden(at, column);
  const perValue = pageSql(shape, page, { ...values, hidden });
  const sorted = inOrder(orderOf(page), page, 'found.');
  return `SELECT found.* FROM unnest(${hiddenList(place, among)}) AS ${ONE_OF}(v) CROSS JOIN LATERAL (${perValue}) AS found ORDER BY ${sorted} LIMIT ${size}`;
}

function pageSql(shape: Shape, page: PageShape, values: Values): string {
  const { equal, nulls, among, key, size } = page;
  // A list of keys selects few rows, so any index will do.
  const isOfKeys = among === key;
  const last = isOfKeys ? undefined : (among ?? equal.at(-1));
  const rest = last && !among ? equal.slice(0, -1) : equal;
  const write = isOfKeys ? values.visible : values.hidden;
  const conditions = rest.map((column, i) => `${column.sql} = ${write(i + 1, column)}`);
  conditions.push(...nulls.map((column) => `${column.sql} IS NULL`));
  if (isOfKeys) conditions.push(`${key.sql} = ANY(${hiddenList(columnsOf(page).length, key)})`);
  conditions.push(...bounds(page, last, values));
  // With the null columns in front, only the index on them and the rest has this order.
  const order = [...(isOfKeys ? [] : nulls), ...(last ? [last] : []), ...orderOf(page)];
  const sorted = inOrder(order, page);
  return `${select(shape, conditions)} ORDER BY ${sorted} LIMIT ${size}`;
}

/**
 * The bounds of the rows. The last column with a value, the sort column and the key are bounded together, and the rows
 * ordered by all of them, so that only the index on these answers without a sort. With `column = value` the planner may
 * scan the whole primary key in search of a rare value. For a comparison of several columns with hidden values, the planner
 * assumes that a third of the rows remain, too many to sort for one page, whatever its statistics say.
 */
function bounds(page: PageShape, last: ShapeColumn | undefined, { visible, hidden }: Values): string[] {
  const { equal, among, hasFrom, hasTo, isFirst, isDescending } = page;
  const order = orderOf(page);
  const columns = [...(last ? [last] : []), ...order];
  const write = columns.length > 1 ? hidden : visible;
  const head = last ? [write(last === among ? columnsOf(page).length : equal.length, last)] : [];
  const compare = (operator: string, values: string[]) =>
    `${rowOf(columns.slice(0, values.length).map(({ sql }) => sql))} ${operator} ${rowOf(values)}`;
  const least = order.map(({ type }) => `CAST('${LEAST[type]}' AS ${type})`);
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

function rowOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `(${values.join(', ')})`;
}
