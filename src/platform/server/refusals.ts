import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Request } from 'express';
import {
  aboveVersions,
  ApiError,
  type ErrorCode,
  giveRequestId,
  isDeclared,
  originOf,
  requestIdOf,
} from '../api/index.js';
import { findHostProblem } from './request-target.js';

/** Why a request was refused before Express: a code of the Error, or that there were too many. */
export type Refusal = ErrorCode | 'overloaded';

const REFUSALS: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  TOO_MANY_PENDING: 'service_unavailable',
};

/** Why a connection is refused that has more requests pending than it may. */
export const TOO_MANY_PENDING = { code: 'TOO_MANY_PENDING' };

/** The page that explains every error by its code, of this service. */
const GUIDE = '/guides/errors';
/** What heads the address of that page, if that is not the address of a request. */
let configured = '';

/** Fixed bytes, written before Express: routing, an exception and a log line would cost more than serving it. */
const OVERLOADED = new ApiError('service_unavailable');
let shedding = asResponse(OVERLOADED);

/** Has errors tell of the guide under the address that clients know the service by. */
export function explainUnder(baseUrl = ''): void {
  configured = aboveVersions(baseUrl);
  shedding = asResponse(OVERLOADED);
}

/** A client that neither reads to the end nor closes after a refusal is cut off after this many milliseconds. */
const LINGER_MS = 1_000;

/**
 * Leads to what the code of an error means, and what to do (RFC 8288; `help`: HTML, 4.6.7.7).
 * @param origin heads the address of the guide, which else counts from that of the request (RFC 8288, 3.1)
 */
function helpLink({ code }: ApiError, origin = configured): string {
  return `<${origin}${GUIDE}${isDeclared(code) ? `#${code}` : ''}>; rel="help"`;
}

/** An error as it is sent: every failure of the service that is no page for people goes through here. */
function asResponse(error: ApiError, link: unknown = helpLink(error)) {
  const body = JSON.stringify(error);
  const headers: Record<string, string | number> = {
    ...error.headers,
    Link: String(link),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  };
  return { headers, body };
}

/** Has the log line and the `Link` of an answer tell of an error, in whatever form its body does. */
export function nameError(response: ServerResponse, error: ApiError): void {
  const request = response.req as Request & { errorCode?: ErrorCode };
  request.errorCode = error.code;
  // Not every server here is Express, which knows the scheme by which a proxy was asked; and the host may be what is wrong.
  const isTold = !configured && 'app' in request && !findHostProblem(request);
  const help = helpLink(error, isTold ? originOf(request) : configured);
  // A deprecated operation has named its successor.
  const others = response.getHeader('Link');
  response.setHeader('Link', others ? [others, help].flat().join(', ') : help);
}

/** Answers with an error; where an answer has begun, all that is left is to cut it off. */
export function writeError(response: ServerResponse, error: ApiError): void {
  // It was answered when its time was over.
  if (response.writableEnded) return;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // What it named was undone.
  response.removeHeader('Location');
  nameError(response, error);
  const { headers, body } = asResponse(error, response.getHeader('Link'));
  response.writeHead(error.status, headers).end(body);
}

/**
 * Answers what is not an HTTP request, or did not arrive in time, directly on its socket, and closes that.
 * @param first the answer that is sent next on the socket, if a request is under way
 * @param wasAnswered whether the request that it belongs to has had its answer already
 * @returns the code of the answer, if there was still a client to answer
 */
export function refuse(
  failure: NodeJS.ErrnoException | { code?: string },
  socket: Socket,
  first?: ServerResponse,
  wasAnswered = false,
): ErrorCode | undefined {
  // Already refused: closing with unread bytes resets the connection, and the client may lose the answer.
  if (socket.writableEnded && !socket.destroyed) return undefined;
  // Node takes the socket from an answer when all of it has been sent, and tells the others of that later.
  const current = first?.socket ? first : undefined;
  const isTold = wasAnswered || current?.headersSent;
  if (isTold || failure.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const error = new ApiError(REFUSALS[failure.code ?? ''] ?? 'bad_request');
  const { headers, body } = asResponse(error);
  const requestId = current ? requestIdOf(current) : randomUUID();
  if (current) current.statusCode = error.status;
  const all = { ...headers, Connection: 'close', 'X-Request-Id': requestId };
  socket.end(`${headOf(error.status, all)}${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  return error.code;
}

function headOf(status: number, headers: Record<string, string | number>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
}

/** For CONNECT, Node hands over the bare socket, which nobody reads. */
export function refuseTunnel(socket: Socket): ErrorCode | undefined {
  return refuse({}, socket.resume());
}

/** Answers that there is too much to do. */
export function shed(response: ServerResponse): 'overloaded' {
  response.writeHead(OVERLOADED.status, shedding.headers).end(shedding.body);
  return 'overloaded';
}

/** RFC 9110, 10.1.1: the only expectation is `100-continue`, which is answered when the body is read. */
export function refuseExpectation(response: ServerResponse): ErrorCode {
  const error = new ApiError('expectation_failed', undefined, { headers: { Connection: 'close' } });
  writeError(response, error);
  return error.code;
}

/** Headers of every response: the id that is also logged, and what keeps browsers from guessing types or storing. */
export function stamp(request: IncomingMessage, response: ServerResponse): void {
  giveRequestId(request, response);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}
