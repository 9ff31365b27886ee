import type { Client } from 'pg';
import { openSession } from '../data/session.js';

/** Rows that are read at a time. */
const BATCH = 1_000;

/**
 * The tables that have rows of accounts: those of modules too. Partitions are read with what they are partitions of; a table
 * that inherits from others is read by itself, for its own columns, and its rows bear the name of the first of these.
 * Bytes are hashes of what was never stored.
 */
const TABLES = `
  WITH RECURSIVE tables AS (
    SELECT oid, relkind, relname AS name FROM pg_class
    WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'accounts'::regclass) AND relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = pg_class.oid)
    UNION
    SELECT child.oid, child.relkind, tables.name
    FROM tables JOIN pg_inherits ON inhparent = tables.oid JOIN pg_class child ON child.oid = inhrelid
    WHERE NOT child.relispartition
  ), known AS (SELECT oid, relkind, min(name) AS name FROM tables GROUP BY oid, relkind)
  SELECT name, CASE relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || oid::regclass AS source,
    array_agg(attname::text) FILTER (WHERE atttypid = 'bytea'::regtype OR attname = 'password_hash') AS secret,
    bool_or(attname = 'account_id') AS "isOwned"
  FROM known JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped
  GROUP BY name, oid, relkind
  HAVING bool_or(attname = 'account_id') OR name = 'accounts'
  ORDER BY name = 'accounts' DESC, name, oid`;

interface Table {
  name: string;
  /** As it stands after FROM. */
  source: string;
  secret: string[] | null;
  isOwned: boolean;
}

/**
 * All that the database has of an account at one moment: its row, and those of every table with a column `account_id`,
 * each once, as a line of JSON that names its table. Ids keep all their digits; hashes of keys and passwords are left out.
 */
export async function* exportAccount(databaseUrl: string, accountId: string): AsyncGenerator<string> {
  const session = await openSession(databaseUrl);
  try {
    // The tables are where the service finds them.
    await session.query('RESET search_path');
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { rows: tables } = await session.query<Table>(TABLES);
    for (const table of tables) yield* linesOf(session, table, accountId);
  } finally {
    await session.end();
  }
}

async function* linesOf(session: Client, { name, source, secret, isOwned }: Table, accountId: string) {
  const row = `jsonb_strip_nulls(to_jsonb(row) - $2::text[])`;
  const select = `SELECT (jsonb_build_object('table', $1::text, 'row', ${row}))::text AS line
    FROM ${source} AS row WHERE row.${isOwned ? 'account_id' : 'id'} = $3`;
  await session.query(`DECLARE lines CURSOR FOR ${select}`, [name, secret ?? [], accountId]);
  for (;;) {
    const { rows } = await session.query<{ line: string }>(`FETCH ${BATCH} FROM lines`);
    for (const { line } of rows) yield line;
    if (rows.length < BATCH) break;
  }
  await session.query('CLOSE lines');
}
