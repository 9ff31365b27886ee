import type { DataSource } from 'typeorm';

/** Rows per fetch: few, as a row may hold a photo. */
const BATCH = 10;

/**
 * The tables with rows of accounts, teams' tables too, and their columns, except columns whose comment in the
 * database begins with "secret". Bytes become base64. Rows of partitions and inheriting tables appear once.
 */
const TABLES = `
  SELECT relname AS name, CASE relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || oid::regclass AS source,
    string_agg(CASE atttypid WHEN 'bytea'::regtype
      THEN format($$translate(encode(%1$I, 'base64'), E'\\n', '') AS %1$I$$, attname)
      ELSE quote_ident(attname) END, ', ' ORDER BY attnum)
      FILTER (WHERE coalesce(col_description(oid, attnum), '') NOT LIKE 'secret%') AS columns,
    bool_or(attname = 'account_id') AS "isOwned"
  FROM pg_class JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped
  WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'accounts'::regclass)
    AND relkind IN ('r', 'p') AND NOT relispartition
  GROUP BY oid, relname, relkind
  HAVING bool_or(attname = 'account_id') OR oid = 'accounts'::regclass
  ORDER BY oid <> 'accounts'::regclass, relname`;

/** The row as JSON on one line, whatever its columns are called; blanks replace line breaks in `json` values. */
const ROW = `translate(row_to_json(r.*)::text, E'\\n\\r', '  ')`;

interface Table {
  name: string;
  /** The SQL after FROM. */
  source: string;
  columns: string;
  isOwned: boolean;
}

/**
 * Prints the rows of an account from one snapshot of the database: its row of `accounts`, and those of every table with a
 * column `account_id`, each as a line of JSON that names the table. Ids keep all digits.
 */
export async function exportAccount(
  database: DataSource,
  accountId: string,
  print: (lines: string[]) => Promise<void>,
): Promise<void> {
  await database.transaction('REPEATABLE READ', async (manager) => {
    await manager.query('SET TRANSACTION READ ONLY');
    await manager.query(`SET LOCAL TimeZone = 'UTC'`);
    const tables = await manager.query<Table[]>(TABLES);
    await manager.query(`DECLARE lines CURSOR FOR ${tables.map(linesOf).join(' UNION ALL ')}`, [accountId]);
    let rows: { line: string }[];
    do {
      rows = await manager.query(`FETCH ${BATCH} FROM lines`);
      await print(rows.map(({ line }) => line));
    } while (rows.length > 0);
  });
}

function linesOf({ name, source, columns, isOwned }: Table): string {
  const rows = `SELECT ${columns} FROM ${source} WHERE ${isOwned ? 'account_id' : 'id'} = $1`;
  return `SELECT '{"table":${JSON.stringify(name).replaceAll("'", "''")},"row":' || ${ROW} || '}' AS line FROM (${rows}) AS r`;
}
