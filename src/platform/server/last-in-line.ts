import { setImmediate } from 'node:timers';

/** What those in line have of a turn of the event loop at least, in milliseconds: with less, nothing would be done. */
const LEAST_MS = 0.1;

/**
 * Lets requests that need no database wait until everything else of a turn of the event loop is done, and gives them no
 * longer than all that has taken: those without credentials, which are for a page or will be refused, and those on a
 * connection whose last one was refused. Such a request costs about as much as a read, but its client is back at once: a
 * flood of them would else leave others a quarter of what they have beside as many good requests. Where there is nothing
 * else to do, nobody waits.
 */
export class LastInLine<Thing> {
  private waiting: Thing[] = [];
  private isDue = false;
  /** When the others' part of this turn began. */
  private since = 0;

  /** @param begin does the work of one whose turn it is, or begins with it */
  constructor(private readonly begin: (thing: Thing) => void) {}

  add(thing: Thing): void {
    this.waiting.push(thing);
    if (this.isDue) return;
    this.isDue = true;
    this.since = performance.now();
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const begun = performance.now();
    const until = begun + Math.max(begun - this.since, LEAST_MS);
    let count = 0;
    do {
      this.begin(this.waiting[count++]!);
      // What has been begun goes on now, so that its time counts.
      await new Promise((resolve) => process.nextTick(resolve));
    } while (count < this.waiting.length && performance.now() < until);
    this.waiting = this.waiting.slice(count);
    this.since = performance.now();
    this.isDue = this.waiting.length > 0;
    if (this.isDue) setImmediate(() => void this.run());
  }
}
