import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { asker } from '../database/index.js';
import { Metrics } from '../telemetry/index.js';
import { JobQueues } from './job-queues.js';

/** The jobs of a queue that wait, for their first try or a further one. */
interface Backlog {
  queue: string;
  waiting: number;
  /** Seconds since the oldest of them was added; 0 if none is waiting. */
  oldestSeconds: number;
}

/** So many of a queue are counted, one by one: some 40 ms. */
const COUNTED = 100_000;
/** Pages of the table from which a larger number is estimated, to some percent. */
const SAMPLED_PAGES = 2_000;

/** For how long the figures are good, for all metrics and every scrape: milliseconds, and a multiple of what they took. */
const KEPT = { ms: 1_000, times: 20 };

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

/** What share of the table's pages is to be read, in percent. */
const SHARE = `
  SELECT least(100, 100.0 * ${SAMPLED_PAGES} * current_setting('block_size')::int
    / greatest(1, sum(pg_relation_size(relid))))::float8 AS percent
  FROM pg_partition_tree('pgboss.job')`;
/** The same pages each time, so that a backlog that drains is seen to. */
const SAMPLE = `
  SELECT name AS queue, round(count(*) * 100 / $1::float8)::int AS waiting
  FROM pgboss.job TABLESAMPLE SYSTEM ($1::float8) REPEATABLE (1)
  WHERE name = ANY($2) AND state < 'active' AND NOT blocked GROUP BY name`;

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
    const help = 'Jobs waiting, for their first try or a further one; more than 100,000 are estimated.';
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
      const begun = performance.now();
      this.read = asker.run(undefined, () => this.readAll());
      const forget = () => {
        const keptMs = Math.max(KEPT.ms, KEPT.times * (performance.now() - begun));
        setTimeout(() => (this.read = undefined), keptMs).unref();
      };
      this.read.then(forget, forget);
    }
    return this.read;
  }

  private async readAll(): Promise<Backlog[]> {
    const names = this.queues.all.map(({ name }) => name);
    const backlogs = await this.database.query<Backlog[]>(BACKLOG, [names]);
    const large = backlogs.filter(({ waiting }) => waiting === COUNTED);
    if (large.length === 0) return backlogs;
    const [{ percent }] = await this.database.query<[{ percent: number }]>(SHARE);
    const largeNames = large.map(({ queue }) => queue);
    const estimates = await this.database.query<Backlog[]>(SAMPLE, [percent, largeNames]);
    for (const backlog of large) {
      const estimate = estimates.find(({ queue }) => queue === backlog.queue)?.waiting ?? 0;
      backlog.waiting = Math.max(COUNTED, estimate);
    }
    return backlogs;
  }
}
