import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { PgBoss, Queue } from 'pg-boss';
import { Config } from '../../config.js';
import { type Belonging, Transactions } from '../data/index.js';
import { cached, OperatorError } from '../process/index.js';
import { Metrics } from '../telemetry/index.js';
import { createBoss, ENDLESS, FAILED_JOBS, JobsDatabase, optionsOf } from './boss.js';
import { type JobQueue, queueOf } from './job.js';

/** Maximum characters of a payload as JSON: larger data belongs in a table. */
const PAYLOAD_LENGTH = 8_192;

/** A job to add. */
interface NewJob {
  /** UUID; by default a random one. */
  id?: string;
  /** The argument of the handler: a JSON object of at most 8,192 characters, without secrets. */
  payload?: object;
  /** Earliest start: a time, or seconds from now, by the clock of the database. */
  startAfter?: Date | number;
}

/** Columns that a job inherits from its queue. */
const OF_QUEUE = `policy, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds,
  heartbeat_seconds, deletion_seconds, dead_letter`;

/**
 * Adds jobs by SQL, as pg-boss documents (https://pgboss.io/sql/job-table).
 * @param name SQL of the queue's name
 * @param jobs SQL of the ids, the data and the times of the jobs
 */
const insertOf = (name: string, jobs: string) => `
  INSERT INTO pgboss.job (id, name, data, start_after, keep_until, ${OF_QUEUE})
  SELECT id, name, data, start_after, start_after + retention_seconds * interval '1 second', ${OF_QUEUE}
  FROM (${jobs}) AS added (id, data, start_after), pgboss.queue WHERE name = ${name} RETURNING 1`;

const ADD = insertOf(
  '$1',
  `SELECT id, data, coalesce(at, now() + coalesce(seconds, 0) * interval '1 second')
   FROM json_to_recordset($2::json) AS job (id uuid, data jsonb, at timestamptz, seconds float8)`,
);

/** The waiting jobs of a queue, new or to be retried. */
interface Backlog {
  queue: string;
  /** The count of pg-boss, refreshed every ten seconds. */
  waiting: number;
  /** Age of the oldest waiting job in seconds; 0 if no job is waiting. */
  oldestSeconds: number;
}

/**
 * pg-boss does not report ages. This reads the first entry of pg-boss's index of waiting jobs; the index is in
 * the order of creation, as all jobs have the same priority.
 */
const AGES = `
  SELECT queue, coalesce(extract(epoch FROM now() - (
    SELECT created_on FROM pgboss.job WHERE name = queue AND state < 'active' AND NOT blocked
    ORDER BY priority DESC, created_on LIMIT 1)), 0)::float8 AS seconds
  FROM unnest($1::text[]) AS queue`;

const RESULTS = ['done', 'postponed', 'failed'] as const;
type Result = (typeof RESULTS)[number];

/** The queues of the service. A job added in a transaction exists exactly if the transaction commits. */
@Injectable()
export class Jobs implements OnApplicationBootstrap {
  private readonly queues = new Map<string, JobQueue>();
  private readonly tried = new Map<string, number>();
  private readonly backlogs = cached(() => this.readBacklogs(), { ms: 1_000, times: 20 });
  /** This process's instance of pg-boss; `JobWorkers` starts and stops it. */
  readonly boss: PgBoss;

  constructor(
    private readonly config: Config,
    private readonly modules: ModulesContainer,
    private readonly database: JobsDatabase,
    private readonly transactions: Transactions,
    metrics: Metrics,
  ) {
    this.boss = createBoss(database);
    this.registerMetrics(metrics);
  }

  get all(): JobQueue[] {
    return [...this.queues.values()];
  }

  /** The queue of this name; undefined if no code declares it. */
  find(name: string): JobQueue | undefined {
    return this.queues.get(name);
  }

  /**
   * Adds a queue, in the constructor of a provider.
   * @throws Error for a second queue of the same name
   * @throws OperatorError for an invalid cron expression
   */
  declare(queue: JobQueue): void {
    if (this.queues.has(queue.name)) throw new Error(`There are two handlers of the jobs "${queue.name}"`);
    this.requireCron(queue);
    this.queues.set(queue.name, queue);
  }

  /**
   * Adds a job, in the open transaction if there is one.
   * @returns the id of the job
   * @throws Error if nothing handles jobs of this name, or the payload is too large
   */
  async add(queue: string, payload?: object, when: Pick<NewJob, 'startAfter'> = {}): Promise<string> {
    const id = randomUUID();
    await this.addAll(queue, [{ id, payload, ...when }]);
    return id;
  }

  /** Adds several jobs by one statement. @throws Error as `add` does, and for an id that a job already has */
  async addAll(name: string, jobs: readonly NewJob[]): Promise<void> {
    this.require(name);
    if (jobs.length === 0) return;
    const rows = jobs.map(({ id = randomUUID(), payload, startAfter }) => ({
      id,
      data: payload && { payload: checked(name, payload) },
      ...(startAfter instanceof Date ? { at: startAfter } : { seconds: startAfter }),
    }));
    const added = await this.transactions.manager.query<object[]>(ADD, [name, JSON.stringify(rows)]);
    if (added.length !== rows.length) throw new Error(`The database does not know the queue "${name}"`);
  }

  /** For `insert(…).with(…)`: a job with the id of the new row. @throws Error if nothing handles jobs of this name */
  of(name: string): Belonging {
    this.require(name);
    const text = (parameter: (place: number) => string) =>
      insertOf(parameter(0), 'SELECT id, NULL::jsonb, now() FROM made');
    return { of: () => ({ name: `job ${name}`, values: [name], text }) };
  }

  /** The backlog of a queue. */
  async backlogOf(queue: string): Promise<Backlog> {
    return (await this.backlogs()).find((one) => one.queue === queue)!;
  }

  /** The number of tries that had this result in this process since its start. */
  triesOf(queue: string, result: Result): number {
    return this.tried.get(`${queue} ${result}`) ?? 0;
  }

  /** Counts a try. */
  count(queue: string, result: Result): void {
    this.tried.set(`${queue} ${result}`, this.triesOf(queue, result) + 1);
  }

  /** Creates missing queues, also in a process that only adds jobs. */
  async onApplicationBootstrap(): Promise<void> {
    this.discover();
    const schedules = this.all.flatMap(({ name, cron }) => (cron ? [`${name} ${cron}`] : []));
    this.database.identify(schedules);
    // Every failed job must be recorded, however long that takes: the recording is retried for ever.
    await this.createQueue(FAILED_JOBS, { retryLimit: ENDLESS });
    for (const queue of this.all) await this.createQueue(queue, { deadLetter: FAILED_JOBS.name });
  }

  private async createQueue(queue: JobQueue, more: Pick<Queue, 'retryLimit' | 'deadLetter'>): Promise<void> {
    const options = { ...optionsOf(queue), ...more };
    await this.boss.createQueue(queue.name, options);
    // Updates a queue that existed before; only processes that run jobs do so.
    if (this.config.ROLE !== 'api') await this.boss.updateQueue(queue.name, options);
  }

  /** Checks the schedule now: later, pg-boss would refuse it, and not set the schedules after it. */
  private requireCron({ name, cron }: JobQueue): void {
    if (cron === undefined) return;
    try {
      this.boss.previewSchedule(cron, { count: 1 });
    } catch (error) {
      const reason = (error as Error).message;
      throw new OperatorError(`The cron expression of the schedule ${name} is invalid (${cron}): ${reason}.`);
    }
  }

  private require(name: string): JobQueue {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`Nothing handles the jobs "${name}"`);
    return queue;
  }

  private async readBacklogs(): Promise<Backlog[]> {
    const names = [...this.queues.keys()];
    const [queues, { rows }] = await Promise.all([
      this.boss.getQueues(names),
      this.database.executeSql(AGES, [names]),
    ]);
    const ages = new Map(
      (rows as { queue: string; seconds: number }[]).map((row) => [row.queue, row.seconds]),
    );
    return queues.map(({ name, queuedCount }) => ({
      queue: name,
      waiting: queuedCount,
      oldestSeconds: ages.get(name)!,
    }));
  }

  private discover(): void {
    const scanner = new MetadataScanner();
    for (const { instance } of new DiscoveryService(this.modules).getProviders()) {
      const prototype: unknown = instance && typeof instance === 'object' && Object.getPrototypeOf(instance);
      if (!prototype) continue;
      for (const method of scanner.getAllMethodNames(prototype)) {
        const queue = queueOf(instance as object, method);
        if (queue) this.declare(queue);
      }
    }
  }

  private registerMetrics(metrics: Metrics): void {
    // All processes share the queues, so they report the same figures.
    const one = { labels: ['queue'], aggregator: 'max' } as const;
    const each = (name: 'waiting' | 'oldestSeconds') => async () =>
      (await this.backlogs()).map(({ queue, [name]: value }) => ({ labels: { queue }, value }));
    const help = 'Jobs waiting for their first or a later try, counted every ten seconds.';
    metrics.gauge('petstore_jobs_waiting', help, each('waiting'), one);
    const age = 'Age of the oldest waiting job.';
    metrics.gauge('petstore_jobs_oldest_seconds', age, each('oldestSeconds'), one);
    // Zero from the start, so that Prometheus sees the first try as an increase.
    const tries = () =>
      this.all.flatMap(({ name: queue }) =>
        RESULTS.map((result) => ({ labels: { queue, result }, value: this.triesOf(queue, result) })),
      );
    metrics.counter('petstore_jobs_tries_total', 'Tries of jobs, by result.', tries, {
      labels: ['queue', 'result'],
    });
  }
}

function checked(queue: string, payload: object): object {
  const { length } = JSON.stringify(payload);
  if (length <= PAYLOAD_LENGTH) return payload;
  throw new Error(`The payload of a job "${queue}" has ${length} characters: more than ${PAYLOAD_LENGTH}`);
}
