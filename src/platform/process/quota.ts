interface Waiter {
  readonly count: number;
  readonly grant: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A scarce resource. One caller holds at most half, so that it never locks the others out; beyond its half, a caller waits
 * in a queue of its own or is refused. Work without a caller (undefined) is bounded by the total alone.
 */
export class Quota {
  /** The most that one caller may hold. */
  readonly half: number;
  private readonly shares = new Map<string, number>();
  /** Queues by caller, none empty: the first is served next, and moves to the end. */
  private readonly queues = new Map<string | undefined, Waiter[]>();
  private used = 0;

  constructor(private readonly total: number) {
    this.half = Math.max(1, Math.floor(total / 2));
  }

  /** How much all callers hold together. */
  get inUse(): number {
    return this.used;
  }

  /** How many callers hold a share. */
  get callers(): number {
    return this.shares.size;
  }

  /** How many acquisitions wait. */
  get waiting(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Acquires a share; false if too little is free, or the caller would hold more than half. */
  tryAcquire(caller: string | undefined, count = 1): boolean {
    if (this.used + count > this.total || this.held(caller) + count > this.half) return false;
    if (caller !== undefined) this.shares.set(caller, this.held(caller) + count);
    this.used += count;
    return true;
  }

  /** How much a caller holds; 0 for work without a caller. */
  held(caller: string | undefined): number {
    return (caller !== undefined && this.shares.get(caller)) || 0;
  }

  /**
   * Waits until the caller may have the share, and acquires it.
   * @param count at most `half`
   * @throws what `refusal` makes, after `waitMs`
   */
  async acquire(caller: string | undefined, waitMs: number, refusal: () => Error, count = 1): Promise<void> {
    if (!this.queues.has(caller) && this.tryAcquire(caller, count)) return;
    await new Promise<void>((grant, reject) => {
      const timer = setTimeout(() => {
        this.leave(caller, waiter);
        reject(refusal());
      }, waitMs);
      const waiter = { count, grant, timer };
      enqueue(this.queues, caller, waiter);
    });
  }

  release(caller: string | undefined, count = 1): void {
    this.used -= count;
    if (caller !== undefined) {
      const left = this.held(caller) - count;
      if (left > 0) this.shares.set(caller, left);
      else this.shares.delete(caller);
    }
    if (this.queues.size > 0) this.serve();
  }

  private serve(): void {
    for (const [caller, queue] of this.queues) {
      const [first] = queue;
      if (!this.tryAcquire(caller, first!.count)) continue;
      clearTimeout(first!.timer);
      this.leave(caller, first!);
      if (this.queues.delete(caller)) this.queues.set(caller, queue);
      first!.grant();
    }
  }

  private leave(caller: string | undefined, waiter: Waiter): void {
    const queue = this.queues.get(caller)!;
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) this.queues.delete(caller);
  }
}

function enqueue<Caller, Item>(queues: Map<Caller, Item[]>, caller: Caller, item: Item): void {
  const queue = queues.get(caller);
  if (queue) queue.push(item);
  else queues.set(caller, [item]);
}

/**
 * Milliseconds of one iteration of the event loop in which a caller may start more than one work: with several callers, and
 * alone. Measured: beside 64 connections that are refused at once, four others get as much as beside 64 that are served.
 */
const SLICE_MS = { shared: 1, alone: 5 };

/**
 * Shares the event loop: starts one work of each caller per iteration, and repeats the round while the iteration is short. So
 * a flood of requests that the service refuses at once cannot starve the requests of other callers, which need several
 * iterations.
 */
export class RoundRobin<Work> {
  /** Queues by caller, none empty. */
  private readonly queues = new Map<string, Work[]>();
  private isScheduled = false;
  /** Utilization of the event loop at the end of the last round. */
  private last = performance.eventLoopUtilization();

  /** @param isShared whether there is more than one caller: a single caller waits for nobody */
  constructor(
    private readonly start: (work: Work) => void,
    private readonly isShared: () => boolean,
  ) {}

  add(caller: string, work: Work): void {
    enqueue(this.queues, caller, work);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const { active } = performance.eventLoopUtilization(this.last);
    const until = performance.now() + (this.isShared() ? SLICE_MS.shared - active : SLICE_MS.alone);
    let ofFirstRound = this.queues.size;
    // The loop meets a queue again after the queue has moved to the end of the map.
    for (const [caller, queue] of this.queues) {
      if (ofFirstRound-- <= 0 && performance.now() >= until) break;
      this.queues.delete(caller);
      const work = queue.shift()!;
      if (queue.length > 0) this.queues.set(caller, queue);
      this.start(work);
      // Lets the work continue now, so that its time counts.
      await new Promise((resolve) => process.nextTick(resolve));
    }
    this.last = performance.eventLoopUtilization();
    this.isScheduled = this.queues.size > 0;
    if (this.isScheduled) setImmediate(() => void this.run());
  }
}
