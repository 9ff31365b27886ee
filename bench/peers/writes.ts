import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../src/platform/api/api-error.js';
import { type Answer, answerOf, hashOf, type KeyedRequest, meaningOf, statementOf } from './answers.js';
import { type Caller, create, move, type Outcome, place, submit, type Write } from './kinds.js';
import { getOne, parseBody, readBytes, send, serve } from './plain.js';
import {
  authenticate,
  locate,
  readIdempotencyKey,
  readIfMatch,
  readNewMessage,
  readNewOrder,
  readNewPet,
  readOrderChange,
  readOrderId,
} from './shared.js';
import { pool } from './statements.js';

/** Carries out a write once for each key, and stores its answer with it. */
export type Keep = (write: Write, keyed: KeyedRequest) => Promise<Answer>;

/** Jobs in a table with what a worker needs to take the next, and no more. Both peers may create it at once. */
const JOBS = `
  SELECT pg_advisory_xact_lock(hashtext('bench_jobs'));
  CREATE TABLE IF NOT EXISTS bench_jobs (
    id uuid PRIMARY KEY,
    queue text NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    start_after timestamptz NOT NULL DEFAULT now());
  CREATE INDEX IF NOT EXISTS bench_jobs_next_idx ON bench_jobs (queue, start_after)`;

const GET_PET = '/v1/pets/';
const ORDER = '/v1/store/orders/';

/** Starts a peer that keeps the service's promises about writes. All that it reads is animals by id. */
export async function serveWrites(keep: Keep): Promise<void> {
  await pool.query(JOBS);
  serve(async (request, response, requestId) => {
    const owner = await authenticate(request.headers.authorization);
    const [path = ''] = request.url!.split('?', 1);
    if (request.method === 'GET' && path.startsWith(GET_PET))
      return getOne(path.slice(GET_PET.length), response);
    const by = { ...owner, requestId, address: request.socket.remoteAddress! };
    const { status, body, headers } = await answer(request, path, by, keep);
    send(response, status, body, headers);
  });
}

async function answer(request: IncomingMessage, path: string, by: Caller, keep: Keep): Promise<Answer> {
  const read = readerOf(`${request.method} ${path}`);
  if (!read) throw new ApiError('route_not_found');
  const bytes = await readBytes(request);
  const key = readIdempotencyKey(request.headersDistinct['idempotency-key']);
  const write = read(parseBody(bytes), by, request.headers);
  try {
    if (key === undefined) return await make(write);
    return await keep(write, {
      accountId: by.accountId,
      key,
      hash: hashOf(request.method!, path, bytes),
    });
  } catch (error) {
    throw meaningOf(error);
  }
}

type Reader = (body: unknown, by: Caller, headers: IncomingMessage['headers']) => Write;

/** What reads the request of an operation. */
function readerOf(operation: string): Reader | undefined {
  switch (operation) {
    case 'POST /v1/pets':
      return (body, _by, { host }) => create(readNewPet(body), locate(host, 'pets', ''));
    case 'POST /v1/store/orders':
      return (body, by, { host }) => place(by, readNewOrder(body), locate(host, 'store/orders', ''));
    case 'POST /v1/messages':
      return (body, { accountId }, { host }) =>
        submit(randomUUIDv7(), accountId, readNewMessage(body), locate(host, 'messages', ''));
    default: {
      if (!operation.startsWith(`PATCH ${ORDER}`)) return undefined;
      const id = operation.slice(`PATCH ${ORDER}`.length);
      return (body, by, headers) =>
        move(by, readOrderId(id), readOrderChange(body), readIfMatch(headers['if-match']));
    }
  }
}

/** A write without a key: one statement is one transaction. */
async function make(write: Write): Promise<Answer> {
  for (;;) {
    const { rows } = await pool.query<Outcome>(statementOf(write));
    const made = answerOf(write, rows[0]!);
    if (made) return made;
  }
}
