import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { messageOf } from '../telemetry/index.js';
import { Shape } from './shape.js';
import { deleteSome } from './sql.js';

const INTERVAL_MS = 10 * 60 * 1000;

/** Sweeps tables at the start of the service and every ten minutes; instances need not coordinate. */
@Injectable()
export class Sweeps implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Sweeps.name);
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>[] = [];

  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** Deletes expired rows of a table until the service stops. */
  start<Entity extends ObjectLiteral>(target: EntityTarget<Entity>, expired: () => Expired<Entity>): void {
    this.running.push(this.run(target, expired));
  }

  /** Before the connections are closed: a running sweep still needs one. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  private async run<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    expired: () => Expired<Entity>,
  ): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sweep(this.database, target, expired(), signal).catch((error: Error) => {
        const { tableName } = this.database.getMetadata(target);
        this.logger.warn(`Expired rows of ${tableName} were not swept: ${messageOf(error)}`);
      });
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

/** Rows per statement, which takes some 20 ms: rows of one age are neighbours in the table. */
const BATCH = 1_000;

interface Expired<Entity> {
  /** Upper bounds, exclusive, of the values of these properties. */
  before: { readonly [Key in keyof Entity]?: string | Date };
  /** Further values of the rows: one of each list. */
  where?: { readonly [Key in keyof Entity]?: readonly string[] };
}

/**
 * Deletes rows in batches, with pauses as long as the batches, so a sweep takes at most half of a connection. It leaves
 * locked rows to the next sweep, so several instances may sweep. The columns of `before` need an index.
 * @throws errors of the database; earlier batches stay deleted
 */
async function sweep<Entity extends ObjectLiteral>(
  database: DataSource,
  target: EntityTarget<Entity>,
  { before, where = {} }: Expired<Entity>,
  signal: AbortSignal,
): Promise<void> {
  const shape = new Shape(database.getMetadata(target));
  const [bounds, values] = [Object.entries(before), Object.entries(where)];
  const columnsOf = (entries: [string, unknown][]) => entries.map(([property]) => shape.column(property));
  const text = deleteSome(shape, columnsOf(bounds), columnsOf(values));
  const parameters = [...[...bounds, ...values].map(([, value]) => value as unknown), BATCH];
  while (!signal.aborted) {
    const startedAt = performance.now();
    const [, count] = await database.query<[unknown, number]>(text, parameters);
    if (count < BATCH) return;
    await sleep(performance.now() - startedAt, undefined, { signal, ref: false }).catch(() => {});
  }
}
