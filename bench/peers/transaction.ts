import type { PoolClient, QueryResult } from 'pg';
import { ApiError } from '../../src/platform/api/api-error.js';
import {
  answerOf,
  type KeyedRequest,
  replayOf,
  type Statement,
  statementOf,
  type Stored,
  storedColumns,
} from './answers.js';
import type { Write } from './kinds.js';
import { type Answer, pool } from './server.js';
import { serveWrites } from './writes.js';

const LOCK = {
  name: 'lock',
  text: 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, $2::bigint)) AS "isMine"',
};
const FIND = {
  name: 'find',
  text: `SELECT ${storedColumns('$3')} FROM bench_keys WHERE key = $1 AND account_id = $2`,
};
const STORE = {
  name: 'store',
  text: `
    INSERT INTO bench_keys (key, account_id, request_hash, status, headers, body)
    VALUES ($1, $2, $3, $4, $5, $6)`,
};

// `pipeline` sends a statement together with the previous one if it does not need the previous answer.
pool.on('connect', (client) => Object.assign(client, { pipeline: true }));
await serveWrites(keepInTransaction);

/** One transaction in three round trips. */
async function keepInTransaction(write: Write, keyed: KeyedRequest): Promise<Answer> {
  const client = await pool.connect();
  let result: Answer | Stored;
  try {
    result = await carryOut(client, write, keyed);
  } catch (error) {
    // Undone first, so that the key is free: the client may retry as soon as it has the error.
    await undo(client);
    throw error;
  }
  if (!('isSame' in result)) {
    client.release();
    return result;
  }
  // A replay has written nothing, so its transaction may end after the answer.
  void undo(client);
  return replayOf(result);
}

/** The committed answer; or the stored answer, with the transaction still open. */
async function carryOut(
  client: PoolClient,
  write: Write,
  { accountId, key, hash }: KeyedRequest,
): Promise<Answer | Stored> {
  const name = [key, accountId];
  // The order matters: the search finds an answer that was stored before the lock became free.
  const lock = { ...LOCK, values: name };
  const find = { ...FIND, values: [...name, hash] };
  const [, locked, found] = await together(client, ['BEGIN', lock, find]);
  const stored: Stored | undefined = found!.rows[0];
  if (stored) return stored;
  if (!locked!.rows[0].isMine) throw new ApiError('idempotency_key_in_use');
  for (;;) {
    const { rows } = await client.query(statementOf(write));
    const answer = answerOf(write, rows[0]);
    if (!answer) continue;
    const { status, headers, body } = answer;
    await together(client, [{ ...STORE, values: [...name, hash, status, headers, body] }, 'COMMIT']);
    return answer;
  }
}

/** Sends statements in one packet. */
async function together(
  client: PoolClient,
  statements: readonly (string | Statement)[],
): Promise<QueryResult[]> {
  const { stream } = client.connection;
  stream.cork();
  const answers = statements.map((statement) => client.query(statement as string));
  stream.uncork();
  return Promise.all(answers);
}

async function undo(client: PoolClient): Promise<void> {
  try {
    await client.query('ROLLBACK');
    client.release();
  } catch (error) {
    client.release(error as Error);
  }
}
