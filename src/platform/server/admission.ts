import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request } from 'express';
import { ApiError, clientNetwork } from '../api/index.js';
import { asker, outside } from '../database/index.js';
import { PROBES } from '../telemetry/index.js';
import { Connection, Connections, cutOff } from './connections.js';
import { Exchange, observeAnswers } from './exchange.js';
import { guard, guardEvents } from './guarded-events.js';
import { LastInLine, Overload } from './overload.js';
import {
  type Refusal,
  refuse,
  refuseExpectation,
  refuseTunnel,
  shed,
  stamp,
  TOO_MANY_PENDING,
  writeError,
} from './refusals.js';
import type { RequestRecorder } from './request-recorder.js';
import { Streams } from './streams.js';
import { findHostProblem, toPath } from './request-target.js';

/**
 * Requests that may be pending on one connection. Node hands over all that come in one chunk, which can be thousands;
 * pipelining clients (RFC 9112, 9.3.2) send some tens at most.
 */
const PENDING = 100;

/** Requests of one connection that are worked on before the answer to the first of them has been sent. */
const UNDER_WAY = 8;

/** RFC 9110, 9.2.1. Only these may be worked on in parallel (RFC 9112, 9.3.2): each of the others waits for those before it. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

const METRICS = /^\/metrics(?:[/?]|$)/;

/** Requests that one connection may send after those that were too many; Node reads on until it is closed. */
const IGNORED = 1_000;

/** Decides which requests Express is given, and when; answers the others, and what is no request. */
export class Admission {
  /** Whether clients are told to reconnect. */
  isDraining = false;
  recorder?: RequestRecorder;
  /** The port of the metrics, if they have one of their own: there is nothing else on that, and no metrics on another. */
  metricsPort?: number;
  readonly overload = new Overload();
  readonly streams = new Streams();
  private readonly connections: Connections<ClientConnection>;
  private readonly last = new LastInLine<Exchange>((exchange) =>
    guard(exchange.request.socket, () => this.handOver(exchange)),
  );

  /** @param connections how many there are at most */
  constructor(
    private readonly app: Express,
    connections: number,
  ) {
    this.connections = new Connections(connections);
    observeAnswers(app.response);
  }

  /** Takes everything that a server, which is not listening yet, gets. */
  serve(server: Server): void {
    guardEvents(server);
    server.on('connection', (socket) => {
      const isProxied = Boolean(this.app.get('trust proxy'));
      this.connections.add(new ClientConnection(socket, isProxied, this));
    });
    server.on('request', (request, response) => this.take(request, response));
    // With a listener Node does not send `100 Continue` itself: the body guard does, once the key has been checked.
    server.on('checkContinue', (request, response) => this.take(request, response));
    server.on('checkExpectation', (request, response) => this.take(request, response, true));
    server.on('clientError', (error, socket) => this.refuse(this.connections.of(socket as Socket), error));
    server.on('connect', ({ socket }, stream) => {
      const tunnel = stream.on('error', () => stream.destroy()) as Socket;
      this.connections.of(socket).finish(() => this.tell(refuseTunnel(tunnel)));
    });
  }

  /**
   * Answers what is no request, after those before it on its connection.
   * @param failure Node's, or `TOO_MANY_PENDING`
   */
  refuse(connection: ClientConnection, failure: NodeJS.ErrnoException | typeof TOO_MANY_PENDING): void {
    const { socket } = connection;
    if (failure.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.mayTakeLonger()) return;
    connection.finish(() =>
      this.tell(refuse(failure, socket, connection.firstAnswer, connection.wasAnsweredEarly)),
    );
  }

  /** Begins with a request whose turn on its connection it is. Probes are always answered, and do not count. */
  begin(exchange: Exchange, wasRefused: boolean): void {
    const { request, response, isRefused } = exchange;
    if (isRefused) return this.tell(refuseExpectation(response));
    if (PROBES.test(request.url ?? '')) this.give(exchange);
    else if (wasRefused || !request.headers.authorization) this.last.add(exchange);
    else this.handOver(exchange);
  }

  /** The answer has been sent, or the client has gone. */
  end(exchange: Exchange): void {
    const { request, response, from } = exchange;
    exchange.end();
    if (!exchange.isRefused)
      this.recorder?.closed(request, response, performance.now() - from, exchange.stream);
  }

  /** Clients are told to reconnect, and what has no end of its own ends. */
  drain(): void {
    this.isDraining = true;
    this.streams.drain();
  }

  stop(): void {
    this.overload.stop();
    this.streams.stop();
    this.connections.stop();
  }

  /** @param isRefused whether it expects what the service cannot do */
  private take(request: IncomingMessage, response: ServerResponse, isRefused = false): void {
    const connection = this.connections.of(request.socket);
    if (connection.refuses()) return;
    const client = connection.isProxied ? clientNetwork(request as Request) : connection.network;
    const exchange = new Exchange(request, response, client, this.overload, this.streams);
    exchange.isRefused = isRefused;
    stamp(request, response);
    request.url = toPath(request.url ?? '');
    if (this.isDraining) response.setHeader('Connection', 'close');
    connection.take(exchange);
  }

  private handOver(exchange: Exchange): void {
    if (exchange.isOver) return;
    if (exchange.work()) return this.give(exchange);
    exchange.isRefused = true;
    this.tell(shed(exchange.response));
  }

  private give(exchange: Exchange): void {
    const { request, response } = exchange;
    const problem = findHostProblem(request);
    if (problem) writeError(response, problem);
    else if (!this.isOnItsPort(request)) writeError(response, new ApiError('route_not_found'));
    else asker.run(exchange, this.app as RequestListener, request, response);
  }

  private isOnItsPort({ url, socket }: IncomingMessage): boolean {
    if (this.metricsPort === undefined) return true;
    return METRICS.test(url!) === (socket.localPort === this.metricsPort);
  }

  private tell(reason: Refusal | undefined): void {
    if (reason) this.recorder?.refused(reason);
  }
}

/** The requests of one connection, in their order. */
class ClientConnection extends Connection {
  private readonly underWay = new Set<Exchange>();
  private readonly waiting: Exchange[] = [];
  private isEnding = false;
  private ending?: () => void;
  private ignored = 0;
  /** The answer to the request that was one too many. */
  private dropped?: ServerResponse;
  /** Whether its last request was answered 4xx. */
  private wasRefused = false;
  /** The last request, if it was answered before all of it had arrived. */
  private early?: IncomingMessage;

  /** @param isProxied whether it is that of a proxy, and the headers of its requests name the client */
  constructor(
    socket: Socket,
    readonly isProxied: boolean,
    private readonly admission: Admission,
  ) {
    super(socket);
  }

  /**
   * Whether it takes no more requests. Then Node is told to make no more of those that follow, which may be thousands in one
   * chunk: each would take 30 µs as a request and a response that nobody needs, and takes 6 µs so. Where Node's parser has
   * another name for it, they are ignored one by one, and a test of floods fails.
   */
  refuses(): boolean {
    if (!this.isEnding) return false;
    const { parser } = this.socket as { parser?: { onIncoming: () => number } | null };
    if (parser) {
      parser.onIncoming = () => {
        this.ignore();
        return 0;
      };
    }
    this.ignore();
    return true;
  }

  /** Begins with a request, when it is its turn. */
  take(exchange: Exchange): void {
    if (this.underWay.size + this.waiting.length >= PENDING) {
      this.dropped = exchange.response;
      return this.admission.refuse(this, TOO_MANY_PENDING);
    }
    this.waiting.push(exchange);
    this.startNext();
  }

  /** Takes no further request, and ends in this way once those before have their answers. */
  finish(end: () => void): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.ending = end;
    this.endIfAnswered();
  }

  /** Node tells the response at the head of the line alone. */
  override gone(): void {
    this.isEnding = true;
    this.waiting.length = 0;
    for (const exchange of this.underWay) this.close(exchange);
  }

  /** Whether what arrives belongs to a request that has its answer: another one would be read as that to the next. */
  get wasAnsweredEarly(): boolean {
    return this.early?.complete === false;
  }

  /** Whether the body that has not arrived in the usual time may take longer; it is marked as overdue then. */
  mayTakeLonger(): boolean {
    const [first] = this.underWay;
    return first?.isTakingBody === true && (first.isOverdue = true);
  }

  /** The answer that is sent before all others. */
  get firstAnswer(): ServerResponse | undefined {
    const [first] = this.underWay;
    return first?.response ?? this.dropped;
  }

  override get unsent(): number {
    let bytes = 0;
    for (const { response } of this.underWay) bytes += response.writableLength;
    return bytes;
  }

  private ignore(): void {
    if (++this.ignored > IGNORED) cutOff(this.socket);
  }

  private startNext(): void {
    while (this.waiting.length > 0 && this.mayStart(this.waiting[0]!)) {
      const exchange = this.waiting.shift()!;
      this.underWay.add(exchange);
      exchange.response.on('close', () => this.close(exchange));
      this.admission.begin(exchange, this.wasRefused);
    }
  }

  private mayStart({ request }: Exchange): boolean {
    const [first] = this.underWay;
    if (!first) return true;
    // One that is not safe is under way alone.
    return this.underWay.size < UNDER_WAY && isSafe(request) && isSafe(first.request);
  }

  private close(exchange: Exchange): void {
    if (!this.underWay.delete(exchange)) return;
    const { request, response } = exchange;
    this.wasRefused = response.statusCode >= 400 && response.statusCode < 500;
    this.early = request.complete ? undefined : request;
    this.admission.end(exchange);
    this.startNext();
    if (this.underWay.size === 0) this.forget(exchange);
    this.endIfAnswered();
  }

  /**
   * Lets go of the last request of a connection, which has its answer, and of all that it has sent. As long as the connection is
   * open, Node holds a request whose body was not read to its end; and the timer of an idle connection holds the asynchronous
   * context in which the answer has ended, and with it the request.
   */
  private forget({ request }: Exchange): void {
    const { socket } = this;
    if (socket.destroyed) return;
    request.resume();
    if (socket.timeout) outside(() => socket.setTimeout(socket.timeout!));
  }

  /** What is wrong may be in the last request: its own answer is not waited for. */
  private endIfAnswered(): void {
    const { ending } = this;
    const [first] = this.underWay;
    if (!ending || this.waiting.length > 0 || this.underWay.size > 1 || first?.request.complete) return;
    this.ending = undefined;
    ending();
  }
}

function isSafe({ method }: IncomingMessage): boolean {
  return SAFE.has(method!);
}
