import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '../common/api-error.js';
import { cannotListen } from '../http/cannot-listen.js';
import { asResponse } from '../http/refusals.js';
import { Config } from '../config.js';
import { Metrics } from './metrics.js';

/** The metrics on their own port, which need not be open to clients, and where scrapes do not queue with requests. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server?: Server;

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
    this.server = createServer((request, response) => void this.answer(request, response));
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

  private async answer({ method = '', url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!/^\/metrics(?:\?|$)/.test(url) || !['GET', 'HEAD'].includes(method))
        throw new ApiError('route_not_found');
      const text = await this.metrics.text();
      response.writeHead(200, { 'Content-Type': this.metrics.contentType }).end(text);
    } catch (error) {
      const failure = error instanceof ApiError ? error : new ApiError('internal_error');
      const { headers, body } = asResponse(failure);
      response.writeHead(failure.status, headers).end(body);
    }
  }
}
