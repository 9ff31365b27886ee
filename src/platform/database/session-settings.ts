import type { ClientBase, QueryResult } from 'pg';
import { OperatorError } from '../process/index.js';

/**
 * All time-outs of the database, in milliseconds. A complete request is answered within 3 seconds (`request`); the other
 * time-outs end its work earlier, so that nothing waits without end. They are for a database that is away or stuck: one
 * that is busy, or has a slow disk, still answers in time.
 */
export const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` has no limit of its own. */
  connect: 1_000,
  /** The server cancels a statement that runs longer. The statements of the service take a few ms. */
  statement: 1_200,
  /**
   * The server cancels a statement that waits longer for a lock. A statement can wait twice for a row, in the queue and
   * then for the row lock: both together end before the statement time-out, which would hide the reason.
   */
  lock: 590,
  /** A connection whose server has sent nothing for this long is closed: the server is frozen or cut off. */
  silence: 1_300,
  /** A stream of rows whose server has sent nothing for this long fails. */
  silentStream: 30_000,
  /** A request with less time left gets no transaction: it would hardly finish. */
  transaction: 300,
  /** A complete request is answered after this, by a 503 if need be. */
  request: 2_900,
  /** The open transaction of a request is undone this long before its answer is due. */
  abortMargin: 100,
  /** A read that a replica has not answered by then goes to the primary. */
  replica: 120,
  /** A replica that takes longer to catch up is lagging; a healthy one takes about 1 ms. */
  replay: 10,
  /** The server ends a transaction that is idle for this long, such as that of a frozen process, and releases its locks. */
  idleInTransaction: 5_000,
  /** A migration stops waiting for a lock after this, as requests queue up behind it. */
  migrationLock: 2_000,
  /** A process waits `total` for the lock for migrations, and logs that once. */
  migrationTurn: { logged: 1_000, total: 600_000 },
  /** Connecting at the start, when no client waits for an answer. */
  start: 5_000,
};

/** The time-outs that a connection for requests asks its server for. */
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
 * Prepares a new connection in one round trip. Not by `options` of the startup packet, which poolers refuse.
 * @param further a statement to run too
 * @throws OperatorError unless its database is encoded in UTF-8
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
    `The encoding of the database ${name} is ${encoding}, and UTF8 is needed: create another with ` +
      `ENCODING 'UTF8' TEMPLATE template0, and move the data by pg_dump.`,
  );
}

/**
 * Lets a server that works on a statement check every second whether its client is still connected (not on Windows, which has
 * no such check).
 */
export const CHECK_CLIENT = `SELECT set_config('client_connection_check_interval', '1000', false) FROM pg_settings
  WHERE name = 'dynamic_shared_memory_type' AND setting <> 'windows'`;
