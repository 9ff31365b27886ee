import { KEY_BOUNDS } from './keys.js';
import type { Shape, ShapeColumn } from './shape.js';
import { select } from './sql.js';

/** Name of the joined list of values, which no table has. */
const ASKED = '"asked for"';

/** What the pages read by one statement have in common. */
export interface PageShape {
  readonly key: ShapeColumn;
  /** Columns that have one value in all rows, which is not null. */
  readonly equal: readonly ShapeColumn[];
  /** Columns that are null in all rows. */
  readonly nulls: readonly ShapeColumn[];
  /** Whether the keys are in a list. */
  readonly isAmong: boolean;
  /** Whether it starts with the first row, not after a key. */
  readonly isFirst: boolean;
  /** The most rows. */
  readonly size: number;
}

/** How a value is written, by its place and column: as one that the planner sees, or that it does not. */
interface Values {
  seen: (place: number, column: ShapeColumn) => string;
  unseen: (place: number, column: ShapeColumn) => string;
}

/** One page in the order of its key. Its values are those of `equal`, then the list of keys, then the key before it. */
export function selectPage(shape: Shape, page: PageShape): string {
  return pageSql(shape, page, {
    seen: (place) => `$${place}`,
    unseen: (place, { type }) => `(SELECT CAST($${place} AS ${type}))`,
  });
}

/** Several pages of one shape, from a list of each value. Each row ends with the number of its page. */
export function selectPages(shape: Shape, page: PageShape): string {
  const columns = [...page.equal, ...(page.isFirst ? [] : [page.key])];
  const lists = columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');
  const items = columns.map((_column, i) => `v${i + 1}`).join(', ');
  // A joined value is unseen by itself.
  const value = (place: number) => `${ASKED}.v${place}`;
  const one = pageSql(shape, page, { seen: value, unseen: value });
  return `SELECT found.*, ${ASKED}.n FROM unnest(${lists}) WITH ORDINALITY AS ${ASKED}(${items}, n) CROSS JOIN LATERAL (${one}) AS found`;
}

function pageSql(shape: Shape, page: PageShape, values: Values): string {
  const { conditions, order } =
    page.equal.length > 0 && page.nulls.length === 0 && !page.isAmong
      ? between(page, values)
      : after(page, values);
  const sorted = order.map(({ sql }) => sql).join(', ');
  return `${select(shape, conditions)} ORDER BY ${sorted} LIMIT ${page.size}`;
}

interface Range {
  conditions: string[];
  order: readonly ShapeColumn[];
}

/**
 * The last column and the key are bounded from both sides and the rows ordered by both, so that only the index on the
 * columns and the key answers without a sort. With `column = value` the planner may scan the whole primary key in search
 * of a rare value. For a row comparison with values that it cannot see, it assumes that a ninth of the rows remain, too
 * many to sort for one page, whatever its statistics say.
 */
function between({ equal, key, isFirst }: PageShape, { seen, unseen }: Values): Range {
  const [least, most] = KEY_BOUNDS[key.type]!.map((bound) => `CAST('${bound}' AS ${key.type})`);
  const last = equal.at(-1)!;
  const value = unseen(equal.length, last);
  const both = `(${last.sql}, ${key.sql})`;
  const start = isFirst ? `>= (${value}, ${least})` : `> (${value}, ${unseen(equal.length + 1, key)})`;
  const conditions = equal.slice(0, -1).map((column, i) => `${column.sql} = ${seen(i + 1, column)}`);
  conditions.push(`${both} ${start}`, `${both} <= (${value}, ${most})`);
  return { conditions, order: [last, key] };
}

/** Rows that an index finds in the order of the key, or that are few. */
function after({ equal, nulls, key, isAmong, isFirst }: PageShape, { seen }: Values): Range {
  const conditions = equal.map((column, i) => `${column.sql} = ${seen(i + 1, column)}`);
  conditions.push(...nulls.map(({ sql }) => `${sql} IS NULL`));
  let place = equal.length;
  if (isAmong) conditions.push(`${key.sql} = ANY(${seen(++place, key)})`);
  if (!isFirst) conditions.push(`${key.sql} > ${seen(++place, key)}`);
  // With the columns that are null in front, the order is that of the index on them and the key alone.
  return { conditions, order: isAmong ? [key] : [...nulls, key] };
}
