import type { Client } from 'pg';
import { OperatorError } from '../../process/index.js';

/** A standby is read only; a server that is being replaced may be set so. The log file's name begins with its timeline. */
const STATE = `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  current_database() AS name, current_setting('server_encoding') AS encoding,
  CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS file`;

interface State {
  isReadOnly: boolean;
  name: string;
  encoding: string;
  file: string | null;
}

/** @throws OperatorError unless a database holds every character, and counts characters instead of bytes */
export function requireUtf8(name: string | undefined, encoding: string | undefined): void {
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The encoding of the database ${name} is ${encoding}, and UTF8 is needed: create another with ` +
      `ENCODING 'UTF8' TEMPLATE template0, and move what this one holds by pg_dump.`,
  );
}

/** The timeline that a server writes. @throws Error if it is read only, or its database is not in UTF-8 */
export async function askServer(session: Pick<Client, 'query'>): Promise<number> {
  const { rows } = await session.query<State>(STATE);
  const { isReadOnly, name, encoding, file } = rows[0]!;
  requireUtf8(name, encoding);
  if (isReadOnly || file === null) throw new Error('it cannot be written');
  return Number.parseInt(file.slice(0, 8), 16);
}
