import { ApiError } from '../../src/platform/api/api-error.js';
import type { NewPet, OrderStatus } from './checks.js';

/** The author of a change, as in the audit log. */
export interface Caller {
  accountId: string;
  keyId: string;
  requestId: string;
  address: string;
}

/** The outcome of a statement: its answer, and the state that it found. */
export interface Outcome {
  id: string | null;
  body: string | null;
  etag: string | null;
  /** Status of the unavailable animal, or of the order; null if there is none. */
  state?: string | null;
  /** Whether `If-Match` names the state. */
  isMatch?: boolean | null;
}

/** A kind of write: one statement makes all changes and the JSON of the answer, in one round trip. */
export interface Kind {
  name: string;
  /** Status of the answer. */
  status: number;
  /** The number of parameters. */
  parameters: number;
  /**
   * The kind's `WITH` queries: `answer` has a row if the write happened; `found` has the reason if not.
   * @param gate names a query without columns: the write happens only if that query has a row
   */
  queries: (gate?: string) => string;
  /** Whether the queries include `found`. */
  finds: boolean;
}

/** A requested write. */
export interface Write {
  kind: Kind;
  values: unknown[];
  /** `Location` of the answer up to the id; null without a `Location`. */
  base: string | null;
  /** Why nothing was written; undefined if another write came first, and this one should be tried again. */
  refusal?: (outcome: Outcome) => ApiError | undefined;
}

/** The statuses from which an order can reach each status. */
const FROM: Record<OrderStatus, OrderStatus[]> = {
  placed: [],
  approved: ['placed'],
  delivered: ['approved'],
  cancelled: ['placed', 'approved'],
};

/** The animal's status for each status of its order. */
const PET_STATUS: Partial<Record<OrderStatus, string>> = { delivered: 'sold', cancelled: 'available' };

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const PET = `'{"id":' || id || ',"name":' || to_json(name) || ',"categoryId":' || category_id ||
  CASE WHEN status IS NULL THEN '}' ELSE ',"status":"' || status || '"}' END`;
const ORDER = `'{"id":' || orders.id || ',"petId":' || orders.pet_id || ',"status":"' || orders.status ||
  '","createdAt":"' || ${time('orders.created_at')} || '","updatedAt":"' || ${time('orders.updated_at')} || '"}'`;
const MESSAGE = `'{"id":"' || id || '","message":' || to_json(message) || ',"status":"' || status ||
  '","createdAt":"' || ${time('created_at')} || '"}'`;
/** The `ETag` of a body, as the service makes it. */
const TAG = `'"' || left(translate(encode(sha256(convert_to(body, 'UTF8')), 'base64'), '+/', '-_'), 22) || '"'`;

const RECORD = 'audit_log (actor, account_id, key_id, request_id, address, action, subject_id, details)';

const CREATE: Kind = {
  name: 'create',
  status: 201,
  parameters: 3,
  finds: false,
  queries: (gate) => `
    made AS (
      INSERT INTO pets (name, category_id, status) SELECT $1, $2::bigint, $3 ${gate ? `FROM ${gate}` : ''}
      RETURNING id, ${PET} AS body),
    answer AS (SELECT id::text, body, NULL AS etag FROM made)`,
};

const SUBMIT: Kind = {
  name: 'submit',
  status: 202,
  parameters: 3,
  finds: false,
  queries: (gate) => `
    made AS (
      INSERT INTO messages (id, account_id, message, status)
      SELECT $1::uuid, $2::bigint, $3, 'queued' ${gate ? `FROM ${gate}` : ''}
      RETURNING id, ${MESSAGE} AS body),
    job AS (INSERT INTO bench_jobs (id, queue) SELECT id, 'messages' FROM made),
    answer AS (SELECT id::text, body, NULL AS etag FROM made)`,
};

const PLACE: Kind = {
  name: 'place',
  status: 201,
  parameters: 5,
  finds: true,
  queries: (gate) => `
    taken AS (
      UPDATE pets SET status = 'pending' ${gate ? `FROM ${gate}` : ''}
      WHERE pets.id = $5 AND status = 'available' RETURNING pets.id),
    made AS (
      INSERT INTO orders (account_id, pet_id, status) SELECT $1::bigint, id, 'placed' FROM taken
      RETURNING id, pet_id, ${ORDER} AS body),
    record AS (
      INSERT INTO ${RECORD}
      SELECT 'account', $1, $2::bigint, $3, $4, 'order.placed', id::text, jsonb_build_object('petId', pet_id)
      FROM made),
    answer AS (SELECT id::text, body, ${TAG} AS etag FROM made),
    found AS (
      SELECT coalesce(status, 'none') AS state FROM pets${gate ? `, ${gate}` : ''}
      WHERE pets.id = $5 AND NOT EXISTS (SELECT FROM made))`,
};

/** Changes the order only if it is still in the state that the statement read: the tag of that state is then valid. */
const MOVE: Kind = {
  name: 'move',
  status: 200,
  parameters: 9,
  finds: true,
  queries: (gate) => `
    seen AS (
      SELECT id, status, ${ORDER} AS body FROM orders${gate ? `, ${gate}` : ''}
      WHERE id = $5 AND account_id = $1::bigint),
    found AS MATERIALIZED (
      SELECT id AS order_id, status AS state, $8::text[] IS NULL OR ${TAG} = ANY($8) AS "isMatch" FROM seen),
    made AS (
      UPDATE orders SET status = $6, updated_at = now() FROM found
      WHERE orders.id = order_id AND orders.status = state AND state = ANY($7::text[]) AND "isMatch"
      RETURNING orders.id, pet_id, state, ${ORDER} AS body),
    settled AS (
      UPDATE pets SET status = $9 FROM made WHERE pets.id = pet_id AND $9::text IS NOT NULL),
    record AS (
      INSERT INTO ${RECORD}
      SELECT 'account', $1, $2::bigint, $3, $4, 'order.' || $6, id::text,
        jsonb_build_object('petId', pet_id, 'from', state)
      FROM made),
    answer AS (SELECT id::text, body, ${TAG} AS etag FROM made)`,
};

export function create({ name, categoryId, status }: NewPet, base: string): Write {
  return { kind: CREATE, values: [name, categoryId, status ?? null], base };
}

export function submit(id: string, accountId: string, message: string, base: string): Write {
  return { kind: SUBMIT, values: [id, accountId, message], base };
}

export function place(by: Caller, petId: string, base: string): Write {
  return { kind: PLACE, values: [...columnsOf(by), petId], base, refusal: notTaken };
}

/** @param tags the ETags of the states that the client accepts; undefined if it accepts any state */
export function move(by: Caller, id: string, status: OrderStatus, tags: string[] | undefined): Write {
  const from = FROM[status];
  const values = [...columnsOf(by), id, status, from, tags ?? null, PET_STATUS[status] ?? null];
  return { kind: MOVE, values, base: null, refusal: notMoved };

  function notMoved({ state, isMatch }: Outcome): ApiError | undefined {
    if (!state) return new ApiError('order_not_found');
    if (!isMatch) return new ApiError('precondition_failed');
    if (from.includes(state as OrderStatus)) return undefined;
    return new ApiError('invalid_transition', `The order is ${state} and cannot become ${status}.`);
  }
}

function notTaken({ state }: Outcome): ApiError | undefined {
  if (!state) return new ApiError('pet_not_found', undefined, { status: 400 });
  return state === 'available' ? undefined : new ApiError('pet_not_available');
}

function columnsOf({ accountId, keyId, requestId, address }: Caller): string[] {
  return [accountId, keyId, requestId, address];
}
