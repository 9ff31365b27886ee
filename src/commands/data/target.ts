import { randomInt } from 'node:crypto';
import type { Client } from 'pg';
import { UNFINISHED_COPY } from '../../platform/database/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { OWN } from './tables.js';

/** Arbitrary; the locks of copies. */
const LOCK = { copy: 7_387_002, identity: 7_387_003 };
const OLDEST_VERSION = 15;

const HOLDS_DATA = `
  SELECT FROM pg_class class JOIN pg_namespace namespace ON namespace.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND ${OWN} LIMIT 1`;

/**
 * Reserves a database for a copy, which it remembers until `finishTarget`.
 * @throws OperatorError if it is too old, is the source itself, is being copied into, or holds anything else than an
 * unfinished copy
 */
export async function beginTarget(source: Client, target: Client): Promise<void> {
  const { rows } = await target.query<{ version: string }>(
    `SELECT current_setting('server_version') AS version`,
  );
  if (Number.parseInt(rows[0]!.version, 10) < OLDEST_VERSION)
    throw new OperatorError(
      `The target is PostgreSQL ${rows[0]!.version}; ${OLDEST_VERSION} or newer is needed.`,
    );
  if (!(await isOther(source, target))) throw new OperatorError('The target is the source itself.');
  if (!(await lock(target, 'pg_try_advisory_lock($1)', [LOCK.copy])))
    throw new OperatorError('Another copy into the target is under way.');
  const begun = await target.query('SELECT FROM pg_namespace WHERE nspname = $1', [UNFINISHED_COPY]);
  if (begun.rowCount) return;
  const held = await target.query(HOLDS_DATA);
  if (held.rowCount)
    throw new OperatorError(
      'The target already holds data, which a copy would replace: give a database without tables.',
    );
  await target.query(`CREATE SCHEMA ${UNFINISHED_COPY}`);
}

/** Forgets the copy, so that services start on the database and no other copy replaces what they write. */
export async function finishTarget(target: Client): Promise<void> {
  await target.query(`DROP SCHEMA ${UNFINISHED_COPY}`);
}

/** Whether two connections lead to two databases: in the same one, a lock that one has is refused to the other. */
async function isOther(source: Client, target: Client): Promise<boolean> {
  const key = [LOCK.identity, randomInt(2 ** 31)];
  await source.query('SELECT pg_advisory_xact_lock($1, $2)', key);
  return lock(target, 'pg_try_advisory_lock($1, $2)', key);
}

async function lock(session: Client, call: string, key: number[]): Promise<boolean> {
  const { rows } = await session.query<{ got: boolean }>(`SELECT ${call} AS got`, key);
  return rows[0]!.got;
}
