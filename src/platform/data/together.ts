import { Batcher, type BatchCounts } from '../database/batcher.js';
import { codeOf, isUnavailable } from '../database/unavailable.js';

/**
 * SQLSTATE classes of a statement that PostgreSQL has refused for its contents, or for a lock. It has written nothing.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const REFUSED = /^(?:22|23|40|55)/;
/** How many calls of a batch that was refused are made at once: the other connections are for others. */
const AT_ONCE = 2;

/** What has become of one call of a batch. */
export type Outcome<Result> = PromiseSettledResult<Result>;

/** One call of a batch, and then what has become of it. */
interface Call<Item, Result> {
  item: Item;
  outcome?: Outcome<Result>;
}

/**
 * Calls that come at the same time, made together: reads by one statement, writes by one commit, and each acknowledged
 * only after that: what a statement and a commit cost, whatever is in them, is shared by all. If the batch fails, for
 * anything but the database being away, each call is made alone, and gets its own answer.
 */
export class Together<Item, Result> {
  private readonly batcher: Batcher<Call<Item, Result>, void>;

  /** @param make makes all calls or none, or says of each what has become of it; in the same order */
  constructor(
    counts: BatchCounts,
    private readonly make: (items: Item[]) => Promise<Outcome<Result>[]>,
  ) {
    this.batcher = new Batcher((calls) => this.makeAll(calls), counts);
  }

  async add(item: Item): Promise<Result> {
    const call: Call<Item, Result> = { item };
    await this.batcher.add(call);
    const outcome = call.outcome!;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }

  private async makeAll(calls: Call<Item, Result>[]): Promise<void> {
    const outcomes = await this.attempt(calls.map(({ item }) => item));
    calls.forEach((call, i) => (call.outcome = outcomes[i]!));
  }

  private async attempt(items: Item[]): Promise<Outcome<Result>[]> {
    try {
      return await this.make(items);
    } catch (error) {
      if (items.length === 1 || (isUnavailable(error) && !isRefused(error))) throw error;
      return this.oneByOne(items);
    }
  }

  private async oneByOne(items: Item[]): Promise<Outcome<Result>[]> {
    const outcomes: Outcome<Result>[] = [];
    const left = items.entries();
    const worker = async () => {
      for (const [i, item] of left) {
        outcomes[i] = await this.make([item]).then(
          ([outcome]) => outcome!,
          (reason: unknown) => ({ status: 'rejected', reason }),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return outcomes;
  }
}

/** The outcomes of calls that were all made. */
export function made<Result>(results: readonly Result[]): Outcome<Result>[] {
  return results.map((value) => ({ status: 'fulfilled', value }));
}

/** Whether PostgreSQL has refused a statement for what it holds. */
function isRefused(error: unknown): boolean {
  return REFUSED.test(codeOf(error) ?? '');
}
