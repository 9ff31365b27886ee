import type { Client } from 'pg';
import type { Table } from './tables.js';

/** What a table holds. */
export interface Contents {
  rows: number;
  /** The sum of the hashes of all rows, the same in whatever order they are stored. */
  checksum: string;
}

export async function countRows(session: Client, { source }: Table): Promise<number> {
  const { rows } = await session.query<{ count: string }>(`SELECT count(*) FROM ${source}`);
  return Number(rows[0]!.count);
}

/** Reads the whole table: about a second for a million short rows. */
async function summarise(session: Client, { source, columns }: Table): Promise<Contents> {
  const hash = `sha256(convert_to(ROW(${columns.join(', ')})::text, 'UTF8'))`;
  const { rows } = await session.query<{ count: string; checksum: string }>(
    `SELECT count(*), coalesce(sum(('x' || encode(substr(${hash}, 1, 8), 'hex'))::bit(64)::bigint::numeric), 0) AS checksum
     FROM ${source}`,
  );
  return { rows: Number(rows[0]!.count), checksum: rows[0]!.checksum };
}

/** What a table holds in two databases, which work at the same time. */
export async function compare(source: Client, target: Client, table: Table): Promise<[Contents, Contents]> {
  return Promise.all([summarise(source, table), summarise(target, table)]);
}

export function isSame([one, other]: [Contents, Contents]): boolean {
  return one.rows === other.rows && one.checksum === other.checksum;
}
