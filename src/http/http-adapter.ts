import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { ApiError } from '../common/api-error.js';
import { ListeningSockets } from './listening-sockets.js';
import { Overload } from './overload.js';
import { parseQuery } from './query.js';
import { timesSent } from './raw-headers.js';
import type { Refusal, RequestObserver } from './request-observer.js';
import { JsonText } from '../common/serializer.js';
import { refuse, refuseExpectation, refuseTunnel, stamp, watchForEarlyAnswer } from './refusals.js';
import { toPath } from './request-target.js';
import { withPrototype } from './with-prototype.js';

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

/**
 * How long the connections stay open when the service stops, in milliseconds: a client learns from its next answer to
 * part, and would see that request reset if its connection were closed first.
 */
const PARTING_MS = 500;

/** How often, while the service stops, connections are looked for that wait for another request, in milliseconds. */
const IDLE_CHECK_MS = 50;

/** Nest's Express with the limits of the HTTP server, and the Error shape for what fails before a route is reached. */
export class HttpAdapter extends ExpressAdapter {
  /** Whether the service is about to stop: it still answers, and looks for no new work. */
  isDraining = false;
  /** Is told what becomes of requests. */
  observer?: RequestObserver;
  private readonly overload = new Overload();
  private sockets!: ListeningSockets;

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
    const take: RequestListener = (request, response) => this.take(request, response);
    const app = this.getInstance<Express>();
    this.httpServer = createServer(
      {
        ...LIMITS,
        IncomingMessage: withPrototype(IncomingMessage, app.request),
        ServerResponse: withPrototype<typeof ServerResponse>(ServerResponse, app.response),
      },
      take,
    );
    this.sockets = new ListeningSockets(this.httpServer);
    // With a listener, Node leaves `100 Continue` to who reads the body: nobody is asked for one before its key counts.
    this.httpServer.on('checkContinue', take);
    this.refuseWhatIsNone();
  }

  /** Past Express's own `json`, which looks at an answer from sides that none here has. */
  override reply(response: Response, body: unknown, status?: number): unknown {
    if (!(body instanceof JsonText)) return super.reply(response, body, status);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(body.text));
    return response.end(body.text);
  }

  /** Requests under way. */
  get requests(): number {
    return this.overload.requests;
  }

  override beforeClose(): void {
    this.isDraining = true;
    super.beforeClose();
  }

  /** Listens; Nest's own `listen` would log a failure beside what the operator is told. */
  open(port: number, host?: string): Promise<void> {
    return this.sockets.open(port, host);
  }

  /** Listens on a port that other processes of the service listen on too. */
  share(port: number, host?: string): Promise<void> {
    return this.sockets.share(port, host);
  }

  /** Stops to listen, and waits for the requests under way; after a while, a connection with none is closed. */
  override async close(): Promise<void> {
    const closed = this.sockets.close();
    if ((await this.sockets.countConnections()) > 0) await sleep(PARTING_MS);
    const closer = setInterval(() => this.httpServer.closeIdleConnections(), IDLE_CHECK_MS);
    await closed;
    await super.close();
    clearInterval(closer);
    this.overload.stop();
  }

  /** Hands a request to Express, unless there are too many. While the service stops, its client is told to go elsewhere. */
  private take(request: IncomingMessage, response: ServerResponse): void {
    const from = performance.now();
    stamp(request, response);
    watchForEarlyAnswer(request, response);
    request.url = toPath(request.url ?? '');
    if (this.isDraining) response.setHeader('Connection', 'close');
    if (this.overload.sheds(request, response)) return this.tell('overloaded');
    response.once('close', () => {
      this.overload.release();
      this.observer?.closed(request, response, performance.now() - from);
    });
    this.getInstance()(request, response);
  }

  /** Answers what is no request that Express can take. */
  private refuseWhatIsNone(): void {
    const server = this.httpServer as Server;
    server.on('clientError', (error, socket) => this.tell(refuse(error, socket as Socket)));
    server.on('checkExpectation', (request, response) => this.tell(refuseExpectation(request, response)));
    server.on('connect', (_request, socket) => this.tell(refuseTunnel(socket as Socket)));
  }

  private tell(reason: Refusal | undefined): void {
    if (reason) this.observer?.refused(reason);
  }
}

/** What Express does first with every request. */
function prepare(request: Request, _response: Response, next: NextFunction): void {
  if (request.httpVersion === '1.1' && (!request.headers.host || timesSent(request, 'host') > 1)) {
    throw new ApiError('bad_request', 'The request needs one Host header.');
  }
  next();
}
