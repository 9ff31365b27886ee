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

/** So many are counted, one by one: some 5 ms. */
const COUNTED = 10_000;

/** Milliseconds for which the figures are good, for both metrics and every scrape. */
const KEPT_MS = 1_000;

/**
 * The same work at any size: a bounded count and, as a job is made with its message, the first entry of pg-boss's index
 * of waiting jobs, which holds them in the order of their creation (all have one priority). Delivered ones cost nothing.
 */
const BACKLOG = `
  WITH waiting AS NOT MATERIALIZED (
    SELECT created_on FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked
    ORDER BY priority DESC, created_on)
  SELECT
    (SELECT count(*)::int FROM (SELECT FROM waiting LIMIT ${COUNTED}) AS counted) AS queued,
    coalesce(extract(epoch FROM now() - (SELECT created_on FROM waiting LIMIT 1)), 0)::float8 AS "oldestSeconds"`;

/** Metrics of the delivery: some counted by this process, some read from the database for all. */
@Injectable()
export class DeliveryMetrics {
  /** Messages that this process has delivered since its start. */
  delivered = 0;
  /** Messages that this process has given up since its start. */
  failed = 0;
  private read?: Promise<Backlog>;

  constructor(
    metrics: Metrics,
    private readonly database: DataSource,
  ) {
    // Every process reports the same figures for the queue, as they share it.
    const one = { aggregator: 'max' } as const;
    const queued = async () => (await this.backlog()).queued;
    const oldest = async () => (await this.backlog()).oldestSeconds;
    const help = `Messages waiting to be delivered; ${COUNTED} stands for that many or more.`;
    metrics.gauge('petstore_messages_queued', help, queued, one);
    metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest waiting message.', oldest, one);
    metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', () => this.delivered);
    metrics.counter('petstore_messages_failed_total', 'Messages given up.', () => this.failed);
  }

  /** Queries the database at most once a second. */
  backlog(): Promise<Backlog> {
    if (!this.read) {
      this.read = this.database.query<[Backlog]>(BACKLOG, [QUEUE]).then(([backlog]) => backlog);
      const forget = () => void setTimeout(() => (this.read = undefined), KEPT_MS).unref();
      this.read.then(forget, forget);
    }
    return this.read;
  }
}
