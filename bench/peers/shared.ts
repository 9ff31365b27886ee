import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hashSecret, isSecret, KEYS } from '../../src/auth/secret.js';
import { ApiError, type ErrorCode } from '../../src/platform/api/api-error.js';
import {
  int64FromJson,
  isInt64Text,
  isPlainText,
  lengthInCodePoints,
} from '../../src/platform/api/formats.js';
import { encodeCursor } from '../cursor.js';
import { findKeyOwner, type KeyOwner, type ListQuery, type NewPet } from './statements.js';

export const STATUSES = ['available', 'pending', 'sold'];

/** The headers of getPet's deprecation. */
export const DEPRECATION = {
  Deprecation: `@${Date.parse('2026-11-21') / 1000}`,
  Sunset: new Date('2030-12-05').toUTCString(),
  Link: '</v1/pets>; rel="successor-version"',
};

/** The names that `express.json` gives its failures. */
const BODY_ERRORS: Record<string, ErrorCode> = {
  'entity.parse.failed': 'invalid_json',
  'entity.too.large': 'payload_too_large',
};

const ORDER_STATUSES = ['placed', 'approved', 'delivered', 'cancelled'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

const VISIBLE = /^[\x21-\x7e]{1,255}$/;
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
const LIMIT = /^(?:[1-9]\d?|100)$/;
const REQUEST_ID = /^[\w.:~+/=-]{1,128}$/;
const BEARER = /^bearer +(?=\S)/i;

/** Less than a second, as the service remembers a key. */
const KEY_LIFETIME_MS = 800;
const owners = new Map<string, { owner: Promise<KeyOwner>; until: number }>();

/** Whose request it is, by a query if its key was not seen recently. */
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

/** The id of a request: the client's own if it is well-formed. */
export function nameRequest(given: unknown): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

export function readListQuery({ limit, status, cursor }: Record<string, unknown>): ListQuery {
  require(limit === undefined || (typeof limit === 'string' && LIMIT.test(limit)), 'limit');
  require(status === undefined || STATUSES.includes(status as string), 'status');
  return {
    limit: limit === undefined ? 20 : Number(limit),
    status: status as string | undefined,
    after: cursor === undefined ? '0' : readCursor(cursor),
  };
}

export function readPetId(text: unknown): string {
  require(isInt64Text(text), 'petId');
  return text as string;
}

export function readOrderId(text: unknown): string {
  require(isInt64Text(text), 'orderId');
  return text as string;
}

export function readNewPet(body: unknown): NewPet {
  const { name, categoryId, status } = readObject(body);
  require(isText(name, 255) && /\S/.test(name), 'name');
  require(status === undefined || STATUSES.includes(status as string), 'status');
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

/** The header `Idempotency-Key`, of which there must not be several. */
export function readIdempotencyKey([key, ...others]: string[] = []): string | undefined {
  require(others.length === 0 && (key === undefined || VISIBLE.test(key)), 'Idempotency-Key');
  return key;
}

/** The tags of an `If-Match` (RFC 9110, 13.1.1); undefined where any state will do. */
export function readIfMatch(header: string | undefined): string[] | undefined {
  if (header === undefined || header === '*') return undefined;
  require(TAGS.test(header), 'If-Match');
  return header.match(new RegExp(TAG, 'g'))!;
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

function require(isValid: boolean, field: string): void {
  if (!isValid) throw new ApiError('validation_failed', `${field} is not valid.`);
}

/** The id after which a page starts. */
export function readCursor(cursor: unknown): string {
  require(typeof cursor === 'string', 'cursor');
  const id = Buffer.from(cursor as string, 'base64url')
    .toString()
    .replace(/^after:/, '');
  if (!isInt64Text(id) || encodeCursor(id) !== cursor) throw new ApiError('invalid_cursor');
  return id;
}

/** The `Link` to the next page, with every filter kept. */
export function linkToNext(host: string | undefined, query: object, next: string): string {
  const parameters = new URLSearchParams(query as Record<string, string>);
  parameters.set('cursor', encodeCursor(next));
  return `<http://${host}/v1/pets?${parameters.toString()}>; rel="next"`;
}

/** The address of something that was created. */
export function locate(host: string | undefined, path: string, id: string): string {
  return `http://${host}/v1/${path}/${id}`;
}

/** `express.json` ignores a body of another type. */
export function requireBody(
  request: IncomingMessage & { body?: unknown },
  _response: unknown,
  next: () => void,
): void {
  if (request.method === 'POST' && request.body === undefined) throw new ApiError('invalid_content_type');
  next();
}

/** Any thrown value as the failure that is sent to the client. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const code = BODY_ERRORS[(error as { type?: string }).type ?? ''];
  if (code) return new ApiError(code);
  console.error(error);
  return new ApiError('internal_error', undefined, { cause: error });
}

/** Prints where a peer listens, in the form of the service. */
export function announce(server: Server): void {
  const { port } = server.address() as AddressInfo;
  console.log(`API http://127.0.0.1:${port}/v1`);
}
