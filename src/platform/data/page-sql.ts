import { LEAST } from './keys.js';
import { columnsOf, orderOf, type PageShape } from './page-shape.js';
import type { Shape, ShapeColumn } from './shape.js';
import { listsOf, select, unseenList } from './sql.js';

/** Names of joined lists of values, which no table has. */
const ASKED = '"asked for"';
const ONE_OF = '"one of"';

/** How a value is written, by its place and column: as one that the planner sees, or that it does not. */
interface Values {
  seen: (place: number, column: ShapeColumn) => string;
  unseen: (place: number, column: ShapeColumn) => string;
}

/** One page in its order. A list of values is the last of its values. */
export function selectPage(shape: Shape, page: PageShape): string {
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

/**
 * Several pages of one shape, from a list of each value. Each row ends with the number of its page; before that, in pages
 * which are not in the order of the key, with its own number in the page.
 */
export function selectPages(shape: Shape, page: PageShape): string {
  const columns = columnsOf(page);
  const { lists, items } = listsOf(columns);
  // A joined value is unseen by itself.
  const value = (place: number) => `${ASKED}.v${place}`;
  const one = pageSql(shape, page, { seen: value, unseen: value }, page.sort !== undefined);
  return `SELECT found.*, ${ASKED}.n FROM unnest(${lists}) WITH ORDINALITY AS ${ASKED}(${items}, n) CROSS JOIN LATERAL (${one}) AS found`;
}

function pageSql(shape: Shape, page: PageShape, values: Values, isNumbered = false): string {
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
  const number = isNumbered ? [`row_number() OVER (ORDER BY ${sorted})`] : [];
  return `${select(shape, conditions, number)} ORDER BY ${sorted} LIMIT ${size}`;
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
    `${row(columns.slice(0, values.length).map(({ sql }) => sql))} ${operator} ${row(values)}`;
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

function row(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `(${values.join(', ')})`;
}
