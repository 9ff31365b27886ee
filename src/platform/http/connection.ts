import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Express, Request } from 'express';
import {
  ApiError,
  type ErrorCode,
  forwardedNetwork,
  giveRequestId,
  networkOf,
  requestIdOf,
  setNetwork,
} from '../api/index.js';
import { currentWork, type Payers, RoundRobin } from '../process/index.js';
import { refuseOn, writeError } from './errors.js';
import { cutOff, Exchange, IDLE_MS, observeAnswers } from './exchange.js';
import { guard } from './guard.js';
import { Intake } from './intake.js';
import type { Quotas } from './quotas.js';
import type { Stream } from './streams.js';
import { findHostProblem, toPath } from './request-target.js';

/** Milliseconds after which a connection is cut off if its client reads nothing, or if its stream has no output. */
const UNREAD_MS = 30_000;

const METRICS = /^\/metrics(?:[/?]|$)/;
/** Probes bypass the queue. Neither probes nor metrics use the quota of requests: their answers are cached or constant. */
const PROBE = /^\/health\/(?:live|ready)(?:\?|$)/;

/** Error codes by the code of Node's `clientError`; any other `clientError` is a `bad_request`. */
const FAILURES: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
};

const logger = new Logger('Streams');

/** Why a request was refused before routing: an error code, or `overloaded` for too many requests. */
export type Refusal = ErrorCode | 'overloaded';

/** Counts and logs requests and refusals. */
export interface Observer {
  closed(exchange: Exchange): void;
  refused(reason: Refusal): void;
}

/** Accepts all connections, passes admitted requests to Express, and answers refused requests and invalid input. */
export class Connections {
  /** Whether clients are told to reconnect. */
  isDraining = false;
  observer?: Observer;
  /** The separate port for metrics, if configured: this port serves nothing else, and no other port serves metrics. */
  metricsPort?: number;
  /** The open streams of events. */
  readonly events = new Set<Stream>();
  private readonly admitted = new RoundRobin<Exchange>((exchange) => this.dispatch(exchange));
  private readonly bySocket = new WeakMap<Socket, Connection>();
  /** Keyed by network. */
  private readonly intakes = new Map<string, Intake>();

  constructor(
    readonly app: Express,
    readonly quotas: Quotas,
  ) {
    observeAnswers(app.response);
  }

  /** Handles all events of a server. Call this before the server listens. */
  serve(server: Server): void {
    server.on('connection', (socket) => guard(socket, () => this.accept(socket)));
    // Without a `checkContinue` listener, Node would send `100 Continue` at once; `readBody` sends it after authentication.
    for (const event of ['request', 'checkContinue'])
      server.on(event, (request: IncomingMessage, response: ServerResponse) =>
        guard(request.socket, () => this.receive(request, response)),
      );
    // RFC 9110, 10.1.1 defines no other expectation than `100-continue`.
    server.on('checkExpectation', (request, response) => {
      const refusal = new ApiError('expectation_failed', undefined, { headers: { Connection: 'close' } });
      guard(request.socket, () => this.receive(request, response, refusal));
    });
    server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
      if (code === 'ECONNRESET') socket.destroy();
      else this.refuseOn(socket as Socket, FAILURES[code] ?? 'bad_request');
    });
    // After a CONNECT, Node neither reads the socket nor handles its errors.
    server.on('connect', ({ socket }) => {
      socket.on('error', () => socket.destroy()).resume();
      this.refuseOn(socket, 'bad_request');
    });
    server.on('timeout', (socket) => guard(socket, () => this.bySocket.get(socket)?.timedOut()));
  }

  /** Admits or refuses the next request of a connection. */
  admit(exchange: Exchange): void {
    const { request, response, network, refusal } = exchange;
    if (refusal) return this.refuse(exchange, refusal, refusal.code);
    const problem = findHostProblem(request);
    if (problem) return writeError(response, problem);
    const url = request.url!;
    const isMetrics = METRICS.test(url);
    if (this.metricsPort !== undefined && isMetrics !== (request.socket.localPort === this.metricsPort))
      return writeError(response, new ApiError('route_not_found'));
    if (PROBE.test(url)) return this.dispatch(exchange);
    if (!isMetrics && !exchange.admit())
      return this.refuse(exchange, new ApiError('service_unavailable'), 'overloaded');
    exchange.isAdmitted = true;
    this.admitted.add(network, exchange);
  }

  /** Records that an exchange is over. */
  closed(exchange: Exchange): void {
    if (exchange.isAdmitted) this.admitted.done(exchange.network);
    if (!exchange.refusal) this.observer?.closed(exchange);
  }

  private dispatch(exchange: Exchange): void {
    const { request, response } = exchange;
    if (exchange.isOver) return;
    guard(request.socket, () => currentWork.run(exchange, this.app as RequestListener, request, response));
  }

  /** Makes clients reconnect, and ends streams of events. */
  drain(): void {
    this.isDraining = true;
    for (const stream of this.events) stream.drain();
    for (const intake of this.intakes.values()) intake.drain();
  }

  private accept(socket: Socket): void {
    const network = networkOf(socket.remoteAddress) ?? '';
    const { connections } = this.quotas;
    if (!connections.tryAcquire([network])) return cutOff(socket);
    const intake = this.intakes.getOrInsertComputed(network, () => new Intake());
    const connection = new Connection(socket, network, intake, this);
    this.bySocket.set(socket, connection);
    intake.add(connection);
    socket.once('close', () => {
      connections.release(connection.payers);
      intake.delete(connection);
      if (intake.isEmpty) this.intakes.delete(network);
      guard(socket, () => connection.closed());
    });
  }

  private receive(request: IncomingMessage, response: ServerResponse, refusal?: ApiError): void {
    const connection = this.bySocket.get(request.socket);
    if (!connection || connection.isEnding) return;
    const network = this.isProxied ? forwardedNetwork(request as Request) : connection.network;
    setNetwork(request, network);
    const exchange = new Exchange(request, response, network, connection);
    exchange.refusal = refusal;
    giveRequestId(request, response);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    request.url = toPath(request.url ?? '');
    if (this.isDraining) response.setHeader('Connection', 'close');
    connection.add(exchange);
  }

  /** Whether connections come from a trusted proxy, whose headers name the client. */
  get isProxied(): boolean {
    return Boolean(this.app.get('trust proxy'));
  }

  private refuseOn(socket: Socket, failure: ErrorCode): void {
    guard(socket, () => this.bySocket.get(socket)?.refuse(failure));
  }

  /** Refuses a request; counts the refusal without a log line of its own, so that a flood cannot fill the log. */
  private refuse(exchange: Exchange, error: ApiError, reason: Refusal): void {
    exchange.refusal = error;
    this.observer?.refused(reason);
    writeError(exchange.response, error);
  }
}

/** A connection, whose requests are processed one at a time, in order. */
class Connection {
  /** Whether further requests are dropped. */
  isEnding = false;
  /** The network and, unless a proxy opened the connection, the first account that uses the connection. */
  payers: Payers;
  readonly quotas: Quotas;
  private current?: Exchange;
  /** Requests that wait for earlier ones. */
  private readonly waiting: Exchange[] = [];
  /** The number of waiting requests, as last reported to `intake`. */
  private counted = 0;
  /** Whether a request was answered: from then on, the configured keep-alive time applies. */
  private hasServed = false;
  /** The error to write to the bare socket, after the earlier answers. */
  private failure?: ErrorCode;
  /** The last request, if it was answered before it had arrived completely. */
  private unfinished?: IncomingMessage;
  /** Byte count and time of the last idle check, and start of the idle time; both times as of `performance.now`. */
  private idle = { bytes: 0, seen: -Infinity, since: 0 };

  constructor(
    readonly socket: Socket,
    readonly network: string,
    private readonly intake: Intake,
    private readonly owner: Connections,
  ) {
    this.payers = [network];
    this.quotas = owner.quotas;
  }

  /** Whether Node has stopped reading the socket, because a request body is consumed slowly. */
  get isStopped(): boolean {
    const { readableLength = 0, readableHighWaterMark = 1 } = this.current?.request ?? {};
    return readableLength >= readableHighWaterMark;
  }

  addEvents(stream: Stream): void {
    const { events, isDraining } = this.owner;
    events.add(stream);
    this.current!.whenOver(() => events.delete(stream));
    if (isDraining) setImmediate(() => stream.drain());
  }

  /** Also charges the connection to its first account; but not a proxy's connection, which many clients share. */
  chargeTo(account: string): boolean {
    if (this.payers.length > 1 || this.owner.isProxied) return true;
    if (!this.quotas.connections.tryCharge(account)) return false;
    this.payers = [this.network, account];
    return true;
  }

  /** Adds a request that has arrived. If it is pipelined and its client holds too much memory, cuts the connection off. */
  add(exchange: Exchange): void {
    if (!this.current) return this.start(exchange);
    if (exchange.wait()) {
      this.waiting.push(exchange);
      return this.count();
    }
    exchange.close();
    this.isEnding = true;
    this.owner.observer?.refused('overloaded');
    cutOff(this.socket);
  }

  /** Ends the connection for invalid, late or excessive input: answers the earlier requests, then the error. */
  refuse(failure: ErrorCode): void {
    const { current } = this;
    if (this.isEnding) return;
    // `body.ts` enforces the time limit of an upload.
    if (failure === 'request_timeout' && current?.isUpload && current.phase === 'reading') {
      current.isOverdue = true;
      return;
    }
    this.isEnding = true;
    this.failure = failure;
    if (!current) this.end(this.unfinished);
    else if (!current.request.complete) this.end(current.request, current);
  }

  /** Handles Node's report of an idle socket. Node reports only once, unless `setTimeout` is called again. */
  timedOut(): void {
    const { current, socket } = this;
    // Requests in these phases have a time limit of their own.
    if (current && /^(?:waiting|working|reading)$/.test(current.phase)) return;
    const isKept = !current && this.hasServed;
    if (!isKept && !this.isIdleForLong()) return void socket.setTimeout(IDLE_MS);
    if (!current) return void socket.destroy();
    if (current.phase === 'streaming' && current.response.writableLength === 0)
      logger.warn({
        requestId: requestIdOf(current.response),
        msg: 'A stream was cut off: its source sent nothing for too long',
      });
    cutOff(socket);
  }

  /** Handles the end of the socket. Node emits `close` only on the response of the first request. */
  closed(): void {
    this.isEnding = true;
    for (const exchange of this.waiting.splice(0)) exchange.close();
    this.count();
    if (this.current) this.close(this.current);
  }

  /** Tells `intake` how many requests wait for the service: none behind a long exchange, as its client causes that wait. */
  count(): void {
    const count = this.current?.isLong ? 0 : this.waiting.length;
    if (count !== this.counted) this.intake.change(count - this.counted);
    this.counted = count;
  }

  /**
   * Whether no byte has passed for `UNREAD_MS`. Node postpones its report of an idle socket while the client reads, so only two
   * reports close together count as idle time.
   */
  private isIdleForLong(): boolean {
    const { socket, idle } = this;
    const now = performance.now();
    const bytes = socket.bytesRead + socket.bytesWritten;
    const wasIdle = bytes === idle.bytes && now - idle.seen < 1.5 * IDLE_MS;
    this.idle = { bytes, seen: now, since: wasIdle ? idle.since : now - IDLE_MS };
    return now - this.idle.since >= UNREAD_MS;
  }

  private start(exchange: Exchange): void {
    this.current = exchange;
    exchange.response.on('close', () => guard(this.socket, () => this.close(exchange)));
    this.owner.admit(exchange);
  }

  private close(exchange: Exchange): void {
    if (exchange.phase === 'over') return;
    const { request } = exchange;
    exchange.close();
    this.owner.closed(exchange);
    this.current = undefined;
    this.hasServed = true;
    this.unfinished = request.complete ? undefined : request;
    const next = this.waiting.shift();
    this.count();
    // After a failure, only the last request can be incomplete: the failed one, which gets the error and is not started.
    if (next && (next.request.complete || !this.failure)) this.start(next);
    else if (this.failure) this.end(next?.request ?? this.unfinished, next);
  }

  /**
   * Answers with the failure and closes the connection; if the failed request has its answer already, only closes.
   * @param request the incomplete request
   * @param exchange the request's exchange, if the request has no answer yet
   */
  private end(request: IncomingMessage | undefined, exchange?: Exchange): void {
    const { failure, socket, owner } = this;
    const isAnswered = request?.complete === false && (!exchange || exchange.isOver || exchange.stream);
    if (isAnswered || !socket.writable) return void socket.destroy();
    const error = new ApiError(failure!);
    owner.observer?.refused(error.code);
    exchange?.answered();
    if (exchange) exchange.response.statusCode = error.getStatus();
    refuseOn(socket, error, owner.app, exchange && requestIdOf(exchange.response));
  }
}
