import { DatabaseError } from 'pg';
import { type SharedSpan, tracing } from '../telemetry/index.js';
import { outside } from './asker.js';
import { codeOf, isUnavailable } from './unavailable.js';

/** Milliseconds after which a call no longer waits for others: one slow statement must not hold up all that follow. */
const MAX_WAIT_MS = 25;
/** For how many turns of the event loop reads wait for others that come, while none are under way. */
const MOST_TURNS = 4;
/** A batch of more than this many calls, bytes of them, or milliseconds would run long, and lock what it touches as long. */
const MAX = { calls: 100, bytes: 1_048_576, ms: 300 };
/** Bytes from which on a call is large, and made alone: in company it would hold up the others. */
const LARGE = 128 * 1024;

/** How many calls of a batch that was refused are made at once: the other connections are for others. */
const AT_ONCE = 2;
/** For how many milliseconds the next one waits for a slow one. */
const PATIENCE_MS = 100;
/** For how many milliseconds each waits for a lock: all of them may wait for the same, once one has. */
const LOCK_MS = { first: 50, next: 5 };
/** SQLSTATE of a lock that another transaction has held for longer than `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';
/**
 * SQLSTATE classes of a statement that PostgreSQL has refused for its contents, or for a lock. It has written nothing.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const REFUSED = /^(?:22|23|40|55)/;

/** That something could not be sent, and so was not done: a value that has no text, such as a circular one. */
export class UnsentError extends Error {}

/** What has become of one call of a batch. */
export type Outcome<Result> = PromiseSettledResult<Result>;

interface Call<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

interface Batch<Item, Result> {
  calls: Call<Item, Result>[];
  bytes: number;
  span?: SharedSpan;
}

/** How calls are made. */
interface Making<Item, Result> {
  /** Makes all calls or none, or says of each what has become of it; in the same order. */
  make: (items: Item[]) => Promise<readonly Outcome<Result>[]>;
  /** Whether a failure of `make` has certainly left nothing behind, so that its calls may be made again, alone; none when left out. */
  canRepeat?: (error: unknown) => boolean;
  /** Makes one that waits for no lock of others for long, where `make` would. */
  tryAlone?: (item: Item, lockMs: number) => Promise<Result>;
  /** Whether it only reads: it then waits for others as long as they come, for some turns of the event loop. */
  isRead?: boolean;
  /** The bytes of a result, of which a batch must not have too many; no bound when left out. */
  bytesOf?: (result: Result) => number;
}

/** What some batchers have done since the start. */
export interface BatchCounts {
  asked: number;
  /** Batches that went to the database. */
  sent: number;
}

/**
 * Calls that come at the same time, made together: reads by one statement, writes by one commit, and each acknowledged only
 * after that. What is added while a batch is under way waits until that has ended, and is then sent as one. A statement is
 * never sent before all that it answers was asked for, so every caller sees whatever was committed before its call. If a
 * batch fails and has certainly left nothing behind, each of its calls is made alone, and gets its own answer; else all
 * have failed.
 *
 * With none under way and several lately, reads wait as long as each turn of the event loop brings more, up to four: a statement
 * that answers several takes little longer than that of one. So 16 connections are answered 1.2 to 1.3 times as many first pages,
 * and as many requests of the mix, as after one turn. Writes wait for one turn: they gather behind the commit before.
 *
 * At 64 connections, the service answers 1.3 times as many gets as node:http with a statement each, and 1.2 to 1.8 times as
 * many keyed writes as with a transaction each (`npm run bench`).
 */
export class Batcher<Item, Result> {
  private waiting?: Batch<Item, Result>;
  private underWay = 0;
  /** Whether the last batch was for more than one. */
  private isCrowded = false;
  /** How many calls may be answered together: by the size of the last results, and the time that they took. */
  private most = MAX.calls;
  private timer?: NodeJS.Timeout;

  /** @param counts counts the calls and the batches */
  constructor(
    private readonly making: Making<Item, Result>,
    private readonly counts: BatchCounts = { asked: 0, sent: 0 },
  ) {}

  /** Resolves to what the call is answered. @param bytes how large the item is */
  add(item: Item, bytes = bytesOf(item)): Promise<Result> {
    if (bytes > LARGE) return this.making.make([item]).then(([outcome]) => valueOf(outcome!));
    return new Promise((resolve, reject) => {
      if (this.waiting && this.waiting.bytes + bytes > MAX.bytes) this.flush();
      const batch = this.waiting ?? this.open();
      batch.calls.push({ item, resolve, reject });
      batch.bytes += bytes;
      batch.span?.join();
      this.counts.asked++;
      if (batch.calls.length >= this.most) this.flush();
    });
  }

  private open(): Batch<Item, Result> {
    const batch: Batch<Item, Result> = { calls: [], bytes: 0, span: tracing.active?.share() };
    this.waiting = batch;
    // With none under way, it is sent with what is asked for before anything else happens; if lately there were several, with
    // those that come in the next turns of the event loop.
    if (this.underWay > 0) this.timer = setTimeout(this.flush, MAX_WAIT_MS);
    else if (this.isCrowded) this.gather(batch);
    else process.nextTick(this.flush);
    return batch;
  }

  /**
   * Sends a batch at the end of a turn of the event loop; if it is of reads, of the first that brings no more.
   * @param calls how many it had before the turn
   */
  private gather(batch: Batch<Item, Result>, calls = 0, turn = 1): void {
    setImmediate(() => {
      const { length } = batch.calls;
      if (batch !== this.waiting) return;
      if (this.making.isRead && length > calls && turn < MOST_TURNS) this.gather(batch, length, turn + 1);
      else this.flush();
    });
  }

  private readonly flush = (): void => {
    const batch = this.waiting;
    if (!batch) return;
    this.waiting = undefined;
    clearTimeout(this.timer);
    this.underWay++;
    this.counts.sent++;
    const { calls, span } = batch;
    this.isCrowded = calls.length > 1;
    const send = () => this.send(calls);
    // It belongs to none of those whom it answers.
    void outside(() => (span ? span.run(send) : send())).finally(this.next);
  };

  private readonly next = (): void => {
    this.underWay--;
    if (this.underWay === 0) this.flush();
  };

  private async send(calls: Call<Item, Result>[]): Promise<void> {
    const { make, canRepeat, bytesOf: sizeOf } = this.making;
    const begun = performance.now();
    try {
      const outcomes = await make(calls.map(({ item }) => item));
      const inTime = (MAX.ms * calls.length) / (performance.now() - begun);
      let bytes = 0;
      for (let i = 0; i < calls.length; i++) {
        const outcome = outcomes[i]!;
        if (outcome.status === 'rejected') calls[i]!.reject(outcome.reason);
        else {
          calls[i]!.resolve(outcome.value);
          if (sizeOf) bytes += sizeOf(outcome.value);
        }
      }
      const inBytes = bytes > 0 ? (MAX.bytes * calls.length) / bytes : Infinity;
      this.most = Math.max(1, Math.min(MAX.calls, Math.floor(Math.min(inTime, inBytes))));
    } catch (error) {
      if (calls.length > 1 && canRepeat?.(error)) void this.makeEachAlone(calls);
      else for (const call of calls) call.reject(error);
    }
  }

  /** Each is answered as soon as it is made. Those that wait for others wait behind all that do not. */
  private async makeEachAlone(calls: Call<Item, Result>[]): Promise<void> {
    const { make, tryAlone } = this.making;
    const makeAlone = ({ item, resolve, reject }: Call<Item, Result>) =>
      make([item])
        .then(([outcome]) => resolve(valueOf(outcome!)))
        .catch(reject);
    if (!tryAlone) return each(calls, makeAlone);
    const held: Call<Item, Result>[] = [];
    let isTrying = true;
    await each(calls, (call) =>
      tryAlone(call.item, held.length > 0 ? LOCK_MS.next : LOCK_MS.first).then(
        call.resolve,
        (error: unknown) => {
          if (codeOf(error) !== LOCK_NOT_AVAILABLE) call.reject(error);
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

/** The outcomes of calls that were all made. */
export function made<Result>(results: readonly Result[]): Outcome<Result>[] {
  return results.map((value) => ({ status: 'fulfilled', value }));
}

/** Whether something is made alone, on a connection of its caller's. */
export function isLarge(item: unknown): boolean {
  return bytesOf(item) > LARGE;
}

/** About how many bytes a value has: those of its texts and buffers, to some depth. */
export function bytesOf(value: unknown, depth = 4): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || depth === 0) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let bytes = 8;
  for (const one of Object.values(value)) bytes += bytesOf(one, depth - 1);
  return bytes;
}

/**
 * Whether PostgreSQL has answered that it refuses what it was asked for, and so has undone it. A statement that was cut off
 * may have been done.
 */
export function isUndone(error: unknown): boolean {
  const { driverError = error } = error as { driverError?: unknown };
  if (driverError instanceof UnsentError) return true;
  return driverError instanceof DatabaseError && (!isUnavailable(error) || REFUSED.test(codeOf(error) ?? ''));
}
