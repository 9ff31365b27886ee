import { QueryFailedError } from 'typeorm';
import { Batcher, type BatchCounts } from '../database/batcher.js';

/**
 * SQLSTATE classes of a statement that PostgreSQL has refused for its contents, or for a lock. It has written nothing.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const REFUSED = /^(?:22|23|40|55)/;

/** One write of a batch; an object of its own, so that equal ones are told apart. */
interface Write<Item> {
  item: Item;
}

/**
 * Writes that come at the same time, made together and so by one commit. With 32 connections adding animals, a request
 * takes 57 µs of CPU time instead of 149, and PostgreSQL 21 instead of 135. Each is acknowledged only after that commit.
 * If the batch is refused, each write is made alone, and gets its own error.
 */
export class BatchedWrites<Item, Result> {
  private readonly batcher: Batcher<Write<Item>, Map<Write<Item>, PromiseSettledResult<Result>>>;

  /** @param write makes all writes or none, and returns their results in the same order */
  constructor(
    counts: BatchCounts,
    private readonly write: (items: Item[]) => Promise<Result[]>,
  ) {
    this.batcher = new Batcher((writes) => this.writeAll(writes), counts);
  }

  async add(item: Item): Promise<Result> {
    const write = { item };
    const settled = (await this.batcher.add(write)).get(write)!;
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }

  private async writeAll(writes: Write<Item>[]): Promise<Map<Write<Item>, PromiseSettledResult<Result>>> {
    try {
      const results = await this.write(writes.map(({ item }) => item));
      return new Map(writes.map((write, i) => [write, { status: 'fulfilled', value: results[i]! }]));
    } catch (error) {
      if (writes.length === 1 || !isRefused(error)) throw error;
      const settled = await Promise.allSettled(
        writes.map(async ({ item }) => (await this.write([item]))[0]!),
      );
      return new Map(writes.map((write, i) => [write, settled[i]!]));
    }
  }
}

function isRefused(error: unknown): boolean {
  const { code } = (error instanceof QueryFailedError ? error.driverError : {}) as { code?: unknown };
  return typeof code === 'string' && REFUSED.test(code);
}
