import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type ListenOptions, Server } from 'node:net';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  NotFoundException,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { Config } from '../../config.js';
import {
  aboveVersions,
  ApiError,
  Deferred,
  entityTag,
  finishOf,
  hasSuccess,
  isFresh,
  JsonText,
  locate,
  type RoutedRequest,
} from '../api/index.js';
import { claimPort, listen, within } from '../process/index.js';
import { Connections } from './connection.js';
import { failureWith, logFailure, toApiError, writeError } from './errors.js';
import { Exchange, IDLE_MS } from './exchange.js';
import { Quotas } from './quotas.js';
import { defineQuery } from './request-target.js';
import { METHODS, Routes } from './routes.js';
import { failStream } from './streams.js';

const HTTP_LIMITS = {
  /** Milliseconds until incomplete headers or an incomplete body are answered 408. */
  requestTimeout: 15_000,
  headersTimeout: 15_000,
  /** Milliseconds between checks of these limits; Node's default of 30 s would triple the wait. */
  connectionsCheckingInterval: 500,
  /** Bytes; larger headers are answered 431. */
  maxHeaderSize: 16_384,
  /** Creates no body stream for a request without a body: the stream would take about as much memory as the rest. */
  optimizeEmptyRequests: true,
  /** `findHostProblem` checks the `Host` header, because Node's own refusal has no body. */
  requireHostHeader: false,
};

/** Maximum connections that wait to be accepted (Node's default: 511). The kernel drops others; clients retry after seconds. */
const BACKLOG = 4_096;

/** Whether sockets can share a port (SO_REUSEPORT). */
const CAN_SHARE_PORT = process.platform === 'linux';

/**
 * Milliseconds that idle connections stay open when the service stops. A request that arrives meanwhile is answered with
 * `Connection: close`; closing sooner could reset a request in flight.
 */
const PARTING_MS = 500;

/** Milliseconds between closings of idle connections while the service stops. */
const IDLE_CHECK_MS = 50;

/** Nest's Express adapter with the quotas and limits of the service, and the Error shape for failures before routing. */
export class HttpAdapter extends ExpressAdapter {
  readonly connections: Connections;
  /** The routes registered through this adapter, not directly at Express. */
  readonly routes: Routes;
  private readonly keepAliveMs: number;
  /** Further listening servers, which pass their sockets to the HTTP server. */
  private readonly listeners: Server[] = [];

  constructor(config = new Config()) {
    const app = express();
    app.disable('x-powered-by');
    // Off, as hashing often costs more than the rest of an answer. `sendFile` derives its tag from the file's metadata.
    app.set('etag', () => undefined);
    app.enable('case sensitive routing');
    defineQuery(app.request);
    super(app);
    this.routes = new Routes(app);
    for (const method of METHODS) {
      const add = (path: string, handler: RequestHandler) => this.routes.add(method, path, handler);
      Object.assign(this, { [method.toLowerCase()]: add });
    }
    const { BASE_URL } = config;
    app.locals.guideOrigin = BASE_URL && aboveVersions(BASE_URL);
    this.connections = new Connections(app, new Quotas());
    this.keepAliveMs = config.KEEP_ALIVE_SECONDS * 1_000;
  }

  override initHttpServer(): void {
    const classes = classesFor(this.getInstance<Express>());
    this.httpServer = createServer({ ...HTTP_LIMITS, ...classes, keepAliveTimeout: this.keepAliveMs });
    this.httpServer.timeout = IDLE_MS;
    this.connections.serve(this.httpServer);
  }

  /**
   * Writes the value of a controller method with the serializer of its operation; Express's `json` would stringify, hash and
   * negotiate the value. Also writes failures that a team's filter has passed to Nest's filter. Passes other values to Express.
   */
  override reply(response: Response, body: unknown, status = response.statusCode): unknown {
    // The value is still deferred, because its method has no `@Operation`.
    if (body instanceof Deferred) return body.run().then((made) => this.reply(response, made, status));
    if (body instanceof StreamableFile) {
      if (!Exchange.of(response)?.isOver) return super.reply(response, withErrorHandler(body), status);
      // Without this, the file would stay open.
      body.getStream().destroy();
      return response;
    }
    const { operation } = response.req as Partial<RoutedRequest>;
    const failure = failureWith(body, status);
    // Without an operation, Nest has found no route.
    if (failure)
      return this.fail(response, operation || status !== 404 ? failure : new ApiError('route_not_found'));
    const finish = finishOf(response, status);
    if (!finish) return this.write(response, body, status, textOf(response, body, status));
    // Only idempotent operations have a `finish`. Without a serializer, their value is a plain object.
    const json =
      textOf(response, body, status) ?? (isObject(body) ? new JsonText(JSON.stringify(body)) : undefined);
    const text = finish(json);
    if (!(text instanceof Promise)) return this.write(response, body, status, text);
    return text.then((one) => this.write(response, body, status, one));
  }

  private write(response: Response, body: unknown, status: number, json: JsonText | undefined): unknown {
    // The request was answered at the deadline, or its client has gone.
    if (Exchange.of(response)?.isOver) return response;
    if (!json) return super.reply(response, body, status);
    response.statusCode = status;
    const { operation } = response.req as Partial<RoutedRequest>;
    if (operation && isSuccess(status)) locate(response.req as RoutedRequest, response, body);
    if (operation && isSuccess(status) && operation.isTagged) {
      const tag = entityTag(json);
      if (!hasSuccess(operation, 304)) response.setHeader('ETag', tag);
      else if (isFresh(response.req, response, tag)) return response.status(304).end();
    }
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    const length = Buffer.byteLength(json.text);
    response.setHeader('Content-Length', length);
    // Node writes ASCII faster as Latin-1, which has the same bytes.
    return response.end(json.text, length === json.text.length ? 'latin1' : 'utf8');
  }

  /** Answers with an error, and logs it if its status is 500 or above. */
  fail(response: Response, error: ApiError): void {
    if (error.getStatus() === 405) error.headers.Allow ??= this.routes.allowed(response.req);
    logFailure(error, response);
    writeError(response, error);
  }

  /** Nest's own filter calls this to end a failed answer. An answer that has started must not look complete to the client. */
  override end(response: Response, message?: string): unknown {
    if (!response.headersSent || message !== undefined) return super.end(response, message);
    failStream(response, new Error('The answer failed after its first byte'));
    return response;
  }

  override beforeClose(): void {
    this.connections.drain();
    super.beforeClose();
  }

  /**
   * Listens on a port that no other process uses. Nest's `listen` would log a failure in addition to the operator's message.
   * @throws what `net.Server.listen` emits, such as EADDRINUSE
   */
  async open(port: number, host?: string): Promise<void> {
    if (CAN_SHARE_PORT) return this.share(await claimPort(port, host), host);
    await listen(this.httpServer, { port, host, backlog: BACKLOG });
  }

  /**
   * Listens on a claimed port together with the other workers. On Linux, each worker binds `Quotas.listening` sockets to the
   * port, and the kernel spreads the connections; elsewhere, workers accept on a socket of the primary.
   */
  async share(port: number, host?: string): Promise<void> {
    const listening = { port, host, backlog: BACKLOG, reusePort: CAN_SHARE_PORT };
    await listen(this.httpServer, listening);
    if (!CAN_SHARE_PORT) return;
    for (let i = 1; i < this.connections.quotas.listening; i++) await this.addListener(listening);
  }

  /** Serves the metrics alone on a separate port. @throws what `net.Server.listen` emits, such as EADDRINUSE */
  async openMetrics(port: number, host?: string): Promise<void> {
    const listener = await this.addListener({ port, host });
    this.connections.metricsPort = (listener.address() as AddressInfo).port;
  }

  private async addListener(listening: ListenOptions): Promise<Server> {
    // The options with which an HTTP server creates its own socket.
    const options = { allowHalfOpen: true, noDelay: true };
    const listener = createSocketServer(options, (socket) => this.httpServer.emit('connection', socket));
    this.listeners.push(listener);
    await listen(listener, listening);
    return listener;
  }

  /** Stops listening, waits for the requests under way, and closes idle connections after `PARTING_MS`. */
  override async close(): Promise<void> {
    const servers: Server[] = [this.httpServer, ...this.listeners];
    const closed = Promise.all(servers.map(stopListening));
    await within(PARTING_MS, closed);
    const closer = setInterval(() => this.httpServer.closeIdleConnections(), IDLE_CHECK_MS);
    await closed;
    await super.close();
    clearInterval(closer);
  }
}

/** Answers every failure that Nest catches. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost<HttpAdapter>) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    // The request was answered at the deadline: setting a header would throw.
    if (Exchange.of(response)?.isOver) return;
    if (response.headersSent) return failStream(response, exception);
    const { operation } = response.req as Partial<RoutedRequest>;
    // A `NotFoundException` from an operation is that operation's 404; any other means an unknown address.
    const isUnknown = exception instanceof NotFoundException && !operation;
    this.host.httpAdapter.fail(response, isUnknown ? new ApiError('route_not_found') : toApiError(exception));
  }
}

const isSuccess = (status: number) => status < 300;
const isObject = (body: unknown): body is object => typeof body === 'object' && body !== null;

/** The text of a value, written by its operation's serializer; undefined without a serializer, or if the value is no object. */
function textOf({ req }: Response, body: unknown, status: number): JsonText | undefined {
  const { operation } = req as Partial<RoutedRequest>;
  if (body instanceof JsonText) return body;
  return isSuccess(status) && isObject(body) ? operation?.serialize?.(body) : undefined;
}

const DEFAULT_ERROR_HANDLER = String(new StreamableFile(Buffer.alloc(0)).errorHandler);

/** Unless a team has set its own, replaces a file's error handler: Nest's default answers with plain text. */
function withErrorHandler(file: StreamableFile): StreamableFile {
  if (String(file.errorHandler) !== DEFAULT_ERROR_HANDLER) return file;
  return file.setErrorHandler((error, response) => failStream(response as Response, error));
}

/**
 * The classes of an application's requests and answers. Express sets its own prototypes on each request and answer. V8 drops
 * its optimizations of an object whose prototype changes, so these classes start with Express's prototypes.
 */
function classesFor(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request) as Express['request'];
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response) as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}

/** Calls `net.Server.close`, which waits for all connections; `http.Server.close` would close idle connections at once. */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
}
