import { DatabaseError } from 'pg';
import { ApiError } from '../../src/platform/api/api-error.js';
import {
  answerOf,
  type KeyedRequest,
  replayOf,
  selection,
  type Statement,
  type Stored,
  storedColumns,
} from './answers.js';
import type { Kind, Outcome, Write } from './kinds.js';
import { type Answer, pool } from './server.js';
import { serveWrites } from './writes.js';

/** The row of a finished statement. */
interface Row extends Outcome {
  stored: Stored | null;
  /** Null if the statement did not try the lock. */
  isMine: boolean | null;
}

const texts = new Map<Kind, string>();

await serveWrites(keepInStatement);

/** Writes by one statement. Its INSERT fails if an answer is stored between the snapshot and the lock. */
async function keepInStatement(write: Write, keyed: KeyedRequest): Promise<Answer> {
  for (;;) {
    const row = await ask(statementOf(write, keyed));
    if (!row) continue;
    if (row.stored) return replayOf(row.stored);
    if (!row.isMine) throw new ApiError('idempotency_key_in_use');
    const made = answerOf(write, row);
    if (made) return made;
  }
}

/** The row of the statement; undefined if another request stored an answer meanwhile. */
async function ask(statement: Statement): Promise<Row | undefined> {
  try {
    return (await pool.query<Row>(statement)).rows[0];
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === 'bench_keys_pkey') return undefined;
    throw error;
  }
}

function statementOf({ kind, values, base }: Write, { accountId, key, hash }: KeyedRequest): Statement {
  let text = texts.get(kind);
  if (!text) texts.set(kind, (text = textOf(kind)));
  return { name: `${kind.name} once`, text, values: [...values, accountId, key, hash, base] };
}

function textOf(kind: Kind): string {
  const { parameters, queries, status } = kind;
  const [account, key, hash, base] = [1, 2, 3, 4].map((i) => `$${parameters + i}`);
  return `
    WITH stored AS MATERIALIZED (
      SELECT ${storedColumns(hash!)} FROM bench_keys WHERE account_id = ${account}::bigint AND key = ${key}),
    tried AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended(${key}, ${account})) AS "isMine"
      WHERE NOT EXISTS (SELECT FROM stored)),
    gate AS (SELECT FROM tried WHERE "isMine"),
    ${queries('gate')},
    kept AS (
      INSERT INTO bench_keys (account_id, key, request_hash, status, headers, body)
      SELECT ${account}, ${key}, ${hash}, ${status},
        jsonb_strip_nulls(jsonb_build_object('location', ${base}::text || id, 'etag', etag)), body
      FROM answer)
    ${selection(kind, ', tried.*, to_json(stored) AS stored', 'LEFT JOIN tried ON true LEFT JOIN stored ON true')}`;
}
