import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request } from 'express';
import { clientNetwork } from '../api/index.js';
import { asker } from '../database/index.js';
import { PROBES } from '../telemetry/index.js';
import type { ClientConnection, ConnectionHandler } from './client-connection.js';
import { ClientConnections } from './client-connections.js';
import { Exchange, restAtEnd } from './exchange.js';
import { guard, guardEvents } from './guarded-events.js';
import { LastInLine } from './last-in-line.js';
import { Overload } from './overload.js';
import { refuse, refuseExpectation, refuseTunnel, shed, stamp, TOO_MANY_PENDING } from './refusals.js';
import type { Refusal, RequestObserver } from './request-observer.js';
import { toPath } from './request-target.js';

/** Decides which requests Express is given, and when; answers the others, and what is no request. */
export class Admission implements ConnectionHandler {
  /** Whether clients are told to reconnect. */
  isDraining = false;
  observer?: RequestObserver;
  readonly overload = new Overload();
  private readonly connections: ClientConnections;
  private readonly last = new LastInLine<Exchange>((exchange) =>
    guard(exchange.request.socket, () => this.handOver(exchange)),
  );

  /** @param connections how many there are at most */
  constructor(
    private readonly app: Express,
    connections: number,
  ) {
    this.connections = new ClientConnections(this, connections);
    restAtEnd(app.response);
  }

  /** Takes everything that a server, which is not listening yet, gets. */
  serve(server: Server): void {
    const isProxied = () => Boolean(this.app.get('trust proxy'));
    guardEvents(server);
    server.on('connection', (socket) => this.connections.add(socket, isProxied()));
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

  /** Hands a request to Express, unless there are too many. Probes are always answered, and do not count. */
  begin(exchange: Exchange, wasRefused: boolean): void {
    const { request, response, isRefused } = exchange;
    if (isRefused) return this.tell(refuseExpectation(response));
    if (PROBES.test(request.url ?? '')) this.give(exchange);
    else if (wasRefused || !request.headers.authorization) this.last.add(exchange);
    else this.handOver(exchange);
  }

  closed(exchange: Exchange): void {
    const { request, response, from } = exchange;
    exchange.end();
    if (!exchange.isRefused) this.observer?.closed(request, response, performance.now() - from);
  }

  tooMany(connection: ClientConnection): void {
    this.refuse(connection, TOO_MANY_PENDING);
  }

  stop(): void {
    this.overload.stop();
    this.connections.stop();
  }

  private handOver(exchange: Exchange): void {
    if (exchange.isOver) return;
    if (exchange.work()) return this.give(exchange);
    exchange.isRefused = true;
    this.tell(shed(exchange.response));
  }

  private give(exchange: Exchange): void {
    asker.run(exchange, () => this.app(exchange.request, exchange.response));
  }

  /** @param isRefused whether it expects what the service cannot do */
  private take(request: IncomingMessage, response: ServerResponse, isRefused = false): void {
    const connection = this.connections.of(request.socket);
    if (connection.refuses()) return;
    const client = connection.network ?? clientNetwork(request as Request);
    const exchange = new Exchange(request, response, client, this.overload);
    exchange.isRefused = isRefused;
    stamp(request, response);
    request.url = toPath(request.url ?? '');
    if (this.isDraining) response.setHeader('Connection', 'close');
    connection.take(exchange);
  }

  /** Answers what is no request, after those before it on its connection. */
  private refuse(
    connection: ClientConnection,
    failure: NodeJS.ErrnoException | typeof TOO_MANY_PENDING,
  ): void {
    const { socket } = connection;
    connection.finish(() => this.tell(refuse(failure, socket, connection.wasAnsweredEarly)));
  }

  private tell(reason: Refusal | undefined): void {
    if (reason) this.observer?.refused(reason);
  }
}
