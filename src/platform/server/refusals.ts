import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, type ErrorCode } from '../api/api-error.js';
import { asResponse, writeError } from './error-response.js';
import { giveRequestId, requestIdOf } from './request-id.js';

const REFUSALS: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
};

/** Connections answered before their request was complete: another answer would be read as that to the next one. */
const answered = new WeakSet<Socket>();

/** Notes what `refuse` must know of a request. */
export function watchForEarlyAnswer(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  answered.delete(socket);
  response.once('finish', () => {
    if (!request.complete) answered.add(socket);
  });
}

/** A client that neither reads to the end nor closes after a refusal is cut off after this many milliseconds. */
const LINGER_MS = 1_000;

/**
 * Answers what is not an HTTP request, or did not arrive in time, directly on its socket, and closes that.
 * @returns the code of the answer, if there was still a client to answer
 */
export function refuse(
  failure: NodeJS.ErrnoException | { code?: string },
  socket: Socket,
): ErrorCode | undefined {
  // Already refused: closing with unread bytes resets the connection, and the client may lose the answer.
  if (socket.writableEnded && !socket.destroyed) return undefined;
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage;
  const isTold = answered.has(socket) || current?.headersSent;
  if (isTold || failure.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const error = new ApiError(REFUSALS[failure.code ?? ''] ?? 'bad_request');
  const { headers, body } = asResponse(error);
  const requestId = current ? requestIdOf(current) : randomUUID();
  if (current) current.statusCode = error.status;
  const all = { ...headers, Connection: 'close', 'X-Request-Id': requestId };
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    ...Object.entries(all).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  return error.code;
}

/** For CONNECT, Node hands over the bare socket, without its own listeners: an error on it would end the process. */
export function refuseTunnel(socket: Socket): ErrorCode | undefined {
  return refuse({}, socket.on('error', () => socket.destroy()).resume());
}

/** RFC 9110, 10.1.1: the only expectation is `100-continue`, which is answered when the body is read. */
export function refuseExpectation(request: IncomingMessage, response: ServerResponse): ErrorCode {
  stamp(request, response);
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
