import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { Config } from '../../config.js';
import { entityTag, isTagged, JsonText, type RoutedRequest } from '../api/index.js';
import { Admission } from './admission.js';
import { type ConnectionBounds, connectionBounds } from './connection-bounds.js';
import { guardEvents } from './guarded-events.js';
import { requireHost } from './host.js';
import { HTTP_LIMITS } from './http-limits.js';
import { ListeningSockets } from './listening-sockets.js';
import { parseQuery } from './query.js';
import { literalFirst } from './router.js';

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
  readonly admission: Admission;
  private readonly bounds: ConnectionBounds;
  private sockets!: ListeningSockets;

  constructor(config = new Config()) {
    const app = express();
    app.disable('x-powered-by');
    // It would make GET answer 304, which no client of this API has asked for, and costs a hash per answer.
    app.disable('etag');
    app.enable('case sensitive routing');
    app.set('query parser', parseQuery);
    super(app);
    guardEvents(app.request);
    guardEvents(app.response);
    this.bounds = connectionBounds(config);
    this.admission = new Admission(app, this.bounds.clients);
    app.use(requireHost);
  }

  /** Called by Nest before it registers the routes, and after what stands before them, such as CORS. */
  override async init(): Promise<void> {
    await super.init();
    const app = this.getInstance<Express>();
    app.use(literalFirst(app));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    this.httpServer = createServer({
      ...HTTP_LIMITS,
      IncomingMessage: withPrototype(IncomingMessage, app.request),
      ServerResponse: withPrototype<typeof ServerResponse>(ServerResponse, app.response),
    });
    this.sockets = new ListeningSockets(this.httpServer, this.bounds.listening);
    this.admission.serve(this.httpServer);
  }

  /**
   * Writes what a controller returns as its operation declares it; Express's `json` would serialize, hash and negotiate
   * it again. What declares nothing, and the failures of a filter, are Express's.
   */
  override reply(response: Response, body: unknown, status?: number): unknown {
    const { settle } = response.req as Partial<RoutedRequest>;
    // Nest gives a status with what an exception filter answers alone, which is not what the operation has answered.
    if (!settle || status !== undefined || response.writableEnded) return this.write(response, body, status);
    return settle(body).then((settled) => this.write(response, settled));
  }

  private write(response: Response, body: unknown, status = response.statusCode): unknown {
    // It was answered when its time was over.
    if (response.writableEnded) return response;
    const { operation } = response.req as Partial<RoutedRequest>;
    const isSuccess = status < 300;
    const serialize = isSuccess && body ? operation?.serialize : undefined;
    const json = body instanceof JsonText ? body : serialize?.(body as object);
    if (!json) return super.reply(response, body, status);
    response.statusCode = status;
    if (operation && isSuccess && isTagged(operation)) response.setHeader('ETag', entityTag(json));
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(json.text));
    return response.end(json.text);
  }

  override beforeClose(): void {
    this.admission.isDraining = true;
    super.beforeClose();
  }

  /** Listens; Nest's own `listen` would log a failure in addition to what the operator is told. */
  open(port: number, host?: string): Promise<void> {
    return this.sockets.open(port, host);
  }

  /** Listens on a port that other processes of the service also listen on. */
  share(port: number, host?: string): Promise<void> {
    return this.sockets.share(port, host);
  }

  /** Stops listening, and waits for the requests under way; after a while, idle connections are closed. */
  override async close(): Promise<void> {
    const closed = this.sockets.close();
    if ((await this.sockets.countConnections()) > 0) await sleep(PARTING_MS);
    const closer = setInterval(() => this.httpServer.closeIdleConnections(), IDLE_CHECK_MS);
    await closed;
    await super.close();
    clearInterval(closer);
    this.admission.stop();
  }
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
