import { DatabaseError } from 'pg';
import { type BatchCounts, Batcher, codeOf, isUnavailable } from '../database/index.js';
import { bytesOf } from './values.js';

/**
 * SQLSTATE classes of a statement that PostgreSQL has refused for its contents, or for a lock. It has written nothing.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const REFUSED = /^(?:22|23|40|55)/;
/** SQLSTATE of a lock that another transaction has held for longer than `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';
/** How many calls of a batch that was refused are made at once: the other connections are for others. */
const AT_ONCE = 2;
/** For how many milliseconds the next one waits for a slow one. */
const PATIENCE_MS = 100;
/** For how many milliseconds each waits for a lock: all of them may wait for the same, once one has. */
const LOCK_MS = { first: 50, next: 5 };
/** Bytes from which on an item is large. */
const LARGE = 128 * 1024;

/** What has become of one call of a batch. */
export type Outcome<Result> = PromiseSettledResult<Result>;

/** One call of a batch, and then what has become of it, or will if it is made alone. */
interface Call<Item, Result> {
  item: Item;
  outcome?: Outcome<Result>;
  alone?: PromiseWithResolvers<Result>;
}

/** How calls are made. */
interface Making<Item, Result> {
  /** Makes all calls or none, or says of each what has become of it; in the same order. */
  make: (items: Item[]) => Promise<Outcome<Result>[]>;
  /** Whether a failure of `make` has certainly left nothing behind, so that its calls may be made again, alone. */
  canRepeat: (error: unknown) => boolean;
  /** Makes one that waits for no lock of others for long, where `make` would. */
  tryAlone?: (item: Item, lockMs: number) => Promise<Result>;
  /** The bytes of an outcome, of which a batch must not hold too many; none when left out. */
  bytesOf?: (result: Result) => number;
}

/**
 * Calls that come at the same time, made together: reads by one statement, writes by one commit, and each acknowledged
 * only after that: what a statement and a commit cost, whatever is in them, is shared by all. If the batch fails and has
 * certainly left nothing behind, each call is made alone, and gets its own answer; else all have failed.
 */
export class Together<Item, Result> {
  private readonly batcher: Batcher<Call<Item, Result>, number>;

  constructor(
    counts: BatchCounts,
    private readonly making: Making<Item, Result>,
  ) {
    this.batcher = new Batcher(
      (calls) => this.makeAll(calls),
      counts,
      (bytes) => bytes,
    );
  }

  /** @param bytes how large the item is */
  async add(item: Item, bytes = bytesOf(item)): Promise<Result> {
    if (bytes > LARGE) return valueOf((await this.making.make([item]))[0]!);
    const call: Call<Item, Result> = { item };
    await this.batcher.add(call, bytes);
    if (call.alone) return call.alone.promise;
    return valueOf(call.outcome!);
  }

  private async makeAll(calls: Call<Item, Result>[]): Promise<number> {
    const { make, canRepeat, bytesOf: sizeOf } = this.making;
    try {
      const outcomes = await make(calls.map(({ item }) => item));
      let bytes = 0;
      calls.forEach((call, i) => {
        const outcome = (call.outcome = outcomes[i]!);
        if (sizeOf && outcome.status === 'fulfilled') bytes += sizeOf(outcome.value);
      });
      return bytes;
    } catch (error) {
      if (calls.length === 1 || !canRepeat(error)) throw error;
      for (const call of calls) call.alone = Promise.withResolvers();
      void this.makeEachAlone(calls);
      return 0;
    }
  }

  /** Each is answered as soon as it is made. Those that wait for others wait behind all that do not. */
  private async makeEachAlone(calls: Call<Item, Result>[]): Promise<void> {
    const { make, tryAlone } = this.making;
    const makeAlone = ({ item, alone }: Call<Item, Result>) =>
      make([item])
        .then(([outcome]) => alone!.resolve(valueOf(outcome!)))
        .catch(alone!.reject);
    if (!tryAlone) return each(calls, makeAlone);
    const held: Call<Item, Result>[] = [];
    let isTrying = true;
    await each(calls, (call) =>
      tryAlone(call.item, held.length > 0 ? LOCK_MS.next : LOCK_MS.first).then(
        call.alone!.resolve,
        (error: unknown) => {
          if (codeOf(error) !== LOCK_NOT_AVAILABLE) call.alone!.reject(error);
          else if (isTrying) held.push(call);
          else void makeAlone(call);
        },
      ),
    );
    isTrying = false;
    await each(held, makeAlone);
  }
}

async function each<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const worker = async () => {
    for (const one of left) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, PATIENCE_MS);
      await Promise.race([run(one), late]);
      clearTimeout(timer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function valueOf<Result>(outcome: Outcome<Result>): Result {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Whether something is made alone, on a connection of its caller's: in company it would hold up the others. */
export function isLarge(item: unknown): boolean {
  return bytesOf(item) > LARGE;
}

/** The outcomes of calls that were all made. */
export function made<Result>(results: readonly Result[]): Outcome<Result>[] {
  return results.map((value) => ({ status: 'fulfilled', value }));
}

/**
 * Whether PostgreSQL has answered that it refuses what it was asked for, and so has undone it. A statement that was cut off
 * may have been done.
 */
export function isUndone(error: unknown): boolean {
  const { driverError = error } = error as { driverError?: unknown };
  return driverError instanceof DatabaseError && (!isUnavailable(error) || REFUSED.test(codeOf(error) ?? ''));
}
