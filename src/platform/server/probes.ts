import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  Controller,
  type DynamicModule,
  Get,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Res,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Config } from '../../config.js';
import { ApiError, networkOf, Public } from '../api/index.js';
import { SchemaCheck } from '../database/index.js';
import { Holdings } from '../process/index.js';
import { LOG, type Log, Metrics } from '../telemetry/index.js';
import { cutOff, SCRAPERS } from './connections.js';
import { endFor, guardEvents } from './guarded-events.js';
import { cannotListen, type HttpAdapter, HTTP_LIMITS } from './http-adapter.js';
import { refuse, refuseExpectation, refuseTunnel, stamp, writeError } from './refusals.js';
import { RequestRecorder } from './request-recorder.js';

/** For orchestrators: `live` tells whether the event loop runs, `ready` whether the service can serve. */
@ApiExcludeController()
@Public()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
class HealthController {
  constructor(
    private readonly schema: SchemaCheck,
    private readonly host: HttpAdapterHost<HttpAdapter>,
  ) {}

  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /**
   * Names the database's host if there are several.
   * @throws ApiError `service_unavailable` while the service stops, or if the database cannot serve it; or what the
   * database throws, which is answered alike
   */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.admission.isDraining) throw new ApiError('service_unavailable');
    const problem = await this.schema.findProblem();
    if (problem) throw new ApiError('service_unavailable', undefined, { cause: new Error(problem) });
    return { status: 'ok', database: this.schema.host };
  }
}

/** The metrics, if they have no port of their own. */
@ApiExcludeController()
@Public()
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  async get(@Res() response: Response): Promise<void> {
    const text = await this.metrics.text().catch((cause: unknown) => {
      throw new ApiError('service_unavailable', undefined, { cause });
    });
    response.setHeader('Content-Type', this.metrics.contentType);
    response.end(text);
  }
}

/** The metrics on their own port, which need not be open to clients, and where scrapes do not queue with requests. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server?: Server;
  private readonly scrapers = new Holdings<Socket>(SCRAPERS, cutOff);
  /** The last answer on each connection. */
  private readonly answers = new WeakMap<Socket, ServerResponse>();

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
      this.answer(request, response).catch((error: unknown) => endFor(request.socket, error));
    });
    guardEvents(this.server);
    this.server.on('connection', (socket) => {
      guardEvents(socket);
      const network = networkOf(socket.remoteAddress) ?? '';
      socket.once('close', () => this.scrapers.delete(network, socket));
      this.scrapers.add(network, socket);
    });
    this.server.on('checkExpectation', (request, response) => {
      stamp(request, response);
      this.answers.set(request.socket, response);
      refuseExpectation(response);
    });
    this.server.on('connect', (_request, stream) => {
      refuseTunnel(stream.on('error', () => stream.destroy()) as Socket);
    });
    this.server.on('clientError', (error, stream) => {
      const socket = stream as Socket;
      refuse(error, socket, this.answers.get(socket));
    });
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
    this.answers.set(request.socket, response);
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

/** Counts and logs requests, and serves what orchestrators and Prometheus ask for. */
@Module({ controllers: [HealthController], providers: [MetricsServer] })
export class ObservabilityModule implements OnApplicationShutdown {
  private readonly recorder: RequestRecorder;

  constructor({ httpAdapter }: HttpAdapterHost<HttpAdapter>, metrics: Metrics, @Inject(LOG) log: Log) {
    const { admission } = httpAdapter;
    this.recorder = new RequestRecorder(metrics, log, () => admission.overload.requests, admission.streams);
    admission.recorder = this.recorder;
  }

  static with({ METRICS_PORT }: Config, log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      controllers: METRICS_PORT === undefined ? [MetricsController] : [],
      providers: [{ provide: LOG, useValue: log }],
    };
  }

  onApplicationShutdown(): void {
    this.recorder.stop();
  }
}
