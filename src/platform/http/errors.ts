import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpException, Logger } from '@nestjs/common';
import type { Application, Request } from 'express';
import { ApiError, type ErrorCode, errorWith, isErrorCode, originOf, requestIdOf } from '../api/index.js';
import { isUnavailable } from '../database/index.js';
import { framesOf } from '../process/index.js';
import { messageOf } from '../telemetry/index.js';
import { findHostProblem } from './request-target.js';

/** The service's page about all error codes. */
const GUIDE = '/guides/errors';

/** Headers that describe the handler's answer; removed when an error replaces the answer. */
const OF_ANSWER =
  /^(?:content-.+|etag|last-modified|location|cache-control|expires|accept-ranges|set-cookie)$/i;

/** Milliseconds from a refusal until the service closes the connection, if the client has not closed it. */
const LINGER_MS = 1_000;

/**
 * A link to the explanation of an error (RFC 8288; `help`: HTML, 4.6.7.7).
 * @param origin if empty, the link is relative to the request (RFC 8288, 3.1)
 */
function helpLink({ code }: ApiError, origin = ''): string {
  return `<${origin}${GUIDE}${isErrorCode(code) ? `#${code}` : ''}>; rel="help"`;
}

/** The headers and the body of every error answer. @param links the answer's links, such as the link to the successor */
function asResponse(error: ApiError, links: string[]) {
  const body = JSON.stringify(error);
  const headers: Record<string, string | number> = {
    ...error.headers,
    Link: links.join(', '),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  };
  return { headers, body };
}

/** The configured origin of the guides; undefined if the guides are at the origin of the request. */
const guideOriginOf = ({ locals }: Application) => locals.guideOrigin as string | undefined;

/** Answers with an error, and notes its code for the log line; if an answer has started, only cuts the connection off. */
export function writeError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const request = response.req as Request & { errorCode?: ErrorCode };
  request.errorCode = error.code;
  // A 416 names the length of the resource (RFC 9110, 15.5.17).
  const status = error.getStatus();
  const range = status === 416 ? response.getHeader('Content-Range') : undefined;
  for (const name of response.getHeaderNames()) if (OF_ANSWER.test(name)) response.removeHeader(name);
  if (range) response.setHeader('Content-Range', range);
  response.setHeader('Cache-Control', 'no-store');
  // The error may be about an invalid `Host`, which has no origin.
  const originAsked = () => (findHostProblem(request) ? undefined : originOf(request));
  const help = helpLink(error, guideOriginOf(request.app) ?? originAsked());
  // On a deprecated operation, `applySunset` has set a `Link` to the successor.
  const earlier = response.getHeader('Link') ?? [];
  const { headers, body } = asResponse(error, [earlier, help].flat().map(String));
  // A team's throttler may have set a `Retry-After`, which takes precedence.
  const retryAfter = response.getHeader('Retry-After');
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter);
  response.writeHead(status, headers).end(body);
}

/** Answers invalid or late input on the bare socket, and closes it. */
export function refuseOn(
  socket: Socket,
  error: ApiError,
  app: Application,
  requestId: string = randomUUID(),
): void {
  const status = error.getStatus();
  const { headers, body } = asResponse(error, [helpLink(error, guideOriginOf(app))]);
  const all = { ...headers, Connection: 'close', 'X-Request-Id': requestId };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // Closing now, with unread bytes, would reset the connection, and the client could lose the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const logger = new Logger('Errors');

/** Logs the cause of a failure whose status is 500 or above. */
export function logFailure(error: ApiError, response: ServerResponse): void {
  const status = error.getStatus();
  if (status < 500) return;
  const cause = Error.isError(error.cause) ? error.cause : error;
  const line = { requestId: requestIdOf(response), msg: `${error.code}: ${cause.name}: ${messageOf(cause)}` };
  if (status === 500) logger.error(line, framesOf(cause.stack) || undefined);
  else logger.warn(line);
}

/** Converts any thrown value to the failure that the client gets. */
export function toApiError(exception: unknown): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof HttpException) return fromNest(exception);
  const code = isUnavailable(exception) ? 'service_unavailable' : 'internal_error';
  return new ApiError(code, undefined, { cause: exception });
}

/** Temporary failures of this server or of a server behind it: the client should retry. */
const RETRYABLE = new Set([502, 503, 504]);

/** Converts an exception of Nest, whose status and message are meant for the client. */
function fromNest(exception: HttpException): ApiError {
  const { cause = exception } = exception;
  return withStatus(exception.getStatus(), textOf(exception.getResponse(), exception.message), cause);
}

/** The properties of the bodies that Nest makes. */
const OF_NEST = new Set(['statusCode', 'message', 'error', 'errorCode']);

/**
 * The failure behind a body that an exception filter passes to the HTTP adapter: the `ApiError` that the body belongs to, or an
 * error made from a body in Nest's format. Undefined for a body that a team has made.
 */
export function failureWith(body: unknown, status: number): ApiError | undefined {
  if (status < 300 || typeof body !== 'object' || body === null) return undefined;
  const error = errorWith(body);
  const { statusCode } = body as { statusCode?: unknown };
  if (error || statusCode !== status || !Object.keys(body).every((name) => OF_NEST.has(name))) return error;
  return withStatus(status, textOf(body));
}

/** Below 500, the code is the status's reason phrase. A 500, or a status outside 300 to 599, gives a bare `internal_error`. */
function withStatus(status: unknown, text: string | undefined, cause?: unknown): ApiError {
  if (!isErrorStatus(status) || status === 500) return new ApiError('internal_error', undefined, { cause });
  const phrase = STATUS_CODES[status] ?? 'Bad Request';
  if (status > 500) {
    const code = RETRYABLE.has(status) ? 'service_unavailable' : 'internal_error';
    return new ApiError(code, text === phrase ? undefined : text, { status, cause });
  }
  const code = phrase.toLowerCase().replace(/\W+/g, '_') as ErrorCode;
  return new ApiError(code, text ?? `${phrase}.`, { status, cause });
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 300 && Number(status) < 600;
}

/** The message of a response, or the joined messages of Nest's ValidationPipe; undefined if empty. */
function textOf(response: string | object, otherwise?: string): string | undefined {
  const { message } = Object(response) as { message?: unknown };
  if (Array.isArray(message)) return message.join('; ');
  return (otherwise ?? (typeof message === 'string' ? message : '')) || undefined;
}
