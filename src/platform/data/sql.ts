import type { Shape, ShapeColumn } from './shape.js';

// The SQL of prepared statements. Parameters are numbered in the order of the columns that a function is given.

/** Selects one row by values of some columns; `isLocked` locks the row until the transaction ends. */
export function selectOne(shape: Shape, by: readonly ShapeColumn[], isLocked: boolean): string {
  return `${select(shape, matching(by, numbered))} LIMIT 1${isLocked ? ' FOR UPDATE' : ''}`;
}

/** Inserts rows, each with values for columns of its own; other columns get their defaults. */
export function insertRows(shape: Shape, rows: readonly (readonly ShapeColumn[])[]): string {
  const given = shape.columns.filter((column) => rows.some((row) => row.includes(column)));
  // INSERT needs a column: without any value, the key gets its default.
  const columns = given.length > 0 ? given : [shape.keys[0]!];
  let count = 0;
  const all = rows.map((row) => {
    const cells = columns.map((column) => (row.includes(column) ? `$${++count}` : 'DEFAULT'));
    return `(${cells.join(', ')})`;
  });
  return `INSERT INTO ${shape.table} (${names(columns)}) VALUES ${all.join(', ')} RETURNING ${names(shape.selected)}`;
}

/** SQL of a parameter, by its index among the values of a part. */
export type Parameter = (place: number) => string;

/** The parameters of a statement with a single part. */
export const numbered: Parameter = (i) => `$${i + 1}`;

/** Inserts a row for each row of `from`, with values cast to the column types; other columns get defaults. */
export function insertFrom(
  shape: Shape,
  given: readonly ShapeColumn[],
  values: readonly string[],
  from: string,
): string {
  const typed = values.map((value, i) => `CAST(${value} AS ${typeOf(given[i]!)})`);
  const columns = given.length > 0 ? ` (${names(given)})` : '';
  return `INSERT INTO ${shape.table}${columns} SELECT ${typed.join(', ')}${from}`;
}

/** Sets columns of the rows that match `by`; parameters count the new values first, then those of `by`. */
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
  const conditions = matching(by, (i) => parameter(set.length + i), among);
  return `UPDATE ${shape.table} SET ${changes.join(', ')}${where(shape, conditions)}`;
}

/** Locks the rows that match `by`. */
export function lock(shape: Shape, by: readonly ShapeColumn[], parameter: Parameter): string {
  return `SELECT 1 FROM ${shape.table}${where(shape, matching(by, parameter))} FOR UPDATE`;
}

/** The conditions of rows: a column in `among` matches any value of a list, any other column one value. */
export function matching(
  by: readonly ShapeColumn[],
  parameter: Parameter,
  among?: ReadonlySet<ShapeColumn>,
): string[] {
  return by.map((column, i) => {
    const value = parameter(i);
    return `${column.sql} = ${among?.has(column) ? `ANY(${hiddenList(value, column)})` : value}`;
  });
}

export function select(shape: Shape, conditions: readonly string[]): string {
  return `SELECT ${names(shape.selected)} FROM ${shape.table}${where(shape, conditions)}`;
}

function where({ notDeleted }: Shape, conditions: readonly string[]): string {
  const all = notDeleted === undefined ? conditions : [...conditions, notDeleted];
  return all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
}

/**
 * A parameter for a list whose length is hidden from the planner. If PostgreSQL saw a short list, a custom
 * plan would look cheaper than the generic one, so each run would be planned anew, in 20 to 100 µs.
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
