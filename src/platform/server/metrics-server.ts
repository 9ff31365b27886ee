import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../../config.js';
import { ApiError } from '../api/index.js';
import { Metrics } from '../telemetry/index.js';
import { cannotListen } from './cannot-listen.js';
import { HeldSockets } from './client-connections.js';
import { SCRAPERS } from './connection-bounds.js';
import { writeError } from './error-response.js';
import { cutOff, guardEvents } from './guarded-events.js';
import { HTTP_LIMITS } from './http-limits.js';
import { refuse, refuseExpectation, refuseTunnel, stamp } from './refusals.js';

/** The metrics on their own port, which need not be open to clients, and where scrapes do not queue with requests. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server?: Server;
  private readonly scrapers = new HeldSockets(SCRAPERS);

  constructor(
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /** The port that it listens on; undefined if the metrics have none of their own. */
  get port(): number | undefined {
    return (this.server?.address() as AddressInfo | null | undefined)?.port;
  }

  /** @throws OperatorError if the port cannot be listened on */
  async onApplicationBootstrap(): Promise<void> {
    const { METRICS_PORT: port, HOST: host } = this.config;
    if (port === undefined) return;
    this.server = createServer(HTTP_LIMITS, (request, response) => {
      this.answer(request, response).catch((error: unknown) => cutOff(request.socket, error));
    });
    guardEvents(this.server);
    this.server.on('connection', (socket) => {
      guardEvents(socket);
      this.scrapers.take(socket);
    });
    this.server.on('checkExpectation', (request, response) => {
      stamp(request, response);
      refuseExpectation(response);
    });
    this.server.on('connect', (_request, stream) => {
      refuseTunnel(stream.on('error', () => stream.destroy()) as Socket);
    });
    this.server.on('clientError', (error, socket) => void refuse(error, socket as Socket));
    try {
      await once(this.server.listen({ port, host }), 'listening');
    } catch (error) {
      throw cannotListen('METRICS_PORT', port, error);
    }
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    stamp(request, response);
    try {
      requireMetrics(request);
      const text = await this.metrics.text();
      response.writeHead(200, { 'Content-Type': this.metrics.contentType }).end(text);
    } catch (error) {
      writeError(response, error instanceof ApiError ? error : new ApiError('service_unavailable'));
    }
  }
}

/** @throws ApiError `route_not_found`, `method_not_allowed` */
function requireMetrics({ method = '', url = '' }: IncomingMessage): void {
  if (!/^\/metrics(?:\?|$)/.test(url)) throw new ApiError('route_not_found');
  if (method === 'GET' || method === 'HEAD') return;
  throw new ApiError('method_not_allowed', undefined, { headers: { Allow: 'GET, HEAD' } });
}
