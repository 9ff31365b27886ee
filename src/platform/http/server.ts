import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type ListenOptions, Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { Config } from '../../config.js';
import { entityTag, hasSuccess, isKnown, isTagged, JsonText, type RoutedRequest } from '../api/index.js';
import { claimPort, listen } from '../process/index.js';
import { Door } from './connection.js';
import { explainUnder } from './errors.js';
import { Exchange, IDLE_MS } from './exchange.js';
import { guardEvents } from './guarded-events.js';
import { Quotas } from './quotas.js';
import { parseQuery } from './request-target.js';
import { METHODS, Routes } from './routes.js';
import { failStream } from './streams.js';

/** What Node's HTTP server puts up with. */
const HTTP_LIMITS = {
  /** A request whose headers and body have not arrived after this many milliseconds is answered 408. */
  requestTimeout: 15_000,
  headersTimeout: 15_000,
  /** How often Node looks for such requests, in milliseconds. Its default of 30 s would double the wait. */
  connectionsCheckingInterval: 500,
  /** Bytes; larger headers are answered 431. */
  maxHeaderSize: 16_384,
  /** Checked by `findHostProblem`: Node's own refusal has no body. */
  requireHostHeader: false,
};

/** Connections that may wait to be accepted (Node: 511). The kernel drops any beyond, and they retry after seconds. */
const BACKLOG = 4_096;

/** Whether sockets can share a port (SO_REUSEPORT). */
const CAN_SHARE_PORT = process.platform === 'linux';

/**
 * How long connections stay open, in milliseconds, when the service stops: the next answer on each carries
 * `Connection: close`; closing sooner could reset a request that is on its way.
 */
const PARTING_MS = 500;

/** How often, while the service stops, idle connections are closed, in milliseconds. */
const IDLE_CHECK_MS = 50;

/** Nest's Express with the limits of the HTTP server, and the Error shape for what fails before routing. */
export class HttpAdapter extends ExpressAdapter {
  /** Which requests are worked on, and whether the service is about to stop. */
  readonly door: Door;
  /** What is registered by this adapter; what goes to Express past it has no part in them. */
  readonly routes = new Routes();
  private readonly keepAliveMs: number;
  /** What listens besides the HTTP server. */
  private readonly others: Server[] = [];

  constructor(config = new Config()) {
    const app = express();
    app.disable('x-powered-by');
    // A hash of each answer would cost more than many an answer. `sendFile` makes its tag of what the disk says of the file.
    app.set('etag', () => undefined);
    app.enable('case sensitive routing');
    app.set('query parser', parseQuery);
    super(app);
    for (const method of METHODS) this.note(method);
    explainUnder(config.BASE_URL);
    guardEvents(app.request);
    guardEvents(app.response);
    this.door = new Door(app, new Quotas(config));
    this.keepAliveMs = config.KEEP_ALIVE_SECONDS * 1_000;
  }

  /** Notes each route that is registered by a method, beside what the adapter of Nest does. */
  private note(method: string): void {
    const name = method.toLowerCase() as 'get';
    const app = this.getInstance<Express>();
    const register = (path: string, handler: RequestHandler) =>
      app[name](path, this.routes.add(method, path, handler));
    Object.assign(this, { [name]: register });
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    this.httpServer = createServer({
      ...HTTP_LIMITS,
      keepAliveTimeout: this.keepAliveMs,
      IncomingMessage: withPrototype(IncomingMessage, app.request),
      ServerResponse: withPrototype<typeof ServerResponse>(ServerResponse, app.response),
    });
    this.httpServer.timeout = IDLE_MS;
    this.door.serve(this.httpServer);
  }

  /**
   * Writes what a controller returns as its operation declares it; Express's `json` would serialize, hash and negotiate
   * it again. What declares nothing, and the failures of a filter, are Express's.
   */
  override reply(response: Response, body: unknown, status?: number): unknown {
    const { settle } = response.req as Partial<RoutedRequest>;
    // Nest gives a status with what an exception filter answers alone, which is not what the operation has answered.
    if (!settle || status !== undefined || Exchange.of(response)?.isOver)
      return this.write(response, body, status);
    return settle(body).then((settled) => this.write(response, settled));
  }

  private write(response: Response, body: unknown, status = response.statusCode): unknown {
    // It was answered when its time was over, or its client has gone: nobody reads what it has opened.
    if (Exchange.of(response)?.isOver) {
      if (body instanceof StreamableFile) body.getStream().destroy();
      return response;
    }
    const { operation } = response.req as Partial<RoutedRequest>;
    if (body instanceof StreamableFile) return super.reply(response, unlessTold(body), status);
    const isSuccess = status < 300;
    // A text, which an operation may give as well, is none of its class.
    const serialize = isSuccess && isObject(body) ? operation?.serialize : undefined;
    const json = body instanceof JsonText ? body : serialize?.(body as object);
    if (!json) return super.reply(response, body, status);
    response.statusCode = status;
    if (operation && isSuccess && isTagged(operation)) {
      const tag = entityTag(json);
      if (!hasSuccess(operation, 304)) response.setHeader('ETag', tag);
      else if (isKnown(response.req, response, tag)) return response.status(304).end();
    }
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(json.text));
    return response.end(json.text);
  }

  override beforeClose(): void {
    this.door.drain();
    super.beforeClose();
  }

  /**
   * Listens on a port that only this process uses. Nest's own `listen` would log a failure in addition to what the
   * operator is told.
   * @throws what `net.Server.listen` emits, such as EADDRINUSE
   */
  async open(port: number, host?: string): Promise<void> {
    if (CAN_SHARE_PORT) return this.share(await claimPort(port, host), host);
    await listen(this.httpServer, { port, host, backlog: BACKLOG });
  }

  /**
   * Listens on a claimed port, beside the other workers of a service. On Linux each worker binds the port itself, with
   * as many sockets as `Quotas` says, and the kernel spreads the connections; elsewhere the workers accept on a
   * socket that the primary has opened.
   */
  async share(port: number, host?: string): Promise<void> {
    const listening = { port, host, backlog: BACKLOG, reusePort: CAN_SHARE_PORT };
    await listen(this.httpServer, listening);
    if (!CAN_SHARE_PORT) return;
    for (let i = 1; i < this.door.quotas.listening; i++) await this.listenToo(listening);
  }

  /**
   * Has the metrics, and nothing else, on a port of their own, which need not be open to clients.
   * @throws what `net.Server.listen` emits, such as EADDRINUSE
   */
  async openMetrics(port: number, host?: string): Promise<void> {
    const { port: own } = (await this.listenToo({ port, host })).address() as AddressInfo;
    this.door.metricsPort = own;
  }

  /** Listens by one more socket. */
  private async listenToo(listening: ListenOptions): Promise<Server> {
    // The options with which an HTTP server creates its own socket.
    const options = { allowHalfOpen: true, noDelay: true };
    const other = createSocketServer(options, (socket) => this.httpServer.emit('connection', socket));
    guardEvents(other);
    this.others.push(other);
    await listen(other, listening);
    return other;
  }

  /** Stops listening, and waits for the requests under way; after a while, idle connections are closed. */
  override async close(): Promise<void> {
    const servers: Server[] = [this.httpServer, ...this.others];
    const closed = Promise.all(servers.map(stopListening));
    const counts = await Promise.all(servers.map((one) => promisify(one.getConnections.bind(one))()));
    if (counts.some((count) => count > 0)) await sleep(PARTING_MS);
    const closer = setInterval(() => this.httpServer.closeIdleConnections(), IDLE_CHECK_MS);
    await closed;
    await super.close();
    clearInterval(closer);
    this.door.stop();
  }
}

const isObject = (body: unknown): boolean => typeof body === 'object' && body !== null;

const NESTS_OWN = String(new StreamableFile(Buffer.alloc(0)).errorHandler);

/** A file whose failure before its first byte is answered with an Error, not with Nest's text, unless a team says otherwise. */
function unlessTold(file: StreamableFile): StreamableFile {
  if (String(file.errorHandler) !== NESTS_OWN) return file;
  return file.setErrorHandler((error, response) => failStream(response as Response, error));
}

/** Resolves when all connections have ended. `http.Server.close` would close idle ones at once; this is `net.Server`'s. */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
}

/**
 * Subclass of a Node class whose instances have Express's prototype from the start. Express sets it on every request;
 * changing a prototype makes V8 drop its optimizations for the object (2 µs).
 */
function withPrototype<Class extends new (...args: never[]) => object>(
  base: Class,
  prototype: object,
): Class {
  function Made(...args: unknown[]): object {
    return Reflect.construct(base, args, Made);
  }
  Made.prototype = prototype;
  return Made as unknown as Class;
}
