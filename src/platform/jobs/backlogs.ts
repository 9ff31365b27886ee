import { DataSource } from 'typeorm';
import { currentWork } from '../process/index.js';
import { cached } from '../process/index.js';

// pg-boss's statistics are up to a minute old and have no age. The table is documented: https://pgboss.io/sql/job-table

/** The waiting jobs of a queue, new or to be retried. */
export interface Backlog {
  queue: string;
  waiting: number;
  /** Age of the oldest waiting job in seconds; 0 if no job is waiting. */
  oldestSeconds: number;
}

/** Most jobs of a queue that are counted exactly, which takes 40 ms. */
const COUNTED = 100_000;
/** Sampled pages of the table, for an estimate of a larger number to some percent. */
const SAMPLED_PAGES = 2_000;

/** How long the figures are cached, for all metrics and scrapes. */
const KEPT = { ms: 1_000, times: 20 };

/**
 * Bounded work at any size: a limited count, and the first entry of pg-boss's index of waiting jobs, which is ordered by
 * creation, as all jobs have one priority.
 */
const WAITING = `FROM pgboss.job WHERE name = queue AND state < 'active' AND NOT blocked`;
const BACKLOG = `
  SELECT queue,
    (SELECT count(*)::int FROM (SELECT ${WAITING} LIMIT ${COUNTED}) AS counted) AS waiting,
    coalesce(extract(epoch FROM now() - (
      SELECT created_on ${WAITING} ORDER BY priority DESC, created_on LIMIT 1)), 0)::float8 AS "oldestSeconds"
  FROM unnest($1::text[]) AS queue`;

/** `REPEATABLE` samples the same pages each time, so that the estimate falls while a backlog drains. */
const ESTIMATE = (percent: number) => `
  SELECT name AS queue, round(count(*) * 100 / ${percent})::int AS waiting
  FROM pgboss.job TABLESAMPLE SYSTEM (${percent}) REPEATABLE (1)
  WHERE name = ANY($1) AND state < 'active' AND NOT blocked GROUP BY name`;
const SHARE = `
  SELECT least(100, 100.0 * ${SAMPLED_PAGES} * current_setting('block_size')::int
    / greatest(1, sum(pg_relation_size(relid))))::float8 AS percent
  FROM pg_partition_tree('pgboss.job')`;

/** The backlogs of the queues. */
export class Backlogs {
  /** Reads the backlogs, at most once a second. */
  readonly read = cached(() => currentWork.run(undefined, () => this.query([...this.names()])), KEPT);

  /** @param names the names of all queues */
  constructor(
    private readonly database: DataSource,
    private readonly names: () => Iterable<string>,
  ) {}

  private async query(queues: readonly string[]): Promise<Backlog[]> {
    const backlogs = await this.database.query<Backlog[]>(BACKLOG, [queues]);
    const large = backlogs.filter(({ waiting }) => waiting === COUNTED);
    if (large.length === 0) return backlogs;
    const [{ percent }] = await this.database.query<[{ percent: number }]>(SHARE);
    const names = large.map(({ queue }) => queue);
    const estimates = await this.database.query<Backlog[]>(ESTIMATE(percent), [names]);
    for (const backlog of large) {
      const estimate = estimates.find(({ queue }) => queue === backlog.queue)?.waiting ?? 0;
      backlog.waiting = Math.max(COUNTED, estimate);
    }
    return backlogs;
  }
}
