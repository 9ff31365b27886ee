import { Batcher, type BatchCounts } from '../database/batcher.js';
import { codeOf, isUnavailable } from '../database/unavailable.js';

/**
 * SQLSTATE classes of a statement that PostgreSQL has refused for its contents, or for a lock. It has written nothing.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const REFUSED = /^(?:22|23|40|55)/;
/** SQLSTATE of a lock that another transaction has held for longer than `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';
/** How many calls of a batch that was refused are made at once: the other connections are for others. */
const AT_ONCE = 2;

/** What has become of one call of a batch. */
export type Outcome<Result> = PromiseSettledResult<Result>;

/** One call of a batch, and then what has become of it, or will if it is made alone. */
interface Call<Item, Result> {
  item: Item;
  outcome?: Outcome<Result>;
  alone?: PromiseWithResolvers<Result>;
}

/**
 * Calls that come at the same time, made together: reads by one statement, writes by one commit, and each acknowledged
 * only after that: what a statement and a commit cost, whatever is in them, is shared by all. If the batch fails, for
 * anything but the database being away, each call is made alone, and gets its own answer.
 */
export class Together<Item, Result> {
  private readonly batcher: Batcher<Call<Item, Result>, void>;

  /**
   * @param make makes all calls or none, or says of each what has become of it; in the same order
   * @param tryAlone makes one that waits for no lock of others for long, where `make` would
   */
  constructor(
    counts: BatchCounts,
    private readonly make: (items: Item[]) => Promise<Outcome<Result>[]>,
    private readonly tryAlone?: (item: Item) => Promise<Result>,
  ) {
    this.batcher = new Batcher((calls) => this.makeAll(calls), counts);
  }

  async add(item: Item): Promise<Result> {
    const call: Call<Item, Result> = { item };
    await this.batcher.add(call);
    if (call.alone) return call.alone.promise;
    return valueOf(call.outcome!);
  }

  private async makeAll(calls: Call<Item, Result>[]): Promise<void> {
    try {
      const outcomes = await this.make(calls.map(({ item }) => item));
      calls.forEach((call, i) => (call.outcome = outcomes[i]!));
    } catch (error) {
      if (calls.length === 1 || (isUnavailable(error) && !isRefused(error))) throw error;
      for (const call of calls) call.alone = Promise.withResolvers();
      void this.makeEachAlone(calls);
    }
  }

  /** Each is answered as soon as it is made. Those that wait for others wait behind all that do not. */
  private async makeEachAlone(calls: Call<Item, Result>[]): Promise<void> {
    const held: Call<Item, Result>[] = [];
    const { tryAlone } = this;
    if (tryAlone)
      await each(calls, ({ item, alone }) =>
        tryAlone(item).then(alone!.resolve, (error: unknown) => {
          if (codeOf(error) === LOCK_NOT_AVAILABLE) held.push({ item, alone });
          else alone!.reject(error);
        }),
      );
    await each(tryAlone ? held : calls, ({ item, alone }) =>
      this.make([item])
        .then(([outcome]) => alone!.resolve(valueOf(outcome!)))
        .catch(alone!.reject),
    );
  }
}

async function each<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const worker = async () => {
    for (const one of left) await run(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function valueOf<Result>(outcome: Outcome<Result>): Result {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** The outcomes of calls that were all made. */
export function made<Result>(results: readonly Result[]): Outcome<Result>[] {
  return results.map((value) => ({ status: 'fulfilled', value }));
}

/** Whether PostgreSQL has refused a statement for what it holds. */
function isRefused(error: unknown): boolean {
  return REFUSED.test(codeOf(error) ?? '');
}
