import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import type { Db } from 'pg-boss';
import { DataSource, type EntityManager } from 'typeorm';
import { made, Transactions } from '../data/index.js';
import { Connections } from '../database/index.js';
import { JobQueues } from './job-queues.js';

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

/** Puts jobs into the open transaction: either they are there and what else it writes, or neither. */
@Injectable()
export class Jobs {
  private readonly names = new Map<string, string>();

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly queues: JobQueues,
  ) {}

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
  async addAll(queue: string, jobs: readonly NewJob[]): Promise<void> {
    const { name } = this.queues.get(queue);
    if (jobs.length === 0) return;
    const rows = jobs.map(({ id, payload, startAfter }) => ({
      id,
      data: payload && { payload: checked(name, payload) },
      startAfter,
    }));
    await this.transactions.runCounted(async (transaction) => {
      const calls = this.transactions.gathered<NewRow[], void>(transaction, this.queues.get(queue), (all) =>
        this.insert(transaction, name, all.flat()).then(() => made(all.map(() => undefined))),
      );
      await this.transactions.written(() => (calls ? calls.add(rows) : this.insert(transaction, name, rows)));
    });
  }

  private async insert(transaction: EntityManager, queue: string, rows: NewRow[]): Promise<void> {
    const ids = await this.queues.boss.insert(queue, rows, { db: this.dbOf(transaction), returnId: true });
    if (ids?.length !== rows.length)
      throw new Error('pg-boss has skipped a job, which has an id of an earlier one');
  }

  /** A transaction, for pg-boss. Its long statements are prepared: parsing one takes longer than running it. */
  private dbOf({ queryRunner }: EntityManager): Db {
    const { prepared } = Connections.of(this.database);
    return {
      executeSql: async (text: string, values?: unknown[]) => {
        const client = (await queryRunner!.connect()) as PoolClient;
        return prepared.query(client, { name: this.nameOf(text), text }, values);
      },
    };
  }

  private nameOf(text: string): string {
    let name = this.names.get(text);
    if (!name)
      this.names.set(text, (name = `job_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`));
    return name;
  }
}

function checked(queue: string, payload: object): object {
  const { length } = JSON.stringify(payload);
  if (length <= PAYLOAD_LENGTH) return payload;
  throw new Error(`The payload of a job "${queue}" has ${length} characters: more than ${PAYLOAD_LENGTH}`);
}
