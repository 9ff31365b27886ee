import { Shares } from './shares.js';

/** What takes turns, for a client. */
interface Taker {
  readonly client: string;
  /** Does some work, or begins with it. Its turn lasts until it asks for another. @returns false if it is over already */
  goOn(): boolean;
}

/** A turn of the event loop that took less than so many milliseconds is one in which nobody else had anything to do. */
const IDLE_MS = 0.05;

/** After so many milliseconds, whoever has the turn waits for something. */
const LONGEST_MS = 10;

/**
 * Lets streams go on one at a time, client by client, and then lets all others have as long as that took: a source that gives
 * as fast as it is read would else have a part in every turn of the event loop, and four of them four. Where there is nothing
 * else to do, nobody waits. Measured beside four downloads, 64 clients of lists have three quarters of what they have alone;
 * without turns, a fifth.
 */
class Turns {
  private readonly waiting = new Shares<Taker>();
  private current?: Taker;
  private begun = 0;
  private timer?: NodeJS.Timeout;
  /** Until when it is the others' time, in milliseconds of `performance.now`. */
  private until = 0;
  /** When the event loop came by last. */
  private passed = 0;
  private isWatching = false;

  /** One wants a turn, and has had its last one. */
  add(taker: Taker): void {
    this.waiting.add(taker.client, taker);
    if (this.current === taker) this.end();
    else this.watch();
  }

  /** One wants no more turns. */
  delete(taker: Taker): void {
    this.waiting.delete(taker.client, taker);
    if (this.current === taker) this.end();
  }

  private readonly end = (): void => {
    clearTimeout(this.timer);
    const now = performance.now();
    this.until = now + (now - this.begun);
    this.current = undefined;
    this.watch();
  };

  /** Comes by once a turn of the event loop, while anybody waits. */
  private watch(): void {
    if (this.isWatching || this.waiting.size === 0) return;
    this.isWatching = true;
    this.passed = performance.now();
    setImmediate(this.pass);
  }

  private readonly pass = (): void => {
    const now = performance.now();
    const isIdle = now - this.passed < IDLE_MS;
    const isTime = !this.current && now >= this.until;
    this.passed = now;
    this.isWatching = false;
    if (isIdle || isTime) this.next(now);
    this.watch();
  };

  private next(now: number): void {
    const taker = this.waiting.takeTurn();
    if (!taker) return;
    clearTimeout(this.timer);
    this.current = taker;
    this.begun = now;
    this.timer = setTimeout(this.end, LONGEST_MS);
    if (!taker.goOn() && this.current === taker) this.end();
  }
}

/** Those of this process. */
export const turns = new Turns();
