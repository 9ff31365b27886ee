import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';

const MISSING = `SELECT name FROM pg_settings WHERE setting = '0'
  AND name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')
  ORDER BY name`;

/** Warns of time-outs that a connection has asked for and does not have: a pooler such as PgBouncer drops them. */
export async function warnOfMissingTimeouts(connections: Pool): Promise<void> {
  const { rows } = await connections.query<{ name: string }>(MISSING);
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  new Logger('Database').warn(
    `Not in force: ${names}. Behind a pooler, set them for the role (docs/scaling.md); until then, statements that the service has given up keep running`,
  );
}
