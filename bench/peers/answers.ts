import { DatabaseError } from 'pg';
import { ApiError } from '../../src/platform/api/api-error.js';
import type { Kind, Outcome, Write } from './kinds.js';
import type { Answer } from './server.js';

/** A write that must happen once. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  /** SHA-256 of method, path and body. */
  hash: Buffer;
}

/** What is stored under a key, and whether it is the answer to this request. */
export interface Stored {
  status: number;
  headers: Record<string, string>;
  body: string;
  isSame: boolean;
}

/** A statement that is prepared under its name. */
export interface Statement {
  name: string;
  text: string;
  values?: unknown[];
}

/** The columns of a `Stored`, given the hash of the request. */
export const storedColumns = (hash: string) => `status, headers, body, request_hash = ${hash} AS "isSame"`;

const texts = new Map<Kind, string>();

/** A write by one statement, which is a transaction of its own unless one is open. */
export function statementOf({ kind, values }: Write): Statement {
  let text = texts.get(kind);
  if (!text) texts.set(kind, (text = `WITH ${kind.queries()} ${selection(kind)}`));
  return { name: kind.name, text, values };
}

/** The end of a statement: always one row, an `Outcome` and more. */
export function selection({ finds }: Kind, columns = '', joins = ''): string {
  return `
    SELECT answer.*${finds ? ', found.*' : ''}${columns}
    FROM (SELECT) AS one LEFT JOIN answer ON true ${finds ? 'LEFT JOIN found ON true' : ''} ${joins}`;
}

/** @throws ApiError why nothing was made; undefined if it is to be tried again */
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

/** @throws ApiError `idempotency_key_reused` where it is the answer to another request */
export function replayOf({ status, headers, body, isSame }: Stored): Answer {
  if (!isSame) throw new ApiError('idempotency_key_reused');
  return { status, headers: { ...headers, 'idempotency-replayed': 'true' }, body };
}

/** A failure of the database as the client's, where it is. */
export function meaningOf(error: unknown): unknown {
  const { constraint } = error instanceof DatabaseError ? error : {};
  if (constraint === 'pets_category_id_fkey')
    return new ApiError('category_not_found', undefined, { status: 400 });
  // Only an animal whose status was set past its open order gets there.
  if (constraint === 'orders_open_pet_id_key') return new ApiError('pet_not_available');
  return error;
}
