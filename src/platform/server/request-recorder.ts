import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Histogram } from 'prom-client';
import { NO_ID, type OperationFacts, requestIdOf } from '../api/index.js';
import { AccountCounts, LOG, type Log, Metrics, PROBES } from '../telemetry/index.js';
import { failedListeners } from './guarded-events.js';
import type { HttpAdapter } from './http-adapter.js';
import { RefusalCounts } from './refusal-counts.js';
import type { ObservedRequest, Refusal, RequestObserver } from './request-observer.js';

/** The status that nginx logs if the client has gone before its answer; HTTP has none for it. */
const CLIENT_GONE = 499;

/** Counts every request, and logs a line for each (at `debug` for probes). */
@Injectable()
export class RequestRecorder implements RequestObserver {
  private readonly durations: Histogram<'operation' | 'status'>;
  private readonly deprecatedCalls = new AccountCounts();

  constructor(
    metrics: Metrics,
    private readonly refusals: RefusalCounts,
    { httpAdapter }: HttpAdapterHost<HttpAdapter>,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.durations = metrics.histogram(
      'http_server_request_duration_seconds',
      'From the headers of a request to the end of its answer, by operation and status.',
      ['operation', 'status'],
    );
    metrics.gauge(
      'http_server_active_requests',
      'Requests that are worked on; not probes, nor those whose client is sending or reading.',
      () => httpAdapter.admission.overload.requests,
    );
    metrics.counter(
      'http_server_failed_connections_total',
      'Connections cut off because something failed that listens to them: a bug.',
      failedListeners,
    );
    metrics.counter('petstore_deprecated_calls_total', 'Requests to deprecated operations, by account.', () =>
      this.deprecatedCalls.figures(),
    );
    httpAdapter.admission.observer = this;
  }

  closed(request: ObservedRequest, response: ServerResponse, durationMs: number): void {
    const { accountId, operation, route } = request;
    const operationId = operation?.id ?? NO_ID;
    const status = statusOf(response);
    this.durations.observe({ operation: operationId, status }, durationMs / 1000);
    if (isDeprecated(operation) && accountId !== undefined) this.deprecatedCalls.add(operationId, accountId);
    const level = status >= 500 ? 'warn' : PROBES.test(route?.path ?? '') ? 'debug' : 'info';
    if (!this.log.isLevelEnabled(level)) return;
    this.log[level]({
      operationId,
      route: route?.path,
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
}

function isDeprecated(operation: OperationFacts | undefined): boolean {
  return operation?.sunset !== undefined;
}

/** The status that was sent, or was written past the response; else no client was left to read one. */
function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent || statusCode !== 200 ? statusCode : CLIENT_GONE;
}
