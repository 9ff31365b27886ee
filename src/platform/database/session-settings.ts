import type { ClientBase, QueryResult } from 'pg';
import { OperatorError } from '../process/index.js';

/**
 * All time-outs of the database, in milliseconds. A fully received request is answered within 3 seconds
 * (`request`); the other time-outs end its work earlier, so that nothing waits for ever. They are meant for a
 * database that is away or stuck: a busy database, or one with a slow disk, still answers in time.
 */
export const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` has no limit of its own. */
  connect: 1_000,
  /** The server cancels a statement that runs longer. The statements of the service take a few ms. */
  statement: 1_200,
  /**
   * The server cancels a statement that waits longer for a lock. A statement can wait twice for a row, in the queue and
   * then for the row lock: both waits together end before the statement time-out, which would hide the reason.
   */
  lock: 590,
  /** A connection whose server has sent nothing for this long is closed: the server is frozen or cut off. */
  silence: 1_300,
  /** A stream of rows whose server has sent nothing for this long fails. */
  silentStream: 30_000,
  /** A request with less time left gets no transaction: it would hardly finish. */
  transaction: 300,
  /** A fully received request is answered within this time, with 503 if necessary. */
  request: 2_900,
  /** A request's transaction is rolled back this long before its answer is due. */
  abortMargin: 100,
  /** A read that a replica has not answered within this time goes to the primary. */
  replica: 120,
  /** A replica that takes longer to catch up is lagging; a healthy one takes about 1 ms. */
  replay: 10,
  /** The server ends a transaction that is idle for this long, such as that of a frozen process, and releases its locks. */
  idleInTransaction: 5_000,
  /** A migration stops waiting for a lock after this, as requests queue up behind it. */
  migrationLock: 2_000,
  /** A process waits at most `total` for the migration lock. After `logged`, it logs once that it is waiting. */
  migrationTurn: { logged: 1_000, total: 600_000 },
  /** Connecting at the start, when no client waits for an answer. */
  start: 5_000,
};

/** The time-outs that the server enforces on connections for requests. */
export const LIMITS = {
  statement_timeout: TIMEOUTS.statement,
  lock_timeout: TIMEOUTS.lock,
  idle_in_transaction_session_timeout: TIMEOUTS.idleInTransaction,
};

/** Settings that the statements of the service and of TypeORM rely on, whatever the server, the database or the role sets. */
const SETTINGS = {
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  array_nulls: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
};
const SET_SESSION = Object.entries(SETTINGS)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join('; ');

const ENCODING = `SELECT current_database() AS name, current_setting('server_encoding') AS encoding`;

/**
 * Sets up a new connection in one round trip, without `options` in the startup packet, which poolers refuse.
 * @param further another statement to run
 * @throws OperatorError unless the database is encoded in UTF-8
 */
export async function prepareSession(client: ClientBase, further?: string): Promise<void> {
  const statements = [SET_SESSION, further, ENCODING].filter(Boolean).join('; ');
  // `pg` returns a result for each statement.
  const results = (await client.query(statements)) as unknown as QueryResult<{
    name: string;
    encoding: string;
  }>[];
  const { name, encoding } = results.at(-1)!.rows[0]!;
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The encoding of the database ${name} is ${encoding}, but the service needs UTF8: create another database with ` +
      `ENCODING 'UTF8' TEMPLATE template0, and move the data by pg_dump.`,
  );
}

/**
 * Makes the server check every second, while a statement runs, whether its client is still connected (not on
 * Windows, which has no such check).
 */
export const CHECK_CLIENT = `SELECT set_config('client_connection_check_interval', '1000', false) FROM pg_settings
  WHERE name = 'dynamic_shared_memory_type' AND setting <> 'windows'`;
