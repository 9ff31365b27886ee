import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';

/**
 * The payers, to whom the resources of a piece of work are charged: the client's network and, once known, its account; `jobs`; or
 * nobody (an empty list) for work that many share.
 */
export type Payers = readonly string[];

export const NOBODY: Payers = [];

/** The request or the job that a call works for. */
export interface Work {
  /** The answer, if the work is a request. */
  readonly response?: ServerResponse;
  /** The payers of the resources that the work holds. */
  readonly payers: Payers;
  /** Milliseconds until the answer is due; infinite where no client waits for one. */
  readonly left: number;
  /** Milliseconds to wait for a database connection if the work has no deadline; undefined for the default. */
  readonly patienceMs?: number;
  /** Whether the answer is complete or the client has gone. Work that then goes on has no payers and no deadline. */
  readonly isOver: boolean;
  /** Whether the operation has a longer time limit of its own, and so uses the separate connection pool. */
  readonly hasOwnTime?: boolean;
  /** Calls `end` once the answer has been sent or the client has gone, or at once if that is already so. */
  whenOver(end: () => void): void;
}

/** The work of the current call; undefined for work that several requests share, and for the service's own work. */
export const currentWork = new AsyncLocalStorage<Work | undefined>();

interface Waiter {
  readonly payers: Payers;
  readonly count: number;
  readonly grant: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A scarce resource. A payer may hold at most as much as is left free: a single payer half, two payers a third each; with n
 * payers, 1/(n + 1) stays free for the next one (dynamic thresholds: Choudhury and Hahne, 1998). So no payer locks others out.
 */
export class Quota {
  private readonly shares = new Map<string, number>();
  /** Non-empty queues, keyed by the last payer. The first queue is served next, and moves to the end. */
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

  /** Acquires a share, charged to every payer in full; false if a payer would hold more than is left free. */
  tryAcquire(payers: Payers, count = 1): boolean {
    const free = this.total - this.used;
    if (count > free) return false;
    for (const payer of payers) if (this.heldBy(payer) + count > free) return false;
    for (const payer of payers) this.shares.set(payer, this.heldBy(payer) + count);
    this.used += count;
    return true;
  }

  /** Charges a further payer for shares acquired before the payer was known; false if the payer holds more than is free. */
  tryCharge(payer: string, count = 1): boolean {
    if (this.heldBy(payer) > this.total - this.used) return false;
    this.shares.set(payer, this.heldBy(payer) + count);
    return true;
  }

  /** The most that one of the payers holds. */
  held(payers: Payers): number {
    let most = 0;
    for (const payer of payers) most = Math.max(most, this.heldBy(payer));
    return most;
  }

  /** Whether one of the payers has to return a share before it gets another. */
  isFull(payers: Payers): boolean {
    const held = this.held(payers);
    return held > 0 && held >= this.total - this.used;
  }

  /**
   * Waits until the payers may have the share, and acquires it.
   * @param count at most `half`
   * @throws the error that `refusal` makes, after `waitMs`
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
      this.queues.getOrInsertComputed(key, newQueue).push(waiter);
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

const newQueue = () => [];

/**
 * Milliseconds of an event-loop iteration in which a client may start more than one item: beside other clients, and alone.
 * Measured: four connections get as many answers beside 64 connections that are refused at once as beside 64 that are served.
 */
const SLICE_MS = { shared: 1, alone: 5 };

/** After this many lone items in a row, the next item is most likely alone too, not the first of a burst. */
const FEW = 3;

/** Decides whether a lone item may start at once, instead of waiting for others of the same iteration. */
export class LoneWorks {
  private inARow = 0;

  /** @param isLone whether the item came alone */
  add(isLone: boolean): void {
    this.inARow = isLone ? this.inARow + 1 : 0;
  }

  /** Whether the next item may start at once if no other item is under way. */
  get areUsual(): boolean {
    return this.inARow >= FEW;
  }
}

/**
 * Shares the event loop between clients. A lone item usually starts at once. Otherwise, one item of each client starts per
 * iteration, and further rounds follow while the iteration is short. So a flood of requests that the service refuses at once
 * cannot starve other clients' requests, each of which needs several iterations.
 */
export class RoundRobin<Item> {
  /** Non-empty queues, keyed by client. */
  private readonly queues = new Map<string, Item[]>();
  /** The number of items of each client that are queued or under way. */
  private readonly busy = new Map<string, number>();
  private isScheduled = false;
  private readonly lone = new LoneWorks();
  /** Utilization of the event loop at the end of the last round. */
  private last = performance.eventLoopUtilization();

  constructor(private readonly start: (item: Item) => void) {}

  /** Adds an item. The caller must report the end of each item by `done`. */
  add(client: string, work: Item): void {
    const isLone = this.busy.size === 0;
    const startsNow = isLone && this.lone.areUsual;
    this.lone.add(isLone);
    this.busy.set(client, (this.busy.get(client) ?? 0) + 1);
    if (startsNow) return this.start(work);
    this.queues.getOrInsertComputed(client, newQueue).push(work);
    if (!this.isScheduled) this.schedule();
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
    const until = performance.now() + (this.busy.size > 1 ? SLICE_MS.shared - active : SLICE_MS.alone);
    let ofFirstRound = this.queues.size;
    // The loop meets a queue again after the queue has moved to the end of the map.
    for (const [client, queue] of this.queues) {
      if (ofFirstRound-- <= 0 && performance.now() >= until) break;
      this.queues.delete(client);
      const work = queue.shift()!;
      if (queue.length > 0) this.queues.set(client, queue);
      this.start(work);
      // Lets the item continue now, so that its time counts towards `until`.
      await new Promise((resolve) => process.nextTick(resolve));
    }
    this.last = performance.eventLoopUtilization();
    this.isScheduled = false;
    if (this.queues.size > 0) this.schedule();
  }
}
