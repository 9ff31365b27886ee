import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { quoted, type Shape, type ShapeColumn, tableOf } from './shape.js';

/** The SQL of prepared statements. Values stand in it in the order in which a function names them. */

/** One row with the values of some columns, and its version last. */
export function selectVersion(shape: Shape, by: readonly ShapeColumn[]): string {
  return `${select(shape, by.map(equals), ['xmin::text'])} LIMIT 1`;
}

/** The same of many look-ups at once; first, the place of the look-up. */
export function selectVersions(shape: Shape, by: readonly ShapeColumn[]): string {
  const { lists, items } = listsOf(by);
  return `SELECT list.n, ${namesIn('one', shape.selected)}, one.xmin::text FROM unnest(${lists}) WITH ORDINALITY AS list(${items}, n) JOIN ${shape.table} AS one ON ${matches(shape, by, 1)}`;
}

/** One row with the values of some columns; `lock` keeps others from changing it until the transaction ends. */
export function selectOne(shape: Shape, by: readonly ShapeColumn[], lock: boolean): string {
  return `${select(shape, by.map(equals))} LIMIT 1${lock ? ' FOR UPDATE' : ''}`;
}

/** The rows whose `key` is in a list. */
export function selectAmong(shape: Shape, key: ShapeColumn): string {
  return select(shape, [`${key.sql} = ANY(${unseenList(1, key)})`]);
}

/** Inserts a row with values for some columns; the table sets the others. */
export function insertOne(shape: Shape, given: readonly ShapeColumn[]): string {
  const values = `(${names(given)}) VALUES (${given.map((_column, i) => `$${i + 1}`).join(', ')})`;
  return `INSERT INTO ${shape.table} ${given.length > 0 ? values : 'DEFAULT VALUES'} RETURNING ${names(shape.selected)}`;
}

/** Where the SQL of a part stands: in the statement of one piece of work, or in that of several. */
export interface Frame {
  /** What it selects from: for each row, it is done once. */
  readonly from: string;
  /** For several: the place of the work that a row of that is of. */
  readonly place?: string;
  /** SQL of the part's own parameter number `i`, from 0. */
  readonly value: (i: number) => string;
}

/**
 * Inserts a row for each row of what is selected from.
 * @param values SQL of the values, in the order of the columns `given`; their types are those of the columns
 * @param isRead whether the row is returned
 */
export function insertFrom(
  shape: Shape,
  given: readonly ShapeColumn[],
  values: readonly string[],
  { from }: Frame,
  isRead: boolean,
): string {
  const cast = given.map(({ type, isArray }, i) => `${values[i]}::${type}${isArray ? '[]' : ''}`);
  return `INSERT INTO ${shape.table} (${names(given)}) SELECT ${cast.join(', ')} FROM ${from} RETURNING ${isRead ? names(shape.selected) : 'NULL'}`;
}

/**
 * Sets columns of the row with the values of others for each row of what is selected from, and returns the row.
 * @param version whether there is a further parameter: the row is left as it is if another version of it was read
 */
export function updateFrom(
  shape: Shape,
  set: readonly ShapeColumn[],
  by: readonly ShapeColumn[],
  { from, place, value }: Frame,
  version: boolean,
): string {
  const conditions = by.map(({ sql }, i) => `one.${sql} = ${value(set.length + i)}`);
  if (shape.living) conditions.push(`one.${shape.living}`);
  if (version) conditions.push(`one.xmin = ${value(set.length + by.length)}::xid`);
  const returned = [namesIn('one', shape.selected), ...(place ? [place] : [])];
  return `UPDATE ${shape.table} AS one SET ${changesOf(shape, set, value)} FROM ${from} WHERE ${conditions.join(' AND ')} RETURNING ${returned.join(', ')}`;
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

/**
 * Inserts many rows, from a list of values for each of some columns. Rows are inserted in the order of the lists, and
 * returned in the order in which they were inserted, on which TypeORM relies for its own inserts of many too.
 */
export function insertMany(shape: Shape, given: readonly ShapeColumn[]): string {
  const stored = `${insertAll(shape, given)} RETURNING ${names(shape.selected)}`;
  return `WITH stored AS (${stored}) SELECT * FROM stored WHERE ${allOf(given, 'SELECT FROM stored')}`;
}

/** The same, and returns nothing. */
export function insertUnread(shape: Shape, given: readonly ShapeColumn[]): string {
  const stored = `${insertAll(shape, given)} RETURNING NULL`;
  return `WITH stored AS (${stored}) SELECT WHERE ${allOf(given, 'SELECT FROM stored')}`;
}

function insertAll(shape: Shape, given: readonly ShapeColumn[]): string {
  const { lists, items } = listsOf(given);
  return `INSERT INTO ${shape.table} (${names(given)}) SELECT ${items} FROM unnest(${lists}) WITH ORDINALITY AS list(${items}, n) ORDER BY n`;
}

/**
 * A condition that is true if as many rows were made as asked for, and else a division by zero (SQLSTATE 22012), so that PostgreSQL
 * undoes the statement: a trigger or a rule has left out some, and nothing tells which.
 */
function allOf([first]: readonly ShapeColumn[], rows: string): string {
  return `(SELECT 1 / (count(*) = cardinality(${unseenList(1, first!)}))::integer FROM (${rows}) AS made) = 1`;
}

/**
 * The same, but without the rows that refer to none. The stored ones come first, after two nulls each; then, for each row
 * that was left out, its place and which of the references it was.
 */
export function insertPossible(
  shape: Shape,
  given: readonly ShapeColumn[],
  references: readonly ForeignKeyMetadata[],
): string {
  const { lists, items } = listsOf(given);
  const cases = references.map(({ columns, referencedColumns, referencedEntityMetadata }, i) => {
    const value = `v${given.indexOf(shape.column(columns[0]!.propertyName)) + 1}`;
    const column = quoted(referencedColumns[0]!.databaseName, referencedEntityMetadata);
    const found = `SELECT FROM ${tableOf(referencedEntityMetadata)} WHERE ${column} = ${value}`;
    return `WHEN ${value} IS NOT NULL AND NOT EXISTS (${found}) THEN ${i}`;
  });
  const looked = `SELECT *, CASE ${cases.join(' ')} END AS which FROM unnest(${lists}) WITH ORDINALITY AS list(${items}, n)`;
  const stored = `INSERT INTO ${shape.table} (${names(given)}) SELECT ${items} FROM looked WHERE which IS NULL ORDER BY n RETURNING ${names(shape.selected)}`;
  const left = `SELECT n, which${', NULL'.repeat(shape.selected.length)} FROM looked WHERE which IS NOT NULL`;
  const all = allOf(given, 'SELECT FROM stored UNION ALL SELECT FROM looked WHERE which IS NOT NULL');
  return `WITH looked AS MATERIALIZED (${looked}), stored AS (${stored}) SELECT NULL::bigint, NULL::integer, * FROM stored WHERE ${all} UNION ALL ${left}`;
}

/** Sets columns of the rows with the values of others, each a single one or, if it is in `among`, one of a list. */
export function update(
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

/** What an UPDATE sets: columns to values, and when the row was changed. */
function changesOf(shape: Shape, set: readonly ShapeColumn[], value: (i: number) => string): string {
  const changes = set.map(({ sql }, i) => `${sql} = ${value(i)}`);
  if (shape.updated && !set.includes(shape.updated)) changes.push(`${shape.updated.sql} = CURRENT_TIMESTAMP`);
  return changes.join(', ');
}

/** That a row has the values that it is looked up by, which stand in the lists from a place on. */
function matches(shape: Shape, by: readonly ShapeColumn[], first: number): string {
  const conditions = by.map(({ sql }, i) => `one.${sql} = list.v${first + i}`);
  return [...conditions, ...(shape.living ? [`one.${shape.living}`] : [])].join(' AND ');
}

/** Deletes some of the rows below a bound in some columns, and with one of a list of values in others; last, how many. */
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

/** @param more what else is selected, after the columns */
export function select(shape: Shape, conditions: readonly string[], more: readonly string[] = []): string {
  const all = shape.living ? [...conditions, shape.living] : conditions;
  const where = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
  return `SELECT ${[names(shape.selected), ...more].join(', ')} FROM ${shape.table}${where}`;
}

/**
 * A parameter with a list of values for a column, whose length the planner cannot see: where it does, a plan for a short list
 * looks better than one for any list, and PostgreSQL plans the statement anew at every run, which takes 20 to 100 us.
 */
export function unseenList(place: number, { type }: Pick<ShapeColumn, 'type'>): string {
  return `(SELECT $${place}::${type}[])::${type}[]`;
}

/** A parameter with a list of values for each of some columns, and names for these. */
export function listsOf(columns: readonly ShapeColumn[]) {
  return {
    lists: columns.map((column, i) => unseenList(i + 1, column)).join(', '),
    items: columns.map((_column, i) => `v${i + 1}`).join(', '),
  };
}

function equals({ sql }: ShapeColumn, i: number): string {
  return `${sql} = $${i + 1}`;
}

function namesIn(table: string, columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => `${table}.${sql}`).join(', ');
}

function names(columns: readonly ShapeColumn[]): string {
  return columns.map(({ sql }) => sql).join(', ');
}
