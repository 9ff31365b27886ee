import { hash } from 'node:crypto';
import type { RawBodyRequest } from '@nestjs/common';
import { type AuthenticatedRequest, isLaterVersion, withoutVersion } from '../api/index.js';

/** A JSON body of more bytes is compared byte for byte: putting its properties in order would hold up others. */
const LARGE = 1_048_576;

const JSON_TYPE = /^application\/json\b/i;
/** RFC 2046, 5.1.1. */
const BOUNDARY = /^multipart\/[^;]+;.*?\bboundary="?([^";,\s]+)/i;

type Sent = RawBodyRequest<AuthenticatedRequest>;

/**
 * What makes two requests the same: method, path and body. `/v1/messages` and `/messages` are one path. JSON is compared as a
 * value: properties in any order, other white space and other escapes are the same, and a number is its digits. Of a form, the
 * parts count and not the boundary between them. Any other body counts byte for byte.
 */
export function fingerprintOf(request: Sent): Buffer {
  const { rawBody, headers } = request;
  const type = headers['content-type'] ?? '';
  const boundary = BOUNDARY.exec(type)?.[1];
  if (rawBody && boundary !== undefined) return hashOf(request, partsOf(rawBody, boundary));
  const isJson = rawBody && rawBody.length <= LARGE && JSON_TYPE.test(type);
  return hashOf(request, isJson ? [Buffer.from(canonical(rawBody))] : rawBody ? [rawBody] : []);
}

/** The same as 1.x stored it, of a body byte for byte. */
export function bytesFingerprintOf(request: Sent): Buffer {
  return hashOf(request, request.rawBody ? [request.rawBody] : []);
}

function hashOf({ method, path }: Sent, body: readonly Buffer[]): Buffer {
  const exact = path.replace(/\/+$/, '');
  const address = isLaterVersion(exact) ? exact : withoutVersion(exact);
  return hash('sha256', Buffer.concat([Buffer.from(`${method} ${address}\n`), ...body]), 'buffer');
}

/** JSON with the properties of each object in one order, without white space, and with numbers as they were sent. */
function canonical(json: Buffer): string {
  const text = new TextDecoder().decode(json);
  const ordered = (_name: string, value: unknown, { source }: { source?: string }): unknown => {
    if (typeof value === 'number') return JSON.rawJSON(source!);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };
  return JSON.stringify(JSON.parse(text, ordered));
}

/** What stands between the boundaries of a form, each part after its length. */
function partsOf(body: Buffer, boundary: string): Buffer[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: Buffer[] = [];
  for (let from = 0, to = 0; to >= 0; from = to + delimiter.length) {
    to = body.indexOf(delimiter, from);
    const part = body.subarray(from, to < 0 ? undefined : to);
    parts.push(Buffer.from(`${part.length}\n`), part);
  }
  return parts;
}
