import { type SharedSpan, tracing } from '../tracing/tracing.js';

/** Milliseconds after which nothing waits for others any more: one slow statement must not hold up all that follow. */
const MAX_WAIT_MS = 25;
/** Of more than these at once, a statement would be long at work, and lock what it touches as long. */
const MAX_BATCH = 100;

interface Batch<Item, Answer> extends PromiseWithResolvers<Answer> {
  items: Item[];
  span?: SharedSpan;
}

/** What some lanes have done since the start. */
export interface BatchCounts {
  asked: number;
  /** Batches that went to the database. */
  sent: number;
}

/**
 * Statements that go to the database together. What comes while one is under way waits until that has ended, and is
 * then sent as one. A statement is never sent before everything that it answers was asked, so each who asks sees
 * whatever was committed before. What many ask for at once costs one statement a round trip in place of one a request.
 */
export class Batcher<Item, Answer> {
  private waiting?: Batch<Item, Answer>;
  private underWay = 0;
  private timer?: NodeJS.Timeout;

  /**
   * @param send answers all items at once
   * @param counts counts what is asked and sent
   */
  constructor(
    private readonly send: (items: Item[]) => Promise<Answer>,
    private readonly counts: BatchCounts = { asked: 0, sent: 0 },
  ) {}

  /** Resolves to the answer of the statement that takes `item` along. */
  add(item: Item): Promise<Answer> {
    const batch = this.waiting ?? this.open();
    batch.items.push(item);
    batch.span?.join();
    this.counts.asked++;
    if (batch.items.length === MAX_BATCH) this.flush();
    return batch.promise;
  }

  private open(): Batch<Item, Answer> {
    // With none under way it is sent at the end of this turn of the event loop, with what else comes in it.
    if (this.underWay === 0) setImmediate(this.flush);
    else this.timer = setTimeout(this.flush, MAX_WAIT_MS);
    const span = tracing.active?.share();
    return (this.waiting = { items: [], span, ...Promise.withResolvers<Answer>() });
  }

  private readonly flush = (): void => {
    const batch = this.waiting;
    if (!batch) return;
    this.waiting = undefined;
    clearTimeout(this.timer);
    this.underWay++;
    this.counts.sent++;
    const { items, span } = batch;
    const sent = span ? span.run(() => this.send(items)) : this.send(items);
    sent.then(batch.resolve, batch.reject).finally(this.next);
  };

  private readonly next = (): void => {
    this.underWay--;
    if (this.underWay === 0) this.flush();
  };
}
