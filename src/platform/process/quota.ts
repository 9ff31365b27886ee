/**
 * Who pays for what a piece of work holds: the network of the client and, once it is known, its account; `jobs`; nobody (an empty
 * list) for work that many share.
 */
export type Payers = readonly string[];

export const NOBODY: Payers = [];

interface Waiter {
  readonly payers: Payers;
  readonly count: number;
  readonly grant: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A scarce resource. A payer may hold at most as much as is left free: alone half, beside another payer a third each, and with n
 * payers 1/(n + 1) stays free for the next one (dynamic thresholds: Choudhury and Hahne, 1998). So no payer locks others out.
 */
export class Quota {
  private readonly shares = new Map<string, number>();
  /** Queues by the last of the payers, none empty: the first is served next, and moves to the end. */
  private readonly queues = new Map<string, Waiter[]>();
  private used = 0;

  constructor(private readonly total: number) {}

  /** How much all payers hold together. */
  get inUse(): number {
    return this.used;
  }

  /** The most that a payer can hold. */
  get half(): number {
    return Math.max(1, Math.floor(this.total / 2));
  }

  /** How many acquisitions wait. */
  get waiting(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Acquires a share, which counts once, for each of the payers; false if one of them would hold more than is left free. */
  tryAcquire(payers: Payers, count = 1): boolean {
    const free = this.total - this.used;
    if (count > free) return false;
    for (const payer of payers) if (this.heldBy(payer) + count > free) return false;
    for (const payer of payers) this.shares.set(payer, this.heldBy(payer) + count);
    this.used += count;
    return true;
  }

  /** Charges a further payer for shares that were acquired before it was known; false if it holds more than is left free. */
  tryCharge(payer: string, count = 1): boolean {
    if (this.heldBy(payer) > this.total - this.used) return false;
    this.shares.set(payer, this.heldBy(payer) + count);
    return true;
  }

  /** The most that one of the payers holds. */
  held(payers: Payers): number {
    return Math.max(0, ...payers.map((payer) => this.heldBy(payer)));
  }

  /** Whether one of the payers has to return a share before it gets another. */
  isFull(payers: Payers): boolean {
    const held = this.held(payers);
    return held > 0 && held >= this.total - this.used;
  }

  /**
   * Waits until the payers may have the share, and acquires it.
   * @param count at most `half`
   * @throws what `refusal` makes, after `waitMs`
   */
  async acquire(payers: Payers, waitMs: number, refusal: () => Error, count = 1): Promise<void> {
    const key = payers.at(-1) ?? '';
    if (!this.queues.has(key) && this.tryAcquire(payers, count)) return;
    await new Promise<void>((grant, reject) => {
      const timer = setTimeout(() => {
        this.leave(key, waiter);
        reject(refusal());
      }, waitMs);
      const waiter = { payers, count, grant, timer };
      enqueue(this.queues, key, waiter);
    });
  }

  release(payers: Payers, count = 1): void {
    this.used -= count;
    for (const payer of payers) {
      const left = this.heldBy(payer) - count;
      if (left > 0) this.shares.set(payer, left);
      else this.shares.delete(payer);
    }
    if (this.queues.size > 0) this.serve();
  }

  private heldBy(payer: string): number {
    return this.shares.get(payer) ?? 0;
  }

  private serve(): void {
    for (const [key, queue] of this.queues) {
      const [first] = queue;
      if (!this.tryAcquire(first!.payers, first!.count)) continue;
      clearTimeout(first!.timer);
      this.leave(key, first!);
      if (this.queues.delete(key)) this.queues.set(key, queue);
      first!.grant();
    }
  }

  private leave(key: string, waiter: Waiter): void {
    const queue = this.queues.get(key)!;
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) this.queues.delete(key);
  }
}

function enqueue<Item>(queues: Map<string, Item[]>, key: string, item: Item): void {
  const queue = queues.get(key);
  if (queue) queue.push(item);
  else queues.set(key, [item]);
}

/**
 * Milliseconds of one iteration of the event loop in which a client may start more than one work beside others. Measured: beside
 * 64 connections that are refused at once, four others get as much as beside 64 that are served.
 */
const SLICE_MS = 1;

/**
 * Shares the event loop between clients. A client alone starts its work at once. Beside others, only the first work of an iteration
 * starts at once; then one work of each client, in rounds, while the iteration is short. So a flood of requests that the service
 * refuses at once cannot starve the requests of others, which need several iterations.
 */
export class RoundRobin<Work> {
  /** Queues by client, none empty. */
  private readonly queues = new Map<string, Work[]>();
  /** The clients with work that was started and is not done. */
  private readonly busy = new Map<string, number>();
  private isScheduled = false;
  /** Utilization of the event loop at the end of the last round. */
  private last = performance.eventLoopUtilization();

  constructor(private readonly start: (work: Work) => void) {}

  /** Each work has to be reported as `done`. */
  add(client: string, work: Work): void {
    this.busy.set(client, (this.busy.get(client) ?? 0) + 1);
    if (this.isScheduled) return enqueue(this.queues, client, work);
    if (this.busy.size > 1) this.schedule();
    this.start(work);
  }

  done(client: string): void {
    const left = this.busy.get(client)! - 1;
    if (left > 0) this.busy.set(client, left);
    else this.busy.delete(client);
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const { active } = performance.eventLoopUtilization(this.last);
    const until = performance.now() + SLICE_MS - active;
    let ofFirstRound = this.queues.size;
    // The loop meets a queue again after the queue has moved to the end of the map.
    for (const [client, queue] of this.queues) {
      if (ofFirstRound-- <= 0 && performance.now() >= until) break;
      this.queues.delete(client);
      const work = queue.shift()!;
      if (queue.length > 0) this.queues.set(client, queue);
      this.start(work);
      // Lets the work continue now, so that its time counts.
      await new Promise((resolve) => process.nextTick(resolve));
    }
    this.last = performance.eventLoopUtilization();
    this.isScheduled = false;
    if (this.queues.size > 0) this.schedule();
  }
}
