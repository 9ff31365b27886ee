import { query, type TestedService } from '../../src/testing/service.js';

/** Returns those of the texts that occur in any table of a service. Rows show bytes in hexadecimal. */
export async function storedOf({ databaseUrl }: TestedService, texts: string[]): Promise<string[]> {
  const tables = await query<{ name: string }>(
    databaseUrl,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows = tables.map(({ name }) => `SELECT to_jsonb(t)::text AS row FROM ${name} t`).join(' UNION ALL ');
  const sql = `SELECT DISTINCT text FROM unnest($1::text[]) AS text, (${rows}) AS r WHERE strpos(row, text) > 0`;
  return (await query<{ text: string }>(databaseUrl, sql, [texts])).map(({ text }) => text);
}
