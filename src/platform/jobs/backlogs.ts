import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { asker } from '../database/asker.js';
import { Metrics } from '../telemetry/metrics.js';
import { JobQueues } from './job-queues.js';

/** The jobs of a queue that wait, for their first try or a further one. */
interface Backlog {
  queue: string;
  waiting: number;
  /** Seconds since the oldest of them was added; 0 if none is waiting. */
  oldestSeconds: number;
}

/** So many are counted, one by one: some 5 ms. */
export const COUNTED = 10_000;

/** Milliseconds for which the figures are good, for all metrics and every scrape. */
const KEPT_MS = 1_000;

/**
 * The same work at any size: a bounded count and the first entry of pg-boss's index of waiting jobs, which holds them in
 * the order of their creation (all have one priority). Those that are done cost nothing.
 */
const WAITING = `FROM pgboss.job WHERE name = queue AND state < 'active' AND NOT blocked`;
const BACKLOG = `
  SELECT queue,
    (SELECT count(*)::int FROM (SELECT ${WAITING} LIMIT ${COUNTED}) AS counted) AS waiting,
    coalesce(extract(epoch FROM now() - (
      SELECT created_on ${WAITING} ORDER BY priority DESC, created_on LIMIT 1)), 0)::float8 AS "oldestSeconds"
  FROM unnest($1::text[]) AS queue`;

/** What waits in the queues, for the metrics. */
@Injectable()
export class Backlogs {
  private read?: Promise<Backlog[]>;

  constructor(
    metrics: Metrics,
    private readonly database: DataSource,
    private readonly queues: JobQueues,
  ) {
    // Every process reports the same figures for the queues, as they share them.
    const one = { aggregator: 'max' } as const;
    const each = (name: 'waiting' | 'oldestSeconds') => async () =>
      (await this.all()).map(({ queue, [name]: value }) => ({ labels: { queue }, value }));
    const help = `Jobs waiting, for their first try or a further one; ${COUNTED} stands for that many or more.`;
    metrics.gauge('petstore_jobs_waiting', help, each('waiting'), one);
    const age = 'Age of the oldest waiting job.';
    metrics.gauge('petstore_jobs_oldest_seconds', age, each('oldestSeconds'), one);
  }

  /** That of one queue. */
  async of(queue: string): Promise<Backlog> {
    return (await this.all()).find((one) => one.queue === queue)!;
  }

  /** Queries the database at most once a second. */
  private all(): Promise<Backlog[]> {
    if (!this.read) {
      const names = this.queues.all.map(({ name }) => name);
      this.read = asker.run(undefined, () => this.database.query<Backlog[]>(BACKLOG, [names]));
      const forget = () => void setTimeout(() => (this.read = undefined), KEPT_MS).unref();
      this.read.then(forget, forget);
    }
    return this.read;
  }
}
