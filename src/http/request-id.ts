import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADER = 'X-Request-Id';
const WELL_FORMED = /^[\w.:~+/=-]{1,128}$/;

/** Names a request, in its response and in the log: as the client did where that is well-formed, else anew. */
export function giveRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  response.setHeader(HEADER, typeof given === 'string' && WELL_FORMED.test(given) ? given : randomUUID());
}

/** The name that a request was given. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(HEADER) ?? '');
}
