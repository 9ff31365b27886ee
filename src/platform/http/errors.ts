import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpException, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { aboveVersions, ApiError, type ErrorCode, isDeclared, originOf, requestIdOf } from '../api/index.js';
import { isUnavailable } from '../database/index.js';
import { messageOf } from '../telemetry/index.js';
import { findHostProblem } from './request-target.js';

/** The page that explains every error by its code, of this service. */
const GUIDE = '/guides/errors';
/** What heads the address of that page, if that is not the address of a request. */
let configured = '';

/** Has errors tell of the guide under the address that clients know the service by. */
export function explainUnder(baseUrl = ''): void {
  configured = aboveVersions(baseUrl);
}

/** Headers that describe the answer of a handler: an error that takes its place has none of them. */
const OF_ANSWER =
  /^(?:content-.+|etag|last-modified|location|cache-control|expires|accept-ranges|set-cookie)$/i;

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
function asResponse(error: ApiError, link: string) {
  const body = JSON.stringify(error);
  const headers: Record<string, string | number> = {
    ...error.headers,
    Link: link,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  };
  return { headers, body };
}

/** Has the log line and the `Link` of an answer name an error, in whatever form its body does. Returns that `Link`. */
export function nameError(response: ServerResponse, error: ApiError): string {
  const request = response.req as Request & { errorCode?: ErrorCode };
  request.errorCode = error.code;
  // What Express has not seen has no scheme by which a proxy was asked; and the host may be what is wrong.
  const isKnown = !configured && 'app' in request && !findHostProblem(request);
  const help = helpLink(error, isKnown ? originOf(request) : configured);
  // A deprecated operation has named its successor.
  const others = response.getHeader('Link');
  const link = others ? [others, help].flat().join(', ') : help;
  response.setHeader('Link', link);
  return link;
}

/** Answers with an error; where an answer has begun, all that is left is to cut it off. */
export function writeError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // The range that there is stands in the refusal of another (RFC 9110, 15.5.17).
  const range = error.status === 416 ? response.getHeader('Content-Range') : undefined;
  for (const name of response.getHeaderNames()) if (OF_ANSWER.test(name)) response.removeHeader(name);
  if (range) response.setHeader('Content-Range', range);
  response.setHeader('Cache-Control', 'no-store');
  const { headers, body } = asResponse(error, nameError(response, error));
  // As a throttler of a team sets it.
  const later = response.getHeader('Retry-After');
  if (later !== undefined) headers['Retry-After'] = String(later);
  response.writeHead(error.status, headers).end(body);
}

/** Answers what is no HTTP request, or did not arrive in time, on the bare socket, and closes that. */
export function refuseOn(socket: Socket, error: ApiError, requestId: string = randomUUID()): void {
  const { headers, body } = asResponse(error, helpLink(error));
  const all = { ...headers, Connection: 'close', 'X-Request-Id': requestId };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`);
  // Closing at once, with bytes unread, would reset the connection, and the client may lose the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const logger = new Logger('Errors');

/** Logs the reason of a failure, if it is one of the service. */
export function logFailure(error: ApiError, response: ServerResponse): void {
  if (error.status < 500) return;
  const cause = error.cause instanceof Error ? error.cause : error;
  const line = { requestId: requestIdOf(response), msg: `${error.code}: ${cause.name}: ${messageOf(cause)}` };
  if (error.status === 500) logger.error(line, cause.stack?.slice(cause.stack.indexOf('\n    at ') + 1));
  else logger.warn(line);
}

/** Any thrown value as the failure that is sent to the client. */
export function toApiError(exception: unknown): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof HttpException) return fromNest(exception);
  const code = isUnavailable(exception) ? 'service_unavailable' : 'internal_error';
  return new ApiError(code, undefined, { cause: exception });
}

/** Statuses from 500 on that say "later", or that of another server: the client is told to come back. */
const LATER = new Set([502, 503, 504]);

/**
 * An exception of Nest's, which a team may throw as Nest documents: its status and its message are for the client. Up to
 * 499, its code is what HTTP calls its status. A 500 says nothing outside, nor does what is no status of an error.
 */
function fromNest(exception: HttpException): ApiError {
  const status: unknown = exception.getStatus();
  const { cause = exception } = exception;
  if (!isErrorStatus(status) || status === 500) return new ApiError('internal_error', undefined, { cause });
  const phrase = STATUS_CODES[status] ?? 'Bad Request';
  if (status > 500) {
    const code = LATER.has(status) ? 'service_unavailable' : 'internal_error';
    return new ApiError(code, textOf(exception), { status, cause });
  }
  const code = phrase.toLowerCase().replace(/\W+/g, '_') as ErrorCode;
  return new ApiError(code, textOf(exception) ?? `${phrase}.`, { status, cause });
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 300 && Number(status) < 600;
}

/** Nest's own message, or the list of them that its ValidationPipe gives; undefined where there is none. */
function textOf(exception: HttpException): string | undefined {
  const { message } = Object(exception.getResponse()) as { message?: unknown };
  return (Array.isArray(message) ? message.join('; ') : exception.message) || undefined;
}
