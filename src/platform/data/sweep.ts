import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { isUnavailable } from '../database/index.js';
import { Shape } from './shape.js';
import { deleteSome } from './sql.js';

/** Rows of one statement: more where they go quickly, fewer where the statement ran out of time. */
const BATCH = { first: 1_000, least: 100, most: 10_000 };
/** Milliseconds in which a statement should be done: others wait for the same disk. */
const QUICK_MS = 100;

/** Rows that are no longer needed. */
export interface Old<Entity> {
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
export async function sweep<Entity extends ObjectLiteral>(
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
