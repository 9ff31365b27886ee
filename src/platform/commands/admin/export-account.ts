import type { Client } from 'pg';
import { openSession } from '../data/session.js';

/** Rows that are read at a time. */
const BATCH = 1_000;

/** The tables that have rows of accounts: those of modules too. Bytes are hashes of what was never stored. */
const TABLES = `
  SELECT table_name AS name,
    array_agg(column_name::text) FILTER (WHERE data_type = 'bytea' OR column_name = 'password_hash') AS secret,
    bool_or(column_name = 'account_id') AS "isOwned"
  FROM information_schema.columns
  WHERE table_schema = 'public'
  GROUP BY table_name
  HAVING bool_or(column_name = 'account_id') OR table_name = 'accounts'
  ORDER BY table_name = 'accounts' DESC, table_name`;

interface Table {
  name: string;
  secret: string[] | null;
  isOwned: boolean;
}

/**
 * All that the database has of an account at one moment: its row, and those of every table with a column `account_id`,
 * each as a line of JSON that names its table. Ids keep all their digits; hashes of keys and passwords are left out.
 */
export async function* exportAccount(databaseUrl: string, accountId: string): AsyncGenerator<string> {
  const session = await openSession(databaseUrl);
  try {
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { rows: tables } = await session.query<Table>(TABLES);
    for (const table of tables) yield* linesOf(session, table, accountId);
  } finally {
    await session.end();
  }
}

async function* linesOf(session: Client, { name, secret, isOwned }: Table, accountId: string) {
  const table = `public.${session.escapeIdentifier(name)}`;
  const row = `jsonb_strip_nulls(to_jsonb(row) - $2::text[])`;
  const select = `SELECT (jsonb_build_object('table', $1::text, 'row', ${row}))::text AS line
    FROM ${table} AS row WHERE row.${isOwned ? 'account_id' : 'id'} = $3`;
  await session.query(`DECLARE lines CURSOR FOR ${select}`, [name, secret ?? [], accountId]);
  for (;;) {
    const { rows } = await session.query<{ line: string }>(`FETCH ${BATCH} FROM lines`);
    for (const { line } of rows) yield line;
    if (rows.length < BATCH) break;
  }
  await session.query('CLOSE lines');
}
