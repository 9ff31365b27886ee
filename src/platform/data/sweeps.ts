import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { isUnavailable } from '../database/index.js';
import { Shape } from './shape.js';
import { deleteSome } from './sql.js';

const INTERVAL_MS = 10 * 60 * 1000;

/** Sweeps tables at the start of the service, and then every ten minutes. Every instance may do so at any time. */
@Injectable()
export class Sweeps implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Sweeps.name);
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>[] = [];

  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** Deletes, until the service stops, the rows of a table that are old at the time, as `sweep` does. */
  start<Entity extends ObjectLiteral>(target: EntityTarget<Entity>, old: () => Old<Entity>): void {
    this.running.push(this.run(target, old));
  }

  /** Before the connections are closed, which a sweep that is under way still needs. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  private async run<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    old: () => Old<Entity>,
  ): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sweep(this.database, target, old(), signal).catch((error: Error) => {
        const { tableName } = this.database.getMetadata(target);
        this.logger.warn(`Old rows of ${tableName} were not swept: ${error.message}`);
      });
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

/** Rows of one statement: more where they go quickly, fewer where the statement ran out of time. */
const BATCH = { first: 1_000, least: 100, most: 10_000 };
/** Milliseconds in which a statement should be done: others wait for the same disk. */
const QUICK_MS = 100;

/** Rows that are no longer needed. */
interface Old<Entity> {
  /** The column that they are told by: of a list of properties, all values below these. */
  before: { readonly [Key in keyof Entity]?: string | Date };
  /** Values that they have besides; one of a list. */
  where?: { readonly [Key in keyof Entity]?: readonly string[] };
}

/**
 * Deletes rows in batches, however many there are, each followed by a pause as long as it took: the sweep never takes more
 * than half of one connection. Rows that others hold are left to the next sweep, so several instances may sweep at once.
 * The column that the rows are told by needs an index.
 * @returns how many were deleted
 * @throws what the database throws; the batches before stay deleted
 */
async function sweep<Entity extends ObjectLiteral>(
  database: DataSource,
  target: EntityTarget<Entity>,
  { before, where = {} }: Old<Entity>,
  signal: AbortSignal,
): Promise<number> {
  const shape = new Shape(database.getMetadata(target));
  const [bounds, values] = [Object.entries(before), Object.entries(where)];
  const columnsOf = (entries: [string, unknown][]) => entries.map(([property]) => shape.column(property));
  const text = deleteSome(shape, columnsOf(bounds), columnsOf(values));
  const parameters = [...bounds, ...values].map(([, value]) => value as unknown);
  let total = 0;
  for (let size = BATCH.first; ;) {
    const begun = performance.now();
    const count = await deleted(database, text, [...parameters, size]);
    const tookMs = performance.now() - begun;
    if (count === undefined && size === BATCH.least) throw new Error('the database is too busy');
    total += count ?? 0;
    if (signal.aborted || (count !== undefined && count < size)) return total;
    if (count === undefined) size = Math.max(BATCH.least, Math.floor(size / 4));
    else if (tookMs < QUICK_MS) size = Math.min(size * 2, BATCH.most);
    await sleep(tookMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** How many rows a statement has deleted; undefined if it ran out of time. */
async function deleted(database: DataSource, text: string, values: unknown[]): Promise<number | undefined> {
  try {
    const [, count] = await database.query<[unknown, number]>(text, values);
    return count;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
