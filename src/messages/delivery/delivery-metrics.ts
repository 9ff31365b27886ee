import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Metrics } from '../../observability/metrics.js';
import { QUEUE } from './queue.js';

/** The messages that wait, for their first try or a further one. */
interface Backlog {
  queued: number;
  /** Seconds since the oldest of them was accepted; 0 where none waits. */
  oldestSeconds: number;
}

/** The condition is that of pg-boss's own index of waiting jobs, so what has been delivered costs nothing here. */
const BACKLOG = `
  SELECT count(*)::int AS queued,
    coalesce(extract(epoch FROM now() - min(created_on)), 0)::float8 AS "oldestSeconds"
  FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked`;

/** Figures of the delivery: those that this process counts, and those that the database knows for all. */
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
    // Every process tells the same of the queue, which is one for all.
    const one = { aggregator: 'max' } as const;
    const queued = async () => (await this.backlog()).queued;
    const oldest = async () => (await this.backlog()).oldestSeconds;
    metrics.gauge('petstore_messages_queued', 'Messages that wait to be delivered.', queued, one);
    metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest message that waits.', oldest, one);
    metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', () => this.delivered);
    metrics.counter('petstore_messages_failed_total', 'Messages given up.', () => this.failed);
  }

  async backlog(): Promise<Backlog> {
    const [backlog] = await this.database.query<[Backlog]>(BACKLOG, [QUEUE]);
    return backlog;
  }
}
