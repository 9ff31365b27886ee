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
import { ApiError, type ErrorCode, NO_ID, Public, requestIdOf } from '../api/index.js';
import { SchemaCheck } from '../database/index.js';
import { LOG, type Log, Metrics, PROBES, Throttle } from '../telemetry/index.js';
import type { Quota } from '../process/index.js';
import type { Observer } from './connection.js';
import type { Exchange } from './exchange.js';
import { failedListeners } from './guarded-events.js';
import type { HttpAdapter } from './server.js';
import type { Streams } from './streams.js';

/** The status that nginx logs if the client has gone before its answer; HTTP has none for it. */
const CLIENT_GONE = 499;

/** How often a line about refusals is logged at most, in milliseconds. */
const REFUSALS_MS = 10_000;

/** Accounts with a label of their own; one for each of many thousands would burden whoever stores the metric. */
const ACCOUNTS = 1_000;
const OTHERS = 'other';

/** Why a request was refused before Express: a code of the Error, or that there were too many. */
type Refusal = ErrorCode | 'overloaded';

/** Counts every request, and logs a line for each (at `debug` for probes). Every request waits for it, so it is quick. */
class Recorder implements Observer {
  private readonly durations: Histogram<'operation' | 'status'>;
  private readonly deprecatedCalls = new AccountCounts();
  /** `overloaded` from the start: to Prometheus, the first value of a series is no increase, and its alert would miss it. */
  private readonly refusals = new Map<Refusal, number>([['overloaded', 0]]);
  private unlogged: Partial<Record<Refusal, number>> = {};
  private readonly throttle = new Throttle(REFUSALS_MS, () => this.logRefusals());
  private readonly streams = { whole: 0, aborted: 0 };

  /** @param requests those that are worked on */
  constructor(
    metrics: Metrics,
    private readonly log: Log,
    requests: Quota,
    open: Streams,
  ) {
    metrics.counter(
      'http_server_refused_requests_total',
      'Requests refused before they were routed, by reason: an error code, or `overloaded`.',
      () => [...this.refusals].map(([reason, value]) => ({ labels: { reason }, value })),
    );
    this.durations = metrics.histogram(
      'http_server_request_duration_seconds',
      'From the headers of a request to the end of its answer, or the first byte of a stream, by operation and status.',
      ['operation', 'status'],
    );
    metrics.gauge(
      'http_server_active_requests',
      'Requests that are worked on; not probes, nor those whose client is sending or reading.',
      () => requests.taken,
    );
    metrics.gauge(
      'http_server_active_streams',
      'Answers that are sent while they are made: downloads, server-sent events.',
      () => open.size,
    );
    metrics.counter(
      'http_server_streams_total',
      'Such answers that have ended: `whole`, or `aborted` by either side.',
      () => Object.entries(this.streams).map(([end, value]) => ({ labels: { end }, value })),
    );
    metrics.counter(
      'http_server_failed_connections_total',
      'Connections cut off because something failed that listens to them: a bug.',
      failedListeners,
    );
    metrics.counter('petstore_deprecated_calls_total', 'Requests to deprecated operations, by account.', () =>
      this.deprecatedCalls.figures(),
    );
  }

  /** The answer has been sent, or its client has gone. A stream may take hours, and counts by the time to its first byte. */
  closed({ request, response, from, stream }: Exchange): void {
    const { accountId, errorCode, operation, route, method } = request;
    const durationMs = performance.now() - from;
    const operationId = operation?.id ?? NO_ID;
    const { headersSent, statusCode } = response;
    // Where nothing was sent, nor written past the response, no client was left to read it.
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

  /**
   * What arrived was refused before it reached Express. Whoever floods the service must not be able to fill its log: so
   * refusals are counted, and logged together in one line.
   */
  refused(reason: Refusal): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    this.unlogged[reason] = (this.unlogged[reason] ?? 0) + 1;
    this.throttle.happened();
  }

  /** Logs what has not been logged. */
  stop(): void {
    this.throttle.stop();
  }

  private logRefusals(): void {
    // Malformed requests are no trouble here; too many requests are.
    const level = this.unlogged.overloaded ? 'warn' : 'info';
    this.log[level]({ msg: 'Requests were refused before they were routed', refused: this.unlogged });
    this.unlogged = {};
  }
}

/** Counts by operation and account, for the first accounts; later ones are counted together. */
export class AccountCounts {
  private readonly counts = new Map<string, Map<string, number>>();

  add(operation: string, account: string): void {
    let counts = this.counts.get(operation);
    if (!counts) this.counts.set(operation, (counts = new Map()));
    const name = counts.has(account) || counts.size < ACCOUNTS ? account : OTHERS;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  /** The counts so far, with their labels. */
  figures(): { labels: Record<string, string>; value: number }[] {
    return [...this.counts].flatMap(([operation, counts]) =>
      [...counts].map(([account, value]) => ({ labels: { operation, account }, value })),
    );
  }
}

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
   * Whether the schema of the database can be read and is of this build. Redis is not looked at: without it, each instance
   * counts for itself and goes on serving.
   * @throws ApiError `service_unavailable` while the service stops, or if the database cannot serve it; or what the
   * database throws, which is answered alike
   */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.door.isDraining) throw new ApiError('service_unavailable');
    const problem = await this.schema.findProblem();
    if (problem) throw new ApiError('service_unavailable', undefined, { cause: new Error(problem) });
    return { status: 'ok' };
  }
}

/** The metrics, for Prometheus. */
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

/** Counts and logs requests, and serves what orchestrators and Prometheus ask for. */
@Module({ controllers: [HealthController, MetricsController] })
export class ObservabilityModule implements OnApplicationShutdown {
  private readonly recorder: Recorder;

  constructor({ httpAdapter }: HttpAdapterHost<HttpAdapter>, metrics: Metrics, @Inject(LOG) log: Log) {
    const { door } = httpAdapter;
    this.recorder = new Recorder(metrics, log, door.quotas.requests, door.streams);
    door.observer = this.recorder;
  }

  static with(log: Log): DynamicModule {
    return { module: ObservabilityModule, providers: [{ provide: LOG, useValue: log }] };
  }

  onApplicationShutdown(): void {
    this.recorder.stop();
  }
}
