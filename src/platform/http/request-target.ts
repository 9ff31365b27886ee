import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { Request } from 'express';
import { ApiError, countHeader } from '../api/index.js';

/** A request target that needs no conversion, like nearly all targets. */
const PLAIN_TARGET = /^\/[!"$&-~]*$/;

/**
 * A name or an address in brackets, with an optional port (RFC 9110, 7.2). Escapes in names are refused: `URL` would decode
 * `%22` to a quote, which would end a string in the OpenAPI document.
 */
const HOST = /^(?:[\w.~!$&'()*+,;=-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The last valid host, which nearly every request repeats: parsing takes 1 µs. */
let lastHost = '';

/**
 * Converts a request target to a path that Express can route. Express would parse any other target as a URL, and
 * answer an invalid URL with a body of another shape.
 */
export function toPath(target: string): string {
  if (PLAIN_TARGET.test(target)) return target;
  const [bare = ''] = target.split('#', 1);
  // A target may have a scheme and a host (RFC 9112, 3.2.2).
  const local = bare.replace(/^https?:\/\/[^/?]*/i, '');
  const path = escapeMalformedPercents(local.replace(/[^\x21-\x7e]/g, (byte) => escapeByte(byte)));
  return path.startsWith('/') ? path : `/${path}`;
}

/** Escapes a byte; Node decodes targets as Latin-1, so each byte is one character. */
function escapeByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

/** Escapes every `%` of the path if the path cannot be decoded: the router would refuse the path before the guard runs. */
function escapeMalformedPercents(target: string): string {
  if (!target.includes('%')) return target;
  const [path = ''] = target.split('?', 1);
  try {
    decodeURIComponent(path);
    return target;
  } catch {
    return path.replaceAll('%', '%25') + target.slice(path.length);
  }
}

/** An error if the `Host` of a request, on which `Location` and `Link` rely, is missing, repeated or invalid. */
export function findHostProblem(request: IncomingMessage): ApiError | undefined {
  const { host } = request.headers;
  if (request.httpVersion === '1.1' && (!host || countHeader(request, 'host') > 1))
    return new ApiError('bad_request', 'The request needs one Host header.');
  if (host && !isHost(host)) return new ApiError('bad_request', 'The Host header is not valid.');
  return undefined;
}

function isHost(value: string): boolean {
  if (value === lastHost) return true;
  if (!HOST.test(value) || !URL.canParse(`http://${value}`)) return false;
  lastHost = value;
  return true;
}

/**
 * Makes `request.query` parse the target once; Express would parse it at every access. Call this before the first request.
 * https://expressjs.com/en/guide/overriding-express-api.html
 */
export function defineQuery(prototype: Request): void {
  Object.defineProperty(prototype, 'query', {
    configurable: true,
    get(this: Request & { parsedQuery?: object }) {
      const start = this.url.indexOf('?');
      return (this.parsedQuery ??= parseQuery(start < 0 ? '' : this.url.slice(start + 1)));
    },
  });
}

/**
 * Parses a query string. A repeated or bracketed parameter (`limit=1&limit=2`, `limit[]=1`) becomes, under its plain name, an
 * array, which every field refuses.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const decoding = text.includes('%') ? { decodeURIComponent: decode } : {};
  const query = parse(text, '&', '=', { maxKeys: 0, ...decoding }) as Record<string, unknown>;
  if (!/\[|%5B/i.test(text)) return query;
  for (const [name, value] of Object.entries(query)) {
    const bracket = name.indexOf('[');
    if (bracket <= 0) continue;
    const plain = name.slice(0, bracket);
    delete query[name];
    query[plain] = [query[plain] ?? [], value].flat();
  }
  return query;
}

/** Decodes escapes of bytes. Invalid UTF-8 becomes a lone surrogate, which every field refuses. Any other `%` stays as it is. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return '\ud800';
    }
  });
}
