import { createHash, randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../src/platform/api/api-error.js';
import { answerOf, type KeyedRequest, meaningOf, statementOf } from './answers.js';
import {
  authenticate,
  locate,
  readId,
  readIdempotencyKey,
  readIfMatch,
  readNewMessage,
  readNewOrder,
  readNewPet,
  readOrderChange,
} from './checks.js';
import { type Caller, create, move, type Outcome, place, submit, type Write } from './kinds.js';
import { type Answer, pool, readBody, serve } from './server.js';

/** Executes a write once for each key, and stores the answer with it. */
export type Keep = (write: Write, keyed: KeyedRequest) => Promise<Answer>;

/** Lean tables for stored answers and for jobs. Both peers may create them at once. */
const TABLES = `
  SELECT pg_advisory_xact_lock(hashtext('bench'));
  CREATE TABLE IF NOT EXISTS bench_keys (
    account_id bigint NOT NULL REFERENCES accounts,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    status integer NOT NULL,
    headers jsonb NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, key));
  CREATE INDEX IF NOT EXISTS bench_keys_created_at_idx ON bench_keys (created_at);
  CREATE TABLE IF NOT EXISTS bench_jobs (
    id uuid PRIMARY KEY,
    queue text NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    start_after timestamptz NOT NULL DEFAULT now());
  CREATE INDEX IF NOT EXISTS bench_jobs_next_idx ON bench_jobs (queue, start_after)`;

const CHANGE = 'PATCH /v1/store/orders/';

/** Starts a peer that keeps the service's promises about writes, and serves only writes. */
export async function serveWrites(keep: Keep): Promise<void> {
  await pool.query(TABLES);
  serve(async (request, requestId) => {
    const owner = await authenticate(request.headers.authorization);
    const [path = ''] = request.url!.split('?', 1);
    return answer(request, path, { ...owner, requestId, address: request.socket.remoteAddress! }, keep);
  });
}

async function answer(request: IncomingMessage, path: string, by: Caller, keep: Keep): Promise<Answer> {
  const read = readerOf(`${request.method} ${path}`);
  if (!read) throw new ApiError('route_not_found');
  const { bytes, body } = await readBody(request);
  const key = readIdempotencyKey(request.headersDistinct['idempotency-key']);
  const write = read(body, by, request.headers);
  try {
    if (key === undefined) return await make(write);
    const hash = createHash('sha256').update(`${request.method} ${path}\n`).update(bytes).digest();
    return await keep(write, { accountId: by.accountId, key, hash });
  } catch (error) {
    throw meaningOf(error);
  }
}

type Reader = (body: unknown, by: Caller, headers: IncomingMessage['headers']) => Write;

const READERS: Record<string, Reader> = {
  'POST /v1/pets': (body, _by, { host }) => create(readNewPet(body), locate(host, 'pets')),
  'POST /v1/store/orders': (body, by, { host }) =>
    place(by, readNewOrder(body), locate(host, 'store/orders')),
  'POST /v1/messages': (body, { accountId }, { host }) =>
    submit(randomUUIDv7(), accountId, readNewMessage(body), locate(host, 'messages')),
};

/** Reads the request of an operation. */
function readerOf(operation: string): Reader | undefined {
  if (!operation.startsWith(CHANGE)) return READERS[operation];
  return (body, by, headers) => {
    const id = readId(operation.slice(CHANGE.length), 'orderId');
    return move(by, id, readOrderChange(body), readIfMatch(headers['if-match']));
  };
}

/** A write without a key: one statement, in its own transaction. */
async function make(write: Write): Promise<Answer> {
  for (;;) {
    const { rows } = await pool.query<Outcome>(statementOf(write));
    const made = answerOf(write, rows[0]!);
    if (made) return made;
  }
}
