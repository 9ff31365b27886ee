import type { Listing } from './listing.js';
import type { Place } from './rows.js';
import { namesOf, type Shape, type ShapeColumn } from './shape.js';

/** What the pages read by one statement have in common. */
export interface PageShape {
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
export function describePage(
  shape: Shape,
  list: Listing,
  place: Place,
): { page: PageShape; values: unknown[] } {
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
export function columnsOf(page: PageShape): ShapeColumn[] {
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
export function orderOf({ sort, key }: PageShape): ShapeColumn[] {
  return sort ? [sort, key] : [key];
}

/** The name that tells the statement of a shape from others. */
export function nameOf(page: PageShape): string {
  const { equal, nulls, among, hasFrom, hasTo, isFirst, isDescending, sort, size } = page;
  const order = `${sort ? sort.property : 'key'}${isDescending ? ' down' : ''}${isFirst ? '' : ' after a row'}`;
  const range = `${hasFrom ? ' from' : ''}${hasTo ? ' to' : ''}`;
  return `page of ${size} by ${namesOf(equal)}, no ${namesOf(nulls)}, of several ${among ? among.property : ''}, ${order}${range}`;
}

function written({ write }: ShapeColumn, value: unknown, isList: boolean): unknown {
  if (!write) return value;
  return isList ? (value as unknown[]).map(write) : write(value);
}
