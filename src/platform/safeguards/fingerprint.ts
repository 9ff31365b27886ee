import { hash } from 'node:crypto';
import type { RawBodyRequest } from '@nestjs/common';
import { type AuthenticatedRequest, isLaterVersion, withoutVersion } from '../api/index.js';

/** Bytes. Larger JSON is compared byte for byte: sorting its properties would block the event loop. */
const MAX_SORTED_BYTES = 1_048_576;

/** A form with more parts is compared byte for byte: cutting it up would block the event loop, and fill the memory. */
const MAX_PARTS = 10_000;

const JSON_TYPE = /^application\/json\b/i;
/** RFC 2046, 5.1.1. */
const BOUNDARY = /^multipart\/[^;]+;.*?\bboundary="?([^";,\s]+)/i;

const utf8 = new TextDecoder();

type Sent = RawBodyRequest<AuthenticatedRequest>;

/**
 * A hash of method, path and body: equal requests have equal hashes. `/v1/messages` and `/messages` are one
 * path. JSON is compared as a value: the digits of numbers matter, but not property order, white space or
 * escapes. Forms are compared by their parts, without the boundary; other bodies are compared byte for byte.
 */
export function fingerprintOf(request: Sent): Buffer {
  const { rawBody, headers } = request;
  const type = headers['content-type'] ?? '';
  const boundary = BOUNDARY.exec(type)?.[1];
  if (rawBody && boundary !== undefined) return hashOf(request, partsOf(rawBody, boundary));
  const isJson = rawBody && rawBody.length <= MAX_SORTED_BYTES && JSON_TYPE.test(type);
  return hashOf(request, isJson ? [canonical(rawBody)] : rawBody ? [rawBody] : []);
}

function hashOf(request: Sent, body: readonly Buffer[]): Buffer {
  const { method, path } = request;
  const exact = path.replace(/\/+$/, '');
  const address = isLaterVersion(exact) ? exact : withoutVersion(exact);
  const head = Buffer.from(`${method} ${address}\n`);
  return hash('sha256', Buffer.concat([head, ...body]), 'buffer');
}

/**
 * JSON with sorted properties, without white space, and with numbers as sent. Returns JSON unchanged if it
 * is invalid, or nested too deeply to sort.
 */
function canonical(json: Buffer): Buffer {
  const text = utf8.decode(json);
  try {
    const value: unknown = JSON.parse(text);
    // If `stringify` restores the text, as it mostly does, no digit was lost. The reviver is twice as slow.
    if (JSON.stringify(value) === text) return Buffer.from(JSON.stringify(sorted(value)));
    const exact = JSON.parse(text, (_name, one: unknown, { source }) =>
      typeof one === 'number' ? JSON.rawJSON(source!) : one,
    );
    return Buffer.from(JSON.stringify(sorted(exact)));
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError) return json;
    throw error;
  }
}

/** A JSON value with sorted properties. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, one]) => [name, sorted(one)]));
}

/** The parts of a form, each preceded by its length; the whole form if it has very many parts. */
function partsOf(body: Buffer, boundary: string): Buffer[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: Buffer[] = [];
  for (let from = 0, to = 0; to >= 0; from = to + delimiter.length) {
    if (parts.length > 2 * MAX_PARTS) return [body];
    to = body.indexOf(delimiter, from);
    const part = body.subarray(from, to < 0 ? undefined : to);
    parts.push(Buffer.from(`${part.length}\n`), part);
  }
  return parts;
}
