import type { Client } from 'pg';

/** A standby is read only; a server that is being replaced may be set so. The log file's name begins with its timeline. */
const STATE = `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS file`;

interface State {
  isReadOnly: boolean;
  file: string | null;
}

/** The timeline that a server writes. @throws Error if it is read only */
export async function askServer(session: Pick<Client, 'query'>): Promise<number> {
  const { rows } = await session.query<State>(STATE);
  const { isReadOnly, file } = rows[0]!;
  if (isReadOnly || file === null) throw new Error('it cannot be written');
  return Number.parseInt(file.slice(0, 8), 16);
}
