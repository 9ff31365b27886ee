import type { Pool } from 'pg';
import { OperatorError } from '../process/index.js';

/** Those that PgBouncer knows: it gives each client its own. */
const KNOWN_TO_POOLERS = {
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
};

const UNKNOWN_TO_POOLERS = {
  default_transaction_isolation: 'read committed',
  array_nulls: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
};

/** What statements here, and those of TypeORM and pg-boss, count on, whatever the server, the database or the role has. */
export const SET_SESSION = Object.entries({ ...KNOWN_TO_POOLERS, ...UNKNOWN_TO_POOLERS })
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join('; ');

/**
 * Behind a pooler, a statement runs on a connection that may never have been told the settings.
 * @throws OperatorError that names those that the role must have itself
 */
export async function requireSettings(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ name: string; value: string; pid: number }>(
      'SELECT name, reset_val AS value, pg_backend_pid() AS pid FROM pg_settings WHERE name = ANY($1)',
      [Object.keys(UNKNOWN_TO_POOLERS)],
    );
    const wanted = new Map(Object.entries(UNKNOWN_TO_POOLERS));
    const others = rows.filter(({ name, value }) => value !== wanted.get(name));
    const isDirect = rows.every(({ pid }) => pid === (client as { processID?: number | null }).processID);
    if (isDirect || others.length === 0) return;
    const sets = others.map(({ name }) => `SET ${name} = '${wanted.get(name)}'`);
    throw new OperatorError(
      `Behind a pooler, the role needs its own settings: ALTER ROLE … ${sets.join(', and ALTER ROLE … ')} (docs/scaling.md).`,
    );
  } finally {
    client.release();
  }
}
