/** Milliseconds after which reads no longer wait for others: one slow query must not hold up all that follow. */
const PATIENCE_MS = 25;

interface Batch<Item, Answer> extends PromiseWithResolvers<Answer> {
  items: Item[];
}

/**
 * Reads that go to the database together. Those that come while one is under way wait until it has ended, and are then
 * sent as one. A read is never sent before everything that it answers was asked, so each who asks sees whatever was
 * committed before. What many ask for then costs one query a round trip instead of one a request: 64 connections that
 * fetch animals cost a third of the CPU time.
 */
export class Lane<Item, Answer> {
  private waiting?: Batch<Item, Answer>;
  private underWay = 0;
  private patience?: NodeJS.Timeout;

  /**
   * @param read answers all items at once
   * @param onIdle is called when nothing is under way any more
   */
  constructor(
    private readonly read: (items: Item[]) => Promise<Answer>,
    private readonly onIdle?: () => void,
  ) {}

  /** Resolves to the answer of the read that takes `item` along. */
  ask(item: Item): Promise<Answer> {
    if (this.waiting) this.waiting.items.push(item);
    else this.wait(item);
    return this.waiting!.promise;
  }

  private wait(item: Item): void {
    this.waiting = { items: [item], ...Promise.withResolvers<Answer>() };
    // With none under way it is sent at the end of this turn of the event loop, with what else comes in it.
    if (this.underWay === 0) setImmediate(this.send);
    else this.patience = setTimeout(this.send, PATIENCE_MS);
  }

  private readonly send = (): void => {
    const batch = this.waiting;
    if (!batch) return;
    this.waiting = undefined;
    clearTimeout(this.patience);
    this.underWay++;
    this.read(batch.items).then(batch.resolve, batch.reject).finally(this.next);
  };

  private readonly next = (): void => {
    this.underWay--;
    if (this.underWay > 0) return;
    if (this.waiting) this.send();
    else this.onIdle?.();
  };
}
