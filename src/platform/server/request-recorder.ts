import type { ServerResponse } from 'node:http';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HttpAdapter } from './http-adapter.js';
import { PROBES } from '../telemetry/probes.js';
import { requestIdOf } from './request-id.js';
import type { ObservedRequest, Refusal, RequestObserver } from './request-observer.js';
import { AccountCounts } from '../telemetry/account-counts.js';
import type { DurationHistogram, Durations } from '../telemetry/duration-histogram.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { RefusalCounts } from './refusal-counts.js';
import { type RouteName, RouteNames } from './route-names.js';

/** The status that nginx logs if the client has gone before its answer; HTTP has none for it. */
const CLIENT_GONE = 499;
const UNROUTED: RouteName = { operationId: 'none', isDeprecated: false };

/** A route with its counts, by status. */
interface Counted extends RouteName {
  isProbe: boolean;
  /** Adds the route to its lines, serialized once. */
  log: Log;
  durations: (Durations | undefined)[];
}

/** Counts every request, and logs a line for each (at `debug` for probes). */
@Injectable()
export class RequestRecorder implements RequestObserver, OnApplicationBootstrap {
  private routes = new Map<object | undefined, Counted>();
  private readonly unrouted: Counted;
  private readonly durations: DurationHistogram;
  private readonly deprecatedCalls = new AccountCounts();

  constructor(
    metrics: Metrics,
    private readonly refusals: RefusalCounts,
    private readonly routeNames: RouteNames,
    private readonly host: HttpAdapterHost<HttpAdapter>,
    @Inject(LOG) private readonly log: Log,
  ) {
    const { httpAdapter } = host;
    this.unrouted = counted(UNROUTED, log);
    this.durations = metrics.histogram(
      'http_server_request_duration_seconds',
      'From the headers of a request to the end of its answer, by operation and status.',
    );
    metrics.gauge('http_server_active_requests', 'Requests under way.', () => httpAdapter.requests);
    metrics.counter('petstore_deprecated_calls_total', 'Requests to deprecated operations, by account.', () =>
      this.deprecatedCalls.figures(),
    );
  }

  onApplicationBootstrap(): void {
    this.routes = new Map(
      [...this.routeNames.all()].map(([route, name]) => [route, counted(name, this.log)]),
    );
    this.host.httpAdapter.observer = this;
  }

  closed(request: ObservedRequest, response: ServerResponse, durationMs: number): void {
    const route = this.routes.get(request.route) ?? this.unrouted;
    const status = statusOf(response);
    const { accountId } = request;
    (route.durations[status] ??= this.durationsOf(route, status)).add(durationMs / 1000);
    if (route.isDeprecated && accountId !== undefined) this.deprecatedCalls.add(route.operationId, accountId);
    const level = status >= 500 ? 'warn' : route.isProbe ? 'debug' : 'info';
    if (!route.log.isLevelEnabled(level)) return;
    route.log[level]({
      requestId: requestIdOf(response),
      accountId,
      method: request.method,
      status,
      durationMs: Math.round(durationMs * 100) / 100,
    });
  }

  refused(reason: Refusal): void {
    this.refusals.add(reason);
  }

  private durationsOf({ operationId }: RouteName, status: number): Durations {
    return this.durations.with({ operation: operationId, status: String(status) });
  }
}

function counted(name: RouteName, log: Log): Counted {
  const { operationId, template: route } = name;
  const isProbe = PROBES.test(route ?? '');
  return { ...name, isProbe, durations: [], log: log.child({ operationId, route }) };
}

/** The status that was sent, or was written past the response; else no client was left to read one. */
function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent || statusCode !== 200 ? statusCode : CLIENT_GONE;
}
