import { hashSecret, isSecret, KEYS } from '../../src/auth/secret.js';
import { ApiError } from '../../src/platform/api/api-error.js';
import { int64FromJson, isInt64Text } from '../../src/platform/api/fields.js';
import { isPlainText, lengthInCodePoints } from '../../src/platform/api/formats.js';
import { encodeCursor } from '../wire.js';
import { pool } from './server.js';

export interface KeyOwner {
  accountId: string;
  keyId: string;
}

export interface NewPet {
  name: string;
  categoryId: string;
  status?: string | null;
}

export interface ListQuery {
  limit: number;
  status?: string;
  /** The id after which the page starts. */
  after: string;
}

const STATUSES = new Set<unknown>(['available', 'pending', 'sold']);
const ORDER_STATUSES = ['placed', 'approved', 'delivered', 'cancelled'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

const VISIBLE = /^[\x21-\x7e]{1,255}$/;
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
const LIMIT = /^(?:[1-9]\d?|100)$/;
const BEARER = /^bearer +(?=\S)/i;

/** The service also caches a key for less than a second. */
const KEY_LIFETIME_MS = 800;
const owners = new Map<string, { owner: Promise<KeyOwner>; until: number }>();

/** The account of a request, by a query if the key is not cached. */
export async function authenticate(authorization = ''): Promise<KeyOwner> {
  const [scheme] = BEARER.exec(authorization) ?? [];
  if (!scheme) throw new ApiError('missing_api_key');
  const key = authorization.slice(scheme.length);
  const known = owners.get(key);
  if (known && performance.now() < known.until) return known.owner;
  if (!isSecret(KEYS, key)) throw new ApiError('invalid_api_key');
  const owner = findKeyOwner(hashSecret(key));
  owners.set(key, { owner, until: performance.now() + KEY_LIFETIME_MS });
  owner.catch(() => owners.delete(key));
  return owner;
}

/** The owner of a key that has not expired. */
async function findKeyOwner(hash: Buffer): Promise<KeyOwner> {
  const text = 'SELECT id, account_id, expires_at FROM api_keys WHERE hash = $1';
  const { rows } = await pool.query({ name: 'key', text, values: [hash] });
  if (!rows[0] || rows[0].expires_at?.getTime() <= Date.now()) throw new ApiError('invalid_api_key');
  return { accountId: rows[0].account_id, keyId: rows[0].id };
}

export function readListQuery({ limit, status, cursor }: Record<string, unknown>): ListQuery {
  require(limit === undefined || (typeof limit === 'string' && LIMIT.test(limit)), 'limit');
  require(status === undefined || STATUSES.has(status), 'status');
  return {
    limit: limit === undefined ? 20 : Number(limit),
    status: status as string | undefined,
    after: cursor === undefined ? '0' : readCursor(cursor, status as string | undefined),
  };
}

/** The id in a path. */
export function readId(text: string, name: string): string {
  require(isInt64Text(text), name);
  return text;
}

export function readNewPet(body: unknown): NewPet {
  const { name, categoryId, status } = readObject(body);
  require(isText(name, 255) && /\S/.test(name), 'name');
  require(status === undefined || STATUSES.has(status), 'status');
  return { name: name as string, categoryId: readInt64(categoryId, 'categoryId'), status: status as string };
}

export function readNewOrder(body: unknown): string {
  return readInt64(readObject(body).petId, 'petId');
}

export function readNewMessage(body: unknown): string {
  const { message } = readObject(body);
  require(isText(message, 65_536), 'message');
  return message as string;
}

export function readOrderChange(body: unknown): OrderStatus {
  const { status } = readObject(body);
  require(ORDER_STATUSES.includes(status as OrderStatus), 'status');
  return status as OrderStatus;
}

/** The header `Idempotency-Key`, which must not be repeated. */
export function readIdempotencyKey([key, ...others]: string[] = []): string | undefined {
  require(others.length === 0 && (key === undefined || VISIBLE.test(key)), 'Idempotency-Key');
  return key;
}

/** The tags of an `If-Match` (RFC 9110, 13.1.1); undefined for any state. */
export function readIfMatch(header: string | undefined): string[] | undefined {
  if (header === undefined || header === '*') return undefined;
  require(TAGS.test(header), 'If-Match');
  return header.match(new RegExp(TAG, 'g'))!;
}

/** The `Location` of a new row, up to its id. */
export function locate(host: string | undefined, path: string): string {
  return `http://${host}/v1/${path}/`;
}

function isText(value: unknown, max: number): value is string {
  return isPlainText(value) && value.length > 0 && lengthInCodePoints(value) <= max;
}

function readInt64(value: unknown, field: string): string {
  const digits = int64FromJson(value);
  require(digits !== undefined, field);
  return digits!;
}

function readObject(body: unknown): Record<string, unknown> {
  require(typeof body === 'object' && body !== null && !Array.isArray(body), 'The body');
  return body as Record<string, unknown>;
}

/** The id after which a page starts. */
function readCursor(cursor: unknown, status: string | undefined): string {
  require(typeof cursor === 'string', 'cursor');
  const id = Buffer.from(cursor as string, 'base64url')
    .toString()
    .replace(/^[^:]+:/, '');
  if (!isInt64Text(id) || encodeCursor(id, status) !== cursor) throw new ApiError('invalid_cursor');
  return id;
}

function require(isValid: boolean, field: string): void {
  if (!isValid) throw new ApiError('validation_failed', `${field} is not valid.`);
}
