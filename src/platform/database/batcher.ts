import { AsyncLocalStorage } from 'node:async_hooks';
import { type SharedSpan, tracing } from '../telemetry/index.js';

/** Milliseconds after which an item no longer waits for others: one slow statement must not hold up all that follow. */
const MAX_WAIT_MS = 25;
/** A statement with more than this many items, or bytes of them, would run long, and lock what it touches as long. */
const MAX = { items: 100, bytes: 1_048_576 };

/** Runs a function in the context that this module was loaded in: that of no request. */
const outside = AsyncLocalStorage.snapshot();

interface Batch<Item, Answer> extends PromiseWithResolvers<Answer> {
  items: Item[];
  bytes: number;
  span?: SharedSpan;
}

/** What some batchers have done since the start. */
export interface BatchCounts {
  asked: number;
  /** Batches that went to the database. */
  sent: number;
}

/**
 * Statements that go to the database in batches. What is added while one is under way waits until that has ended, and
 * is then sent as one. A statement is never sent before all that it answers was asked for, so every caller sees
 * whatever was committed before its call. Many calls at once cost one statement a round trip instead of one a request.
 */
export class Batcher<Item, Answer> {
  private waiting?: Batch<Item, Answer>;
  private underWay = 0;
  /** Whether the last batch was for more than one. */
  private isCrowded = false;
  /** How many items may be answered together: by the size of the last answers, no more than `MAX.bytes` of them. */
  private most = MAX.items;
  private timer?: NodeJS.Timeout;

  /**
   * @param send answers all items at once
   * @param counts counts the items and the batches
   * @param sizeOf the bytes of what all items are answered; no bound when left out
   */
  constructor(
    private readonly send: (items: Item[]) => Promise<Answer>,
    private readonly counts: BatchCounts = { asked: 0, sent: 0 },
    private readonly sizeOf?: (answer: Answer) => number,
  ) {}

  /** Resolves to the answer to `item`, from the statement that includes it. @param bytes how large the item is */
  add(item: Item, bytes = 0): Promise<Answer> {
    if (this.waiting && this.waiting.bytes + bytes > MAX.bytes) this.flush();
    const batch = this.waiting ?? this.open();
    batch.items.push(item);
    batch.bytes += bytes;
    batch.span?.join();
    this.counts.asked++;
    if (batch.items.length >= this.most) this.flush();
    return batch.promise;
  }

  private open(): Batch<Item, Answer> {
    // With none under way, it is sent with what is asked for before anything else happens; if lately there were several, with
    // those that come in the same turn of the event loop.
    if (this.underWay > 0) this.timer = setTimeout(this.flush, MAX_WAIT_MS);
    else if (this.isCrowded) setImmediate(this.flush);
    else process.nextTick(this.flush);
    const span = tracing.active?.share();
    return (this.waiting = { items: [], bytes: 0, span, ...Promise.withResolvers<Answer>() });
  }

  private readonly flush = (): void => {
    const batch = this.waiting;
    if (!batch) return;
    this.waiting = undefined;
    clearTimeout(this.timer);
    this.underWay++;
    this.counts.sent++;
    const { items, span } = batch;
    this.isCrowded = items.length > 1;
    const send = () => this.send(items);
    // It belongs to none of those whom it answers.
    const sent = outside(() => (span ? span.run(send) : send()));
    if (this.sizeOf) sent.then((answer) => this.learn(items.length, this.sizeOf!(answer))).catch(() => {});
    sent.then(batch.resolve, batch.reject).finally(this.next);
  };

  private learn(items: number, bytes: number): void {
    const most = Math.floor((MAX.bytes * items) / bytes);
    this.most = Math.max(1, Math.min(MAX.items, most));
  }

  private readonly next = (): void => {
    this.underWay--;
    if (this.underWay === 0) this.flush();
  };
}
