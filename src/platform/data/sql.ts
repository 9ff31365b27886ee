import type { Shape, ShapeColumn } from './shape.js';

// The SQL of prepared statements. Parameters are numbered in the order of the columns that a function is given.

/** One row with the values of some columns; `lock` locks the row until the transaction ends. */
export function selectOne(shape: Shape, by: readonly ShapeColumn[], lock: boolean): string {
  return `${select(shape, by.map(equals))} LIMIT 1${lock ? ' FOR UPDATE' : ''}`;
}

/** The rows whose key is in a list. */
export function selectAmong(shape: Shape, key: ShapeColumn): string {
  return select(shape, [`${key.sql} = ANY(${hiddenList('$1', key)})`]);
}

/** Inserts `count` rows with values for the same columns; the table sets the others. */
export function insertRows(shape: Shape, given: readonly ShapeColumn[], count: number): string {
  const row = (n: number) => `(${given.map((_column, i) => `$${n * given.length + i + 1}`).join(', ')})`;
  const rows = Array.from({ length: count }, (_one, n) => row(n)).join(', ');
  const values = given.length > 0 ? `(${names(given)}) VALUES ${rows}` : 'DEFAULT VALUES';
  return `INSERT INTO ${shape.table} ${values} RETURNING ${names(shape.selected)}`;
}

/** SQL of a parameter, by its index among the values of a part. */
export type Parameter = (place: number) => string;

/** Inserts a row for each row of `from`, with values cast to the types of the columns. */
export function insertFrom(
  shape: Shape,
  given: readonly ShapeColumn[],
  values: readonly string[],
  from: string,
): string {
  const typed = values.map((value, i) => `CAST(${value} AS ${typeOf(given[i]!)})`);
  return `INSERT INTO ${shape.table} (${names(given)}) SELECT ${typed.join(', ')}${from}`;
}

/** Sets columns of the rows that match `by`: a column in `among` matches any value of a list, the others one value. */
export function update(
  shape: Shape,
  set: readonly ShapeColumn[],
  by: readonly ShapeColumn[],
  parameter: Parameter,
  among?: ReadonlySet<ShapeColumn>,
): string {
  const changes = set.map(({ sql }, i) => `${sql} = ${parameter(i)}`);
  if (shape.updateColumn && !set.includes(shape.updateColumn))
    changes.push(`${shape.updateColumn.sql} = CURRENT_TIMESTAMP`);
  const conditions = by.map((column, i) => {
    const value = parameter(set.length + i);
    return `${column.sql} = ${among?.has(column) ? `ANY(${hiddenList(value, column)})` : value}`;
  });
  if (shape.notDeleted) conditions.push(shape.notDeleted);
  return `UPDATE ${shape.table} SET ${changes.join(', ')} WHERE ${conditions.join(' AND ')}`;
}

/**
 * Inserts a row, or sets the columns of the row with its key if that has the same values in the columns `fixed`. The last
 * value returned is whether the row was inserted: an existing row is locked before the update, which sets its `xmax`.
 */
export function upsertOne(
  shape: Shape,
  given: readonly ShapeColumn[],
  fixed: readonly ShapeColumn[],
): string {
  const set = given.filter((column) => !shape.keys.includes(column) && !fixed.includes(column));
  const changes = (set.length > 0 ? set : shape.keys).map(({ sql }) => `${sql} = EXCLUDED.${sql}`);
  if (shape.updateColumn && !set.includes(shape.updateColumn))
    changes.push(`${shape.updateColumn.sql} = CURRENT_TIMESTAMP`);
  const conditions = fixed.map(({ sql }) => `one.${sql} = EXCLUDED.${sql}`);
  if (shape.notDeleted) conditions.push(`one.${shape.notDeleted}`);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  const values = given.map((_column, i) => `$${i + 1}`).join(', ');
  return `INSERT INTO ${shape.table} AS one (${names(given)}) VALUES (${values}) ON CONFLICT (${names(shape.keys)}) DO UPDATE SET ${changes.join(', ')}${where} RETURNING ${namesIn('one', shape.selected)}, one.xmax = 0`;
}

export function select(shape: Shape, conditions: readonly string[]): string {
  const all = shape.notDeleted ? [...conditions, shape.notDeleted] : conditions;
  const where = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
  return `SELECT ${names(shape.selected)} FROM ${shape.table}${where}`;
}

/**
 * A parameter with a list of values, whose length is hidden from the planner: a plan for a visible short list looks better
 * than one for any list, so PostgreSQL would plan the statement at every run, which takes 20 to 100 µs.
 */
export function hiddenList(parameter: string, { type }: ShapeColumn): string {
  return `(SELECT ${parameter}::${type}[])::${type}[]`;
}

/** The columns of a table with this alias. */
export function namesIn(table: string, columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => `${table}.${sql}`).join(', ');
}

export function names(columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => sql).join(', ');
}

function typeOf({ type, isArray }: ShapeColumn): string {
  return isArray ? `${type}[]` : type;
}

function equals({ sql }: ShapeColumn, i: number): string {
  return `${sql} = $${i + 1}`;
}
