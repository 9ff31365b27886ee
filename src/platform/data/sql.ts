import type { Shape, ShapeColumn } from './shape.js';

/** The SQL of prepared statements. Values stand in it in the order in which a function names them. */

/** One row with the values of some columns; `lock` keeps others from changing it until the transaction ends. */
export function selectOne(shape: Shape, by: readonly ShapeColumn[], lock: boolean): string {
  return `${select(shape, by.map(equals))} LIMIT 1${lock ? ' FOR UPDATE' : ''}`;
}

/** The rows whose `key` is in a list. */
export function selectAmong(shape: Shape, key: ShapeColumn): string {
  return select(shape, [`${key.sql} = ANY(${unseenList(1, key)})`]);
}

/** Inserts a number of rows with values for the same columns; the table sets the others. */
export function insertRows(shape: Shape, given: readonly ShapeColumn[], count: number): string {
  const row = (n: number) => `(${given.map((_column, i) => `$${n * given.length + i + 1}`).join(', ')})`;
  const rows = Array.from({ length: count }, (_one, n) => row(n)).join(', ');
  const values = given.length > 0 ? `(${names(given)}) VALUES ${rows}` : 'DEFAULT VALUES';
  return `INSERT INTO ${shape.table} ${values} RETURNING ${names(shape.selected)}`;
}

/** SQL of the parameter that has a value of a column, by its place among the values of a part. */
export type Parameter = (place: number) => string;

/** Inserts a row for each row of what it selects from; the types of the values are those of the columns. */
export function insertFrom(
  shape: Shape,
  given: readonly ShapeColumn[],
  values: readonly string[],
  from: string,
): string {
  const typed = values.map((value, i) => `CAST(${value} AS ${typeOf(given[i]!)})`);
  return `INSERT INTO ${shape.table} (${names(given)}) SELECT ${typed.join(', ')}${from}`;
}

/** Sets columns of the one row with the values of others. */
export function updateOne(
  shape: Shape,
  set: readonly ShapeColumn[],
  by: readonly ShapeColumn[],
  parameter: Parameter,
): string {
  const conditions = by.map(({ sql }, i) => `${sql} = ${parameter(set.length + i)}`);
  if (shape.living) conditions.push(shape.living);
  return `UPDATE ${shape.table} SET ${changesOf(shape, set, parameter)} WHERE ${conditions.join(' AND ')}`;
}

/** Sets columns of the rows with the values of others, each a single one or, if it is in `among`, one of a list. */
export function updateRows(
  shape: Shape,
  set: readonly ShapeColumn[],
  by: readonly ShapeColumn[],
  among: ReadonlySet<ShapeColumn>,
): string {
  const conditions = by.map((column, i) => {
    const place = set.length + i + 1;
    return `${column.sql} = ${among.has(column) ? `ANY(${unseenList(place, column)})` : `$${place}`}`;
  });
  if (shape.living) conditions.push(shape.living);
  return `UPDATE ${shape.table} SET ${changesOf(shape, set, (i) => `$${i + 1}`)} WHERE ${conditions.join(' AND ')} RETURNING ${names(shape.selected)}`;
}

/**
 * Inserts a row, or sets the columns of the one that has its key, if that has the same in the columns `held`; last, whether
 * it was inserted: a row that was there is locked before it is set, which its `xmax` shows.
 */
export function upsertOne(shape: Shape, given: readonly ShapeColumn[], held: readonly ShapeColumn[]): string {
  const set = given.filter((column) => !shape.keys.includes(column) && !held.includes(column));
  const changes = (set.length > 0 ? set : shape.keys).map(({ sql }) => `${sql} = EXCLUDED.${sql}`);
  if (shape.updated && !set.includes(shape.updated)) changes.push(`${shape.updated.sql} = CURRENT_TIMESTAMP`);
  const conditions = held.map(({ sql }) => `one.${sql} = EXCLUDED.${sql}`);
  if (shape.living) conditions.push(`one.${shape.living}`);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  const values = given.map((_column, i) => `$${i + 1}`).join(', ');
  return `INSERT INTO ${shape.table} AS one (${names(given)}) VALUES (${values}) ON CONFLICT (${names(shape.keys)}) DO UPDATE SET ${changes.join(', ')}${where} RETURNING ${namesIn('one', shape.selected)}, one.xmax = 0`;
}

/** Deletes some of the rows below a bound in some columns, and with one of a list of values in others. */
export function deleteSome(
  shape: Shape,
  below: readonly ShapeColumn[],
  among: readonly ShapeColumn[],
): string {
  const bounds = below.map(({ sql }, i) => `${sql} < $${i + 1}`);
  const lists = among.map(({ sql }, i) => `${sql} = ANY($${below.length + i + 1})`);
  const old = `SELECT ${names(shape.keys)} FROM ${shape.table} WHERE ${[...bounds, ...lists].join(' AND ')} ORDER BY ${names(below)} LIMIT $${below.length + among.length + 1} FOR UPDATE SKIP LOCKED`;
  return `DELETE FROM ${shape.table} WHERE (${names(shape.keys)}) IN (${old})`;
}

export function select(shape: Shape, conditions: readonly string[]): string {
  const all = shape.living ? [...conditions, shape.living] : conditions;
  const where = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
  return `SELECT ${names(shape.selected)} FROM ${shape.table}${where}`;
}

/**
 * A parameter with a list of values for a column, whose length the planner cannot see: where it does, a plan for a short list
 * looks better than one for any list, and PostgreSQL plans the statement anew at every run, which takes 20 to 100 us.
 */
export function unseenList(place: number, { type }: Pick<ShapeColumn, 'type'>): string {
  return `(SELECT $${place}::${type}[])::${type}[]`;
}

/** The names of columns, of what a statement calls `table`. */
export function namesIn(table: string, columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => `${table}.${sql}`).join(', ');
}

function names(columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => sql).join(', ');
}

/** What an UPDATE sets: columns to values, and when the row was changed. */
function changesOf(shape: Shape, set: readonly ShapeColumn[], parameter: Parameter): string {
  const changes = set.map(({ sql }, i) => `${sql} = ${parameter(i)}`);
  if (shape.updated && !set.includes(shape.updated)) changes.push(`${shape.updated.sql} = CURRENT_TIMESTAMP`);
  return changes.join(', ');
}

function typeOf({ type, isArray }: ShapeColumn): string {
  return isArray ? `${type}[]` : type;
}

function equals({ sql }: ShapeColumn, i: number): string {
  return `${sql} = $${i + 1}`;
}
