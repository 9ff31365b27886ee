import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Express } from 'express';
import { ApiError, type ErrorCode, giveRequestId, networkOf, requestIdOf } from '../api/index.js';
import { asker } from '../database/index.js';
import { Turns } from '../process/index.js';
import { refuseOn, writeError } from './errors.js';
import { cutOff, Exchange, IDLE_MS, observeAnswers } from './exchange.js';
import { guard, guardEvents } from './guarded-events.js';
import type { Quotas } from './quotas.js';
import { Streams } from './streams.js';
import { findHostProblem, toPath } from './request-target.js';

/**
 * Requests that may wait on one connection. Node hands over all that come in one chunk, which can be thousands; no client in
 * use sends more than some tens before it has an answer.
 */
const PENDING = 100;

/** A client that reads nothing of its answer for so many milliseconds is cut off, as is a stream whose source gives nothing. */
const UNREAD_MS = 30_000;

const METRICS = /^\/metrics(?:[/?]|$)/;
/** What an orchestrator asks for waits for nobody. Neither that nor the metrics are work: both are kept for a second. */
const PROBE = /^\/health\/(?:live|ready)(?:\?|$)/;

/** What Node finds wrong with what arrives, beside what is no HTTP. */
const FAILURES: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
};

const logger = new Logger('Streams');

/** Counts and logs what comes in. */
export interface Observer {
  closed(exchange: Exchange): void;
  refused(reason: ErrorCode | 'overloaded'): void;
}

/** Where all connections come in: gives Express the requests whose turn it is, and answers the others, and what is no request. */
export class Door {
  /** Whether clients are told to reconnect. */
  isDraining = false;
  observer?: Observer;
  /** The port of the metrics, if they have one of their own: there is nothing else on that, and no metrics on another. */
  metricsPort?: number;
  readonly streams = new Streams();
  private readonly turns = new Turns<Exchange>(
    (exchange) => this.give(exchange),
    () => this.quotas.requests.callers > 1,
  );
  private readonly connections = new WeakMap<Socket, Connection>();

  constructor(
    private readonly app: Express,
    readonly quotas: Quotas,
  ) {
    observeAnswers(app.response);
  }

  /** Takes everything that a server, which is not listening yet, gets. */
  serve(server: Server): void {
    guardEvents(server);
    server.on('connection', (socket) => this.let(socket));
    server.on('request', (request, response) => this.take(request, response));
    // With a listener Node does not send `100 Continue` itself: it is sent when the body is read, once the key has been checked.
    server.on('checkContinue', (request, response) => this.take(request, response));
    // RFC 9110, 10.1.1: that is the only expectation that there is.
    server.on('checkExpectation', (request, response) => {
      const headers = { Connection: 'close' };
      this.take(request, response, new ApiError('expectation_failed', undefined, { headers }));
    });
    server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
      if (code === 'ECONNRESET') socket.destroy();
      else this.connections.get(socket as Socket)?.refuse(FAILURES[code] ?? 'bad_request');
    });
    // Node leaves the socket to its listener, which nobody reads any more.
    server.on('connect', ({ socket }) => {
      socket.on('error', () => socket.destroy()).resume();
      this.connections.get(socket)?.refuse('bad_request');
    });
    server.on('timeout', (socket) => this.connections.get(socket)?.timedOut());
  }

  /** Begins with a request whose turn on its connection it is. */
  begin(exchange: Exchange, refusal: ApiError | undefined): void {
    const { request, response } = exchange;
    if (refusal) return this.shed(exchange, refusal, refusal.code);
    const problem = findHostProblem(request);
    if (problem) return writeError(response, problem);
    if (!this.isOnItsPort(request)) return writeError(response, new ApiError('route_not_found'));
    if (PROBE.test(request.url!)) this.give(exchange);
    else if (METRICS.test(request.url!) || exchange.begin()) this.turns.add(exchange.client, exchange);
    else this.shed(exchange, new ApiError('service_unavailable'), 'overloaded');
  }

  private give(exchange: Exchange): void {
    const { request, response } = exchange;
    if (exchange.isOver) return;
    guard(request.socket, () => asker.run(exchange, this.app as RequestListener, request, response));
  }

  /** Counts what never came to Express. */
  refused(reason: ErrorCode | 'overloaded'): void {
    this.observer?.refused(reason);
  }

  /** Clients are told to reconnect, and what has no end of its own ends. */
  drain(): void {
    this.isDraining = true;
    this.streams.drain();
  }

  stop(): void {
    this.streams.stop();
  }

  private let(socket: Socket): void {
    guardEvents(socket);
    const network = networkOf(socket.remoteAddress) ?? '';
    const { connections } = this.quotas;
    if (!connections.tryTake(network)) return cutOff(socket);
    const connection = new Connection(socket, network, this);
    this.connections.set(socket, connection);
    socket.once('close', () => {
      connections.giveBack(network);
      connection.gone();
    });
  }

  private take(request: IncomingMessage, response: ServerResponse, refusal?: ApiError): void {
    const connection = this.connections.get(request.socket);
    if (!connection || connection.isEnding) return;
    const isProxied = Boolean(this.app.get('trust proxy'));
    const exchange = new Exchange(
      request,
      response,
      connection.network,
      isProxied,
      this.quotas,
      this.streams,
    );
    // The id that is also logged, and what keeps browsers from guessing types or storing.
    giveRequestId(request, response);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    request.url = toPath(request.url ?? '');
    if (this.isDraining) response.setHeader('Connection', 'close');
    connection.take(exchange, refusal);
  }

  /** A flood of refusals must not fill the log: they are counted, and have no line of their own. */
  private shed(exchange: Exchange, error: ApiError, reason: ErrorCode | 'overloaded'): void {
    exchange.isRefused = true;
    this.refused(reason);
    writeError(exchange.response, error);
  }

  private isOnItsPort({ url, socket }: IncomingMessage): boolean {
    if (this.metricsPort === undefined) return true;
    return METRICS.test(url!) === (socket.localPort === this.metricsPort);
  }
}

/** A request that waits for those before it, and why it is refused, if it is. */
type Pending = [exchange: Exchange, refusal: ApiError | undefined];

/** The requests of one connection: one at a time, in their order. */
class Connection {
  /** Whether it takes no more requests; what is still read of them is dropped. */
  isEnding = false;
  private current?: Exchange;
  private readonly waiting: Pending[] = [];
  /** Whether it is kept open after an answer, for the time that the configuration says. */
  private hasServed = false;
  /** What is answered at the end, on the bare socket. */
  private failure?: ErrorCode;
  /** The last request, if it was answered before all of it had arrived. */
  private early?: IncomingMessage;
  /** When it was seen idle, and since when it has been, in milliseconds of `performance.now`. */
  private idle = { bytes: 0, seen: -Infinity, since: 0 };

  constructor(
    readonly socket: Socket,
    readonly network: string,
    private readonly door: Door,
  ) {}

  take(exchange: Exchange, refusal: ApiError | undefined): void {
    if (!this.current) this.start(exchange, refusal);
    else if (this.waiting.length < PENDING) this.waiting.push([exchange, refusal]);
    else {
      // What else has come in this packet is dropped, at 30 µs each, and no more is read.
      this.socket.pause();
      this.refuse('service_unavailable');
    }
  }

  /** What arrives is no request, or too late, or too much: this is answered after the requests before it, and is the end. */
  refuse(failure: ErrorCode): void {
    const { current } = this;
    if (this.isEnding) return;
    // A body that may take longer is timed where it is read.
    if (failure === 'request_timeout' && current?.isUpload && current.phase === 'reading') {
      current.isOverdue = true;
      return;
    }
    this.isEnding = true;
    this.failure = failure;
    if (!current) this.end(this.early);
    else if (!current.request.complete) this.end(current.request, current);
  }

  /** The socket has been idle for a while; Node says so once, unless it is told to look again. */
  timedOut(): void {
    const { current, socket } = this;
    // Work has a deadline, and so has a body.
    if (current && /^(?:waiting|working|reading)$/.test(current.phase)) return;
    const isKept = !current && this.hasServed;
    if (!isKept && !this.isIdleForLong()) return void socket.setTimeout(IDLE_MS);
    if (!current) return void socket.destroy();
    if (current.phase === 'streaming' && current.response.writableLength === 0)
      logger.warn({
        requestId: requestIdOf(current.response),
        msg: 'A stream was cut off: its source gave nothing',
      });
    cutOff(socket);
  }

  /** Node only tells the response of the first of its requests that the socket has closed. */
  gone(): void {
    this.isEnding = true;
    this.waiting.length = 0;
    if (this.current) this.close(this.current);
  }

  /** Between two looks at it, a socket has been idle unless it was used, or Node has found that its client reads on. */
  private isIdleForLong(): boolean {
    const { socket, idle } = this;
    const now = performance.now();
    const bytes = socket.bytesRead + socket.bytesWritten;
    const wasIdle = bytes === idle.bytes && now - idle.seen < 1.5 * IDLE_MS;
    this.idle = { bytes, seen: now, since: wasIdle ? idle.since : now - IDLE_MS };
    return now - this.idle.since >= UNREAD_MS;
  }

  private start(exchange: Exchange, refusal: ApiError | undefined): void {
    this.current = exchange;
    exchange.response.on('close', () => this.close(exchange));
    this.door.begin(exchange, refusal);
  }

  private close(exchange: Exchange): void {
    if (exchange.phase === 'over') return;
    const { request } = exchange;
    exchange.close();
    if (!exchange.isRefused) this.door.observer?.closed(exchange);
    this.current = undefined;
    this.hasServed = true;
    this.early = request.complete ? undefined : request;
    const next = this.waiting.shift();
    // What is wrong may be in the last of them, which has no end.
    if (next && (next[0].request.complete || !this.failure)) this.start(...next);
    else if (this.failure) this.end(next?.[0].request ?? this.early, next?.[0]);
  }

  /**
   * Answers what was wrong, and closes the connection; only closes it where that belongs to a request that has its answer.
   * @param request that which has not arrived to its end
   * @param exchange the same, if it has no answer yet
   */
  private end(request: IncomingMessage | undefined, exchange?: Exchange): void {
    const { failure, socket } = this;
    const isAnswered = request?.complete === false && (!exchange || exchange.isOver || exchange.stream);
    if (isAnswered || !socket.writable) return void socket.destroy();
    const error = new ApiError(failure!);
    this.door.refused(error.code);
    if (!exchange) return refuseOn(socket, error);
    exchange.answered();
    exchange.response.statusCode = error.status;
    refuseOn(socket, error, requestIdOf(exchange.response));
  }
}
