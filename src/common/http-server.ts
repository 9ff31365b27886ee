import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type NextFunction, type Request, type Response } from 'express';
import { ApiError, type ErrorCode } from './api-error.js';
import { parseQuery } from './query.js';
import { giveRequestId, requestIdOf } from './request-id.js';

const LIMITS = {
  /** A request, headers and body, that is not there after this many milliseconds is answered 408. */
  requestTimeout: 15_000,
  headersTimeout: 15_000,
  /** How often Node looks for such requests, in milliseconds. Its default of 30 s would double the wait. */
  connectionsCheckingInterval: 500,
  /** Longer than the idle time of common load balancers (60 s), so that these close first. */
  keepAliveTimeout: 65_000,
  /** Bytes; larger is answered 431. */
  maxHeaderSize: 16_384,
  /** Checked in `prepare`: Node's own refusal has no body. */
  requireHostHeader: false,
};

/** Nest's Express with the limits of the HTTP server, and the Error shape for what fails before a route is reached. */
export class HttpServer extends ExpressAdapter {
  constructor() {
    const app = express();
    app.disable('x-powered-by');
    // An ETag would make GET answer 304, which no client of this API asked for, and costs a hash per answer.
    app.disable('etag');
    app.enable('case sensitive routing');
    app.set('query parser', parseQuery);
    super(app);
    app.use(prepare);
  }

  override initHttpServer(): void {
    this.httpServer = createServer(LIMITS, this.getInstance());
    this.httpServer.on('clientError', refuse);
    this.httpServer.on('checkExpectation', refuseExpectation);
    this.httpServer.on('connect', (_request: IncomingMessage, socket: Socket) => refuse({}, socket));
  }
}

/** What every request gets before anything else looks at it. */
function prepare(request: Request, response: Response, next: NextFunction): void {
  stamp(request, response);
  if (!request.headers.host && request.httpVersion === '1.1') {
    throw new ApiError('bad_request', 'The request needs a Host header.');
  }
  request.url = escapeMalformedPercents(request.url);
  next();
}

/** Headers of every response: the id that is in the log line too, and what keeps browsers from guessing or storing. */
function stamp(request: IncomingMessage, response: ServerResponse): void {
  giveRequestId(request, response);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}

/** A `%` that encodes nothing stays itself, so that the router does not refuse the path before the guard has run. */
function escapeMalformedPercents(url: string): string {
  if (!url.includes('%')) return url;
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}

const REFUSALS: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
};

/** Answers what is no HTTP request, or not one in time, straight on its socket, and closes that. */
function refuse(failure: { code?: string }, socket: Socket): void {
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage;
  if (failure.code === 'ECONNRESET' || !socket.writable || current?.headersSent) {
    socket.destroy();
    return;
  }
  const error = new ApiError(REFUSALS[failure.code ?? ''] ?? 'bad_request');
  const body = JSON.stringify(error);
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${current ? requestIdOf(current) : randomUUID()}`,
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** RFC 9110, 10.1.1: `Expect` knows `100-continue` alone, and Node answers that itself. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  stamp(request, response);
  const error = new ApiError('expectation_failed');
  const body = JSON.stringify(error);
  response.writeHead(error.status, {
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
