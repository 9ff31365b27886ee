import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '../common/api-error.js';
import { asResponse } from '../common/refusals.js';
import { Config, StartupError } from '../config.js';
import { Metrics } from './metrics.js';

const NOT_FOUND = new ApiError('route_not_found');

/** The metrics on a port of their own, which need not be open to clients, nor wait behind their requests. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server?: Server;

  constructor(
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /** The port that it listens on; undefined where the metrics have none of their own. */
  get port(): number | undefined {
    return (this.server?.address() as AddressInfo | null | undefined)?.port;
  }

  /** @throws StartupError where the port cannot be had */
  async onApplicationBootstrap(): Promise<void> {
    const { METRICS_PORT: port, HOST: host } = this.config;
    if (port === undefined) return;
    this.server = createServer((request, response) => void this.answer(request, response));
    try {
      await once(this.server.listen({ port, host }), 'listening');
    } catch (error) {
      throw new StartupError(`The metrics cannot listen on port ${port}: ${(error as Error).message}.`);
    }
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }

  private async answer({ method = '', url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (/^\/metrics(?:\?|$)/.test(url) && ['GET', 'HEAD'].includes(method)) {
      const text = await this.metrics.text();
      response.writeHead(200, { 'Content-Type': this.metrics.contentType }).end(text);
      return;
    }
    const { headers, body } = asResponse(NOT_FOUND);
    response.writeHead(NOT_FOUND.status, headers).end(body);
  }
}
