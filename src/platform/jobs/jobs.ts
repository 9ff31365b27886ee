import { hash, randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { PoolClient } from 'pg';
import { type Db, PgBoss, type QueueOptions } from 'pg-boss';
import { DataSource, type EntityManager } from 'typeorm';
import { Transactions } from '../data/index.js';
import { Metrics } from '../telemetry/index.js';
import { QUEUE_OPTIONS } from './boss.js';
import { type JobQueue, queueOf } from './job.js';
import { type Backlog, Backlogs } from './job-table.js';

/** Maximum length of a payload as JSON, in characters: what is larger belongs into a table. */
const PAYLOAD_LENGTH = 8_192;

/** A job to be done. */
interface NewJob {
  /** UUID; a new one when left out. */
  id?: string;
  /** What its handler gets: an object of JSON, of at most 8,192 characters, without secrets. */
  payload?: object;
  /** Not before this time, or so many seconds later, by the clock of the database. */
  startAfter?: Date | number;
}

/** The same, for pg-boss. */
type NewRow = Pick<NewJob, 'id' | 'startAfter'> & { data?: object };

const RESULTS = ['done', 'postponed', 'failed'] as const;
type Result = (typeof RESULTS)[number];

/**
 * The queues of the service, and what puts jobs into them in the open transaction: either they are there and what else it
 * writes, or neither.
 */
@Injectable()
export class Jobs implements OnApplicationBootstrap {
  /** Adds and ends jobs in the open transaction. It asks for queues there too: a second connection could be one too many. */
  readonly boss: PgBoss;
  /** The queues that this process has paused. */
  readonly paused = new Set<string>();
  private readonly queues = new Map<string, JobQueue>();
  private readonly tried = new Map<string, number>();
  private readonly backlogs: Backlogs;

  constructor(
    private readonly modules: ModulesContainer,
    database: DataSource,
    readonly transactions: Transactions,
    metrics: Metrics,
  ) {
    this.boss = new PgBoss({
      db: { executeSql: async (...sql) => ({ rows: await transactions.manager.query(...sql) }) },
    });
    this.backlogs = new Backlogs(database);
    this.tell(metrics);
  }

  get all(): JobQueue[] {
    return [...this.queues.values()];
  }

  /** Adds a queue, in the constructor of a provider. @throws Error if there is one with its name */
  declare(queue: JobQueue): void {
    if (this.queues.has(queue.name)) throw new Error(`There are two handlers of the jobs "${queue.name}"`);
    this.queues.set(queue.name, queue);
  }

  /**
   * Adds a job, in a transaction of its own if none is open. Returns its id.
   * @throws Error if nothing handles jobs of this name, or the payload is too large
   */
  async add(queue: string, payload?: object, when: Pick<NewJob, 'startAfter'> = {}): Promise<string> {
    const id = randomUUID();
    await this.addAll(queue, [{ id, payload, ...when }]);
    return id;
  }

  /** Adds several by one statement. @throws Error as `add` does, or if there is a job with one of the ids already */
  async addAll(name: string, jobs: readonly NewJob[]): Promise<void> {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`Nothing handles the jobs "${name}"`);
    if (jobs.length === 0) return;
    const rows = jobs.map(({ id, payload, startAfter }) => ({
      id,
      data: payload && { payload: checked(name, payload) },
      startAfter,
    }));
    await this.transactions.run((transaction) => this.insert(transaction, name, rows));
  }

  /** What waits in a queue, as it was at most a second ago. */
  async backlogOf(queue: string): Promise<Backlog> {
    return (await this.readBacklogs()).find((one) => one.queue === queue)!;
  }

  /** How many tries of a queue's jobs have come to a result in this process, since its start. */
  triesOf(queue: string, result: Result): number {
    return this.tried.get(`${queue} ${result}`) ?? 0;
  }

  /** Counts a try. */
  count(queue: string, result: Result): void {
    this.tried.set(`${queue} ${result}`, this.triesOf(queue, result) + 1);
  }

  /** Creates what the database does not have yet: also those that only insert jobs need it. */
  async onApplicationBootstrap(): Promise<void> {
    this.discover();
    const found = await this.boss.getQueues([...this.queues.keys()]);
    const known = new Map(found.map((queue) => [queue.name, queue]));
    for (const name of this.queues.keys()) {
      const queue = known.get(name);
      if (!queue) await this.boss.createQueue(name, QUEUE_OPTIONS);
      else if (!isAsWanted(queue)) await this.boss.updateQueue(name, QUEUE_OPTIONS);
    }
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

  private async insert(transaction: EntityManager, queue: string, rows: NewRow[]): Promise<void> {
    const ids = await this.boss.insert(queue, rows, { db: this.dbOf(transaction), returnId: true });
    if (ids?.length !== rows.length)
      throw new Error('pg-boss has skipped a job, which has an id of an earlier one');
  }

  /** A transaction, for pg-boss. Its long statements are prepared: parsing one takes longer than running it. */
  private dbOf({ queryRunner }: EntityManager): Db {
    return {
      executeSql: async (text: string, values?: unknown[]) => {
        const client = (await queryRunner!.connect()) as PoolClient;
        return client.query({ name: nameOf(text), text, values });
      },
    };
  }

  private readBacklogs(): Promise<Backlog[]> {
    return this.backlogs.read([...this.queues.keys()]);
  }

  private tell(metrics: Metrics): void {
    // Every process reports the same figures for what waits in the queues, as they share them.
    const one = { aggregator: 'max' } as const;
    const each = (name: 'waiting' | 'oldestSeconds') => async () =>
      (await this.readBacklogs()).map(({ queue, [name]: value }) => ({ labels: { queue }, value }));
    const help = 'Jobs waiting, for their first try or a further one; more than 100,000 are estimated.';
    metrics.gauge('petstore_jobs_waiting', help, each('waiting'), one);
    const age = 'Age of the oldest waiting job.';
    metrics.gauge('petstore_jobs_oldest_seconds', age, each('oldestSeconds'), one);
    // From the start, so that the first of them is an increase.
    const tries = () =>
      this.all.flatMap(({ name: queue }) =>
        RESULTS.map((result) => ({ labels: { queue, result }, value: this.triesOf(queue, result) })),
      );
    metrics.counter('petstore_jobs_tries_total', 'Tries of jobs, by what became of them.', tries);
    const paused = () =>
      this.all.map(({ name }) => ({ labels: { queue: name }, value: Number(this.paused.has(name)) }));
    metrics.gauge('petstore_jobs_paused', 'Whether jobs are paused, as all tries fail.', paused);
  }
}

function checked(queue: string, payload: object): object {
  const { length } = JSON.stringify(payload);
  if (length <= PAYLOAD_LENGTH) return payload;
  throw new Error(`The payload of a job "${queue}" has ${length} characters: more than ${PAYLOAD_LENGTH}`);
}

function nameOf(text: string): string {
  return `job_${hash('sha256', text).slice(0, 16)}`;
}

function isAsWanted(queue: QueueOptions): boolean {
  const options = Object.entries(QUEUE_OPTIONS) as [keyof QueueOptions, number][];
  return options.every(([name, value]) => queue[name] === value);
}
