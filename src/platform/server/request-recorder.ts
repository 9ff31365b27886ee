import type { ServerResponse } from 'node:http';
import type { Histogram } from 'prom-client';
import { NO_ID, requestIdOf } from '../api/index.js';
import { type Log, Metrics, PROBES, Throttle } from '../telemetry/index.js';
import type { ObservedRequest } from './exchange.js';
import { failedListeners } from './guarded-events.js';
import type { Refusal } from './refusals.js';
import type { Stream, Streams } from './streams.js';

/** The status that nginx logs if the client has gone before its answer; HTTP has none for it. */
const CLIENT_GONE = 499;

/** How often a line about refusals is logged at most, in milliseconds. */
const REFUSALS_MS = 10_000;

/** Accounts with a label of their own; one for each of many thousands would burden whoever stores the metric. */
const ACCOUNTS = 1_000;
const OTHERS = 'other';

/** Counts every request, and logs a line for each (at `debug` for probes). Every request waits for it, so it is quick. */
export class RequestRecorder {
  private readonly durations: Histogram<'operation' | 'status'>;
  private readonly deprecatedCalls = new AccountCounts();
  /** `overloaded` from the start: to Prometheus, the first value of a series is no increase, and its alert would miss it. */
  private readonly refusals = new Map<Refusal, number>([['overloaded', 0]]);
  private untold: Partial<Record<Refusal, number>> = {};
  private readonly throttle = new Throttle(REFUSALS_MS, () => this.tellOfRefusals());

  private readonly streams = { whole: 0, aborted: 0 };

  /** @param working how many requests are worked on */
  constructor(
    metrics: Metrics,
    private readonly log: Log,
    working: () => number,
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
      working,
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
  closed(request: ObservedRequest, response: ServerResponse, durationMs: number, stream?: Stream): void {
    const { accountId, errorCode, operation, route } = request;
    const operationId = operation?.id ?? NO_ID;
    const status = statusOf(response);
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
      method: request.method,
      status,
      code: errorCode,
      durationMs: Math.round(durationMs * 100) / 100,
      bytes: stream?.bytes,
      aborted: isAborted || undefined,
    });
  }

  /**
   * A request was refused before it reached Express; one refused in the middle of its body is also `closed`. That costs
   * next to nothing, and whoever floods the service must not be able to fill its log: so refusals are counted, and logged
   * together in one line.
   */
  refused(reason: Refusal): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    this.untold[reason] = (this.untold[reason] ?? 0) + 1;
    this.throttle.happened();
  }

  /** Logs what is still to be told. */
  stop(): void {
    this.throttle.stop();
  }

  private tellOfRefusals(): void {
    // Malformed requests are no trouble here; too many requests are.
    const level = this.untold.overloaded ? 'warn' : 'info';
    this.log[level]({ msg: 'Requests were refused before they were routed', refused: this.untold });
    this.untold = {};
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

/** The status that was sent, or was written past the response; else no client was left to read one. */
function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent || statusCode !== 200 ? statusCode : CLIENT_GONE;
}
