import type { IncomingMessage } from 'node:http';
import { ApiError, timesSent } from '../api/index.js';

/** A path and query in which nothing needs a second look; nearly every target is such a one. */
const USUAL = /^\/[!"$&-~]*$/;

/** RFC 9110, 7.2: a name or an address in brackets, and a port. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The last valid host, which nearly every request names again: parsing it takes 1 µs. */
let usual = '';

/**
 * The request target as a path that Express can route. It would parse other forms as URLs, and answer a failure itself,
 * in its own shape.
 */
export function toPath(target: string): string {
  if (USUAL.test(target)) return target;
  const [bare = ''] = target.split('#', 1);
  const path = escapeMalformedPercents(escapeBytes(withoutOrigin(bare)));
  return path.startsWith('/') ? path : `/${path}`;
}

/** RFC 9112, 3.2.2: a target may include its scheme and host. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}

/** Node turns each non-ASCII byte into one character. */
function escapeBytes(target: string): string {
  return target.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** If the path cannot be decoded, its `%` are taken literally: the router must not refuse it before the guard runs. */
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

/**
 * What is wrong with the `Host` of a request, of which it needs a valid one. Nothing else is done for a request whose
 * answer could not name an address: `Location` and `Link` begin with the host.
 */
export function findHostProblem(request: IncomingMessage): ApiError | undefined {
  const { host } = request.headers;
  if (request.httpVersion === '1.1' && (!host || timesSent(request, 'host') > 1))
    return new ApiError('bad_request', 'The request needs one Host header.');
  if (host && !isHost(host)) return new ApiError('bad_request', 'The Host header is not valid.');
  return undefined;
}

function isHost(value: string): boolean {
  if (value === usual) return true;
  if (!HOST.test(value) || !URL.canParse(`http://${value}`)) return false;
  usual = value;
  return true;
}

/**
 * Reads a query string. A parameter that is repeated or bracketed (`limit=1&limit=2`, `limit[]=1`) becomes an array
 * under its plain name, which no rule accepts, so that it is refused instead of ignored or half read.
 */
export function parseQuery(text: string | null | undefined): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (!text) return query;
  for (const [name, value] of new URLSearchParams(text)) {
    const bracket = name.indexOf('[');
    const plain = bracket > 0 ? name.slice(0, bracket) : name;
    const before = query[plain];
    if (before === undefined) query[plain] = bracket > 0 ? [value] : value;
    else if (Array.isArray(before)) before.push(value);
    else query[plain] = [before, value];
  }
  return query;
}
