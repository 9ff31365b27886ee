import { Logger } from '@nestjs/common';
import type { ClientBase, Pool } from 'pg';
import { OperatorError } from '../process/index.js';

/**
 * Every time-out on the way to the database, in milliseconds. A complete request is answered within 3 seconds
 * (`request`); the others end its work, each for a reason of its own, so that nothing is waited for without end. They
 * are for a database that is away or stuck: one that is busy, or whose disk takes its time to write, still answers in time.
 */
export const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` would wait for ever. */
  connect: 1_000,
  /** The server ends a statement that runs longer. The statements here take a few ms. */
  statement: 1_200,
  /**
   * The server ends a statement that waits longer for a lock. For a row it can wait twice, for its turn among those that
   * wait and then for the row itself: both together end before the statement time-out, which would hide the reason.
   */
  lock: 590,
  /** A server that has sent nothing for this long is frozen or cut off: the connection is given up. */
  silence: 1_300,
  /** A stream of rows whose server has sent nothing for this long is given up. */
  silentStream: 30_000,
  /** A transaction is not begun for a request that has less time left: it would hardly end. */
  transaction: 300,
  /** A complete request is answered after this, if need be by a 503. */
  request: 2_900,
  /**
   * So long before an answer is due, the connections that a request still has are closed: what it has not committed is undone
   * before its client is told to try again.
   */
  taken: 100,
  /** After this, a read that a replica has not answered goes to the primary. */
  replica: 120,
  /** A replica that needs longer to catch up is lagging; a healthy one needs about 1 ms. */
  replay: 10,
  /** The server ends a transaction whose process has stopped in the middle of it, which releases its locks. */
  idleInTransaction: 5_000,
  /** A migration gives up waiting for a lock after this, so that requests do not wait behind it for longer. */
  migrationLock: 2_000,
  /** A process waits this long for its turn to migrate; it says so after the first, and then every so often. */
  migrationTurn: { first: 1_000, next: 10_000, total: 600_000 },
  /** Connecting at the start, when nobody waits for an answer. */
  start: 5_000,
};

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

/** What statements here, and those of TypeORM, count on, whatever the server, the database or the role has. */
const SET_SESSION = Object.entries({ ...KNOWN_TO_POOLERS, ...UNKNOWN_TO_POOLERS })
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join('; ');

/**
 * Readies a new connection.
 * @throws OperatorError unless its database holds every character, and counts characters instead of bytes
 */
export async function prepareSession(client: ClientBase): Promise<void> {
  await client.query(SET_SESSION);
  const { rows } = await client.query<{ name: string; encoding: string }>(
    `SELECT current_database() AS name, current_setting('server_encoding') AS encoding`,
  );
  const [{ name, encoding }] = rows as [{ name: string; encoding: string }];
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The encoding of the database ${name} is ${encoding}, and UTF8 is needed: create another with ` +
      `ENCODING 'UTF8' TEMPLATE template0, and move what this one holds by pg_dump.`,
  );
}

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
