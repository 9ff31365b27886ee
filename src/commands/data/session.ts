import type { Client } from 'pg';
import { explain, HostClient, TIMEOUTS } from '../../platform/database/index.js';

/** Both sides of a copy write values alike, beyond what connections have, and have the time for a statement over a whole table. */
const SETTINGS = [
  'statement_timeout = 0',
  'lock_timeout = 0',
  'idle_in_transaction_session_timeout = 0',
  `TimeZone = 'UTC'`,
  `search_path = ''`,
];

/**
 * A connection of its own for long work on whole tables.
 * @throws OperatorError if the database cannot be reached
 */
export async function openSession(url: string): Promise<Client> {
  const client = new HostClient({
    connectionString: url,
    application_name: 'petstore-copy',
    connectionTimeoutMillis: TIMEOUTS.start,
    keepAlive: true,
  });
  try {
    await client.connect();
    for (const setting of SETTINGS) await client.query(`SET ${setting}`);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw explain(error);
  }
}
