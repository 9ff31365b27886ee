import { DatabaseError } from 'pg';
import { ApiError } from '../../src/platform/api/api-error.js';
import type { Kind, Outcome, Write } from './kinds.js';
import type { Answer } from './server.js';

/** A write with a key, which must happen once. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  /** SHA-256 of method, path and body. */
  hash: Buffer;
}

/** The stored answer of a key, and whether it belongs to this request. */
export interface Stored {
  status: number;
  headers: Record<string, string>;
  body: string;
  isSame: boolean;
}

/** A prepared statement with its name. */
export interface Statement {
  name: string;
  text: string;
  values?: unknown[];
}

/** The columns of a `Stored`, given the hash of the request. */
export const storedColumns = (hash: string) => `status, headers, body, request_hash = ${hash} AS "isSame"`;

const texts = new Map<Kind, string>();

/** The one statement of a write, for an open transaction or for a transaction of its own. */
export function statementOf({ kind, values }: Write): Statement {
  let text = texts.get(kind);
  if (!text) texts.set(kind, (text = `WITH ${kind.queries()} ${selection(kind)}`));
  return { name: kind.name, text, values };
}

/** The final SELECT of a statement, always one row: an `Outcome` with further columns. */
export function selection({ finds }: Kind, columns = '', joins = ''): string {
  return `
    SELECT answer.*${finds ? ', found.*' : ''}${columns}
    FROM (SELECT) AS one LEFT JOIN answer ON true ${finds ? 'LEFT JOIN found ON true' : ''} ${joins}`;
}

/** @throws ApiError the reason why nothing was written; returns undefined if the write should be tried again */
export function answerOf({ kind, base, refusal }: Write, outcome: Outcome): Answer | undefined {
  const { id, body, etag } = outcome;
  if (body === null) {
    const why = refusal?.(outcome);
    if (why) throw why;
    return undefined;
  }
  const headers = { ...(base !== null && { location: base + id }), ...(etag !== null && { etag }) };
  return { status: kind.status, headers, body };
}

/** @throws ApiError `idempotency_key_reused` if the answer belongs to another request */
export function replayOf({ status, headers, body, isSame }: Stored): Answer {
  if (!isSame) throw new ApiError('idempotency_key_reused');
  return { status, headers: { ...headers, 'idempotency-replayed': 'true' }, body };
}

/** The client's error for a failure of the database, if the client caused the failure. */
export function meaningOf(error: unknown): unknown {
  const { constraint } = error instanceof DatabaseError ? error : {};
  if (constraint === 'pets_category_id_fkey')
    return new ApiError('category_not_found', undefined, { status: 400 });
  // Only if an animal was made available despite its open order.
  if (constraint === 'orders_open_pet_id_key') return new ApiError('pet_not_available');
  return error;
}
