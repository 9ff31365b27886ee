import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LOG, type Log, Metrics, Throttle } from '../telemetry/index.js';
import type { Refusal } from './request-observer.js';

const INTERVAL_MS = 10_000;

/**
 * Requests that were refused before Express. They cost next to nothing, and whoever floods the service must not be able
 * to fill its log: so they are counted, and logged together in one line every ten seconds.
 */
@Injectable()
export class RefusalCounts implements OnApplicationShutdown {
  /** `overloaded` from the start: to Prometheus, the first value of a series is no increase, and its alert would miss it. */
  private readonly counts = new Map<Refusal, number>([['overloaded', 0]]);
  private untold: Partial<Record<Refusal, number>> = {};
  private readonly throttle = new Throttle(INTERVAL_MS, () => this.tell());

  constructor(
    metrics: Metrics,
    @Inject(LOG) private readonly log: Log,
  ) {
    metrics.counter(
      'http_server_refused_requests_total',
      'Requests refused before they were routed, by reason: an error code, or `overloaded`.',
      () => [...this.counts].map(([reason, value]) => ({ labels: { reason }, value })),
    );
  }

  add(reason: Refusal): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    this.untold[reason] = (this.untold[reason] ?? 0) + 1;
    this.throttle.happened();
  }

  onApplicationShutdown(): void {
    this.throttle.stop();
  }

  private tell(): void {
    // Malformed requests are no trouble here; too many requests are.
    const level = this.untold.overloaded ? 'warn' : 'info';
    this.log[level]({ msg: 'Requests were refused before they were routed', refused: this.untold });
    this.untold = {};
  }
}
