import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADER = 'X-Request-Id';
const WELL_FORMED = /^[\w.:~+/=-]{1,128}$/;

/** Gives a request its id, for the response and the log: the client's own if that is well-formed, else a new one. */
export function giveRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  response.setHeader(HEADER, typeof given === 'string' && WELL_FORMED.test(given) ? given : randomUUID());
}

/** The id that a request was given. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(HEADER) ?? '');
}
