import {
  Controller,
  type DynamicModule,
  Get,
  Inject,
  Module,
  type OnApplicationShutdown,
  Res,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Histogram } from 'prom-client';
import { ApiError, NO_ID, Public, requestIdOf } from '../api/index.js';
import { SchemaCheck } from '../database/index.js';
import { LOG, type Log, Metrics, PROBES, Throttle } from '../telemetry/index.js';
import type { Observer, Refusal } from './connection.js';
import type { Exchange } from './exchange.js';
import { failedListeners } from './guard.js';
import type { HttpAdapter } from './server.js';

/** nginx's status for a client that has gone before its answer; HTTP has no such status. */
const CLIENT_GONE = 499;

/** Milliseconds between two log lines about refusals. */
const REFUSALS_MS = 10_000;

/** Maximum number of accounts with their own label: many thousands of series would burden Prometheus. */
const ACCOUNTS = 1_000;
const OTHER_ACCOUNTS = 'other';

/** Counts by operation and account; accounts after the first thousand share a label. */
export class AccountCounts {
  private readonly counts = new Map<string, Map<string, number>>();

  add(operation: string, account: string): void {
    let counts = this.counts.get(operation);
    if (!counts) this.counts.set(operation, (counts = new Map()));
    const name = counts.has(account) || counts.size < ACCOUNTS ? account : OTHER_ACCOUNTS;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  figures(): { labels: Record<string, string>; value: number }[] {
    return [...this.counts].flatMap(([operation, counts]) =>
      [...counts].map(([account, value]) => ({ labels: { operation, account }, value })),
    );
  }
}

/** Probes for orchestrators: `live` answers while the event loop runs, `ready` while the service can serve. */
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
   * Checks that the database is reachable, writable, and has the schema of this build. Does not check Redis: without Redis,
   * instances count limits separately and keep serving.
   * @throws ApiError `service_unavailable` while the service stops, or if `SchemaCheck` finds a problem; the error of the
   * database, which is also answered with 503
   */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.connections.isDraining) throw new ApiError('service_unavailable');
    const problem = await this.schema.findProblem();
    if (problem) throw new ApiError('service_unavailable', undefined, { cause: new Error(problem) });
    return { status: 'ok' };
  }
}

@ApiExcludeController()
@Public()
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
export class MetricsController {
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

/** Counts and logs every request (a probe at `debug`), and serves probes and metrics. */
@Module({ controllers: [HealthController, MetricsController] })
export class ObservabilityModule implements Observer, OnApplicationShutdown {
  private readonly durations: Histogram<'operation' | 'status'>;
  private readonly deprecatedCalls = new AccountCounts();
  /** `overloaded` starts at 0: Prometheus sees no increase in a series' first value, so alerts would miss the first refusal. */
  private readonly refusals = new Map<Refusal, number>([['overloaded', 0]]);
  private unlogged: Partial<Record<Refusal, number>> = {};
  private readonly throttle = new Throttle(REFUSALS_MS, () => this.logRefusals());
  private readonly streams = { whole: 0, aborted: 0 };

  constructor(
    { httpAdapter: { connections } }: HttpAdapterHost<HttpAdapter>,
    metrics: Metrics,
    @Inject(LOG) private readonly log: Log,
  ) {
    connections.observer = this;
    const { quotas } = connections;
    metrics.counter(
      'http_server_refused_requests_total',
      'Requests refused before they were routed, by reason: an error code, or `overloaded`.',
      () => [...this.refusals].map(([reason, value]) => ({ labels: { reason }, value })),
      { labels: ['reason'] },
    );
    this.durations = metrics.histogram(
      'http_server_request_duration_seconds',
      'Time from the headers of a request to the end of its answer, or to the first byte of a stream, by operation and status.',
      ['operation', 'status'],
    );
    metrics.gauge(
      'http_server_active_requests',
      'Requests under way, except probes and requests whose client is still sending or reading.',
      () => quotas.requests.inUse,
    );
    metrics.gauge(
      'http_server_active_streams',
      'Streamed answers under way: downloads, server-sent events.',
      () => quotas.streams.inUse,
    );
    metrics.counter(
      'http_server_streams_total',
      'Streamed answers that have ended: `whole`, or `aborted` by either side.',
      () => Object.entries(this.streams).map(([end, value]) => ({ labels: { end }, value })),
      { labels: ['end'] },
    );
    metrics.counter(
      'http_server_failed_connections_total',
      'Connections cut off because a listener failed: a bug.',
      failedListeners,
    );
    metrics.counter(
      'petstore_deprecated_calls_total',
      'Requests to deprecated operations, by account.',
      () => this.deprecatedCalls.figures(),
      { labels: ['operation', 'account'] },
    );
  }

  static with(log: Log): DynamicModule {
    return { module: ObservabilityModule, providers: [{ provide: LOG, useValue: log }] };
  }

  /** Records a finished request. The duration of a stream is the time to its first byte. */
  closed({ request, response, arrivedAt, stream }: Exchange): void {
    const { accountId, errorCode, operation, route, method } = request;
    const durationMs = performance.now() - arrivedAt;
    const operationId = operation?.id ?? NO_ID;
    const { headersSent, statusCode } = response;
    // If neither Node nor `refuseOn` has sent an answer, the client has gone.
    const status = headersSent || statusCode !== 200 ? statusCode : CLIENT_GONE;
    this.durations.observe({ operation: operationId, status }, (stream?.firstByteMs ?? durationMs) / 1000);
    const isAborted = stream && !response.writableFinished;
    if (stream) this.streams[isAborted ? 'aborted' : 'whole']++;
    if (operation?.sunset !== undefined && accountId !== undefined)
      this.deprecatedCalls.add(operationId, accountId);
    const level = status >= 500 ? 'warn' : PROBES.test(route?.path ?? '') ? 'debug' : 'info';
    if (!this.log.isLevelEnabled(level)) return;
    this.log[level]({
      operationId,
      route: route?.path,
      requestId: requestIdOf(response),
      accountId,
      method,
      status,
      code: errorCode,
      durationMs: Math.round(durationMs * 100) / 100,
      bytes: stream?.bytes,
      aborted: isAborted || undefined,
    });
  }

  /** Counts a refusal before routing. One line logs many refusals, so that a flood cannot fill the log. */
  refused(reason: Refusal): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    this.unlogged[reason] = (this.unlogged[reason] ?? 0) + 1;
    this.throttle.trigger();
  }

  onApplicationShutdown(): void {
    this.throttle.stop();
  }

  private logRefusals(): void {
    // Malformed requests are the client's problem; overload is the operator's.
    const level = this.unlogged.overloaded ? 'warn' : 'info';
    this.log[level]({ msg: 'Requests were refused before they were routed', refused: this.unlogged });
    this.unlogged = {};
  }
}
