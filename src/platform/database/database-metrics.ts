import { Injectable } from '@nestjs/common';
import { Metrics } from '../telemetry/index.js';
import { Connections } from './connections.js';

/** The connections that requests use, and how far they share statements. */
@Injectable()
export class DatabaseMetrics {
  constructor(metrics: Metrics, { primary: pool, hosts, reads, writes }: Connections) {
    metrics.gauge('petstore_database_connections', 'Connections of the pool, by state.', () => [
      { labels: { state: 'used' }, value: pool.totalCount - pool.idleCount },
      { labels: { state: 'idle' }, value: pool.idleCount },
    ]);
    metrics.gauge(
      'petstore_database_connections_max',
      'Connections that the pool may have.',
      () => pool.options.max,
    );
    metrics.gauge(
      'petstore_database_waiting',
      'Statements and transactions that wait for a connection.',
      () => pool.inLine,
    );
    if (hosts)
      metrics.gauge('petstore_database_host', 'Processes that use this host of DATABASE_URL.', () =>
        hosts.all.map((host) => ({ labels: { host: host.name }, value: Number(host === hosts.current) })),
      );
    for (const [kind, counts] of Object.entries({ reads, writes })) {
      metrics.counter(`petstore_${kind}_asked_total`, `Single ${kind} asked for.`, () => counts.asked);
      metrics.counter(`petstore_${kind}_sent_total`, `Batches of ${kind} sent.`, () => counts.sent);
    }
  }
}
