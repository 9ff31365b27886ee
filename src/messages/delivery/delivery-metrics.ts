import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Metrics } from '../../platform/telemetry/metrics.js';
import { QUEUE } from './queue.js';

/** The messages waiting, for their first try or a further one. */
interface Backlog {
  queued: number;
  /** Seconds since the oldest of them was accepted; 0 if none is waiting. */
  oldestSeconds: number;
}

/** The condition is that of pg-boss's own index of waiting jobs, so delivered ones cost nothing here. */
const BACKLOG = `
  SELECT count(*)::int AS queued,
    coalesce(extract(epoch FROM now() - min(created_on)), 0)::float8 AS "oldestSeconds"
  FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked`;

/** Metrics of the delivery: some counted by this process, some read from the database for all. */
@Injectable()
export class DeliveryMetrics {
  /** Messages that this process has delivered since its start. */
  delivered = 0;
  /** Messages that this process has given up since its start. */
  failed = 0;

  constructor(
    metrics: Metrics,
    private readonly database: DataSource,
  ) {
    // Every process reports the same figures for the queue, as they share it.
    const one = { aggregator: 'max' } as const;
    const queued = async () => (await this.backlog()).queued;
    const oldest = async () => (await this.backlog()).oldestSeconds;
    metrics.gauge('petstore_messages_queued', 'Messages waiting to be delivered.', queued, one);
    metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest waiting message.', oldest, one);
    metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', () => this.delivered);
    metrics.counter('petstore_messages_failed_total', 'Messages given up.', () => this.failed);
  }

  async backlog(): Promise<Backlog> {
    const [backlog] = await this.database.query<[Backlog]>(BACKLOG, [QUEUE]);
    return backlog;
  }
}
