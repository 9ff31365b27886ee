import { setImmediate } from 'node:timers';

const LIMITS = {
  /** Requests that the process works on. At a few ms each, more than these would wait longer than a client does. */
  requests: 2_000,
  /** Milliseconds that one turn of the event loop may take. Beyond it, most of what else comes in that turn is refused. */
  lagMs: 400,
  /** Open requests up to which a long turn is not their doing, but that of a machine that is busy otherwise. */
  few: 100,
};
const TICK_MS = 20;

/** What those in line have of a turn of the event loop at least, in milliseconds: with less, nothing would be done. */
const LEAST_MS = 0.1;

/** Where requests come from, as `networkOf` says, and how many have. */
export interface Client {
  readonly name: string;
  /** Requests that are worked on. */
  working: number;
  /** Requests that were begun with and whose answers have not been sent, because of either side. */
  open: number;
}

/**
 * Knows when there are more requests than the process can serve, and whose they are: only those of clients that have
 * more than their share are refused. A request is work while neither its body nor its answer is on its way. Clients are
 * counted here, not lined up as in `Shares`: nothing is taken from anybody, and every request is counted twice.
 */
export class Overload {
  private readonly ticker = setInterval(() => (this.ticked = performance.now()), TICK_MS).unref();
  private ticked = performance.now();
  private readonly clients = new Map<string, Client>();
  private open = 0;
  /** Requests that are worked on. */
  requests = 0;

  /** A request is begun with, until `left`. */
  enter(name: string): Client {
    let client = this.clients.get(name);
    if (!client) this.clients.set(name, (client = { name, working: 0, open: 0 }));
    client.open++;
    this.open++;
    return client;
  }

  left(client: Client): void {
    this.open--;
    if (--client.open === 0) this.clients.delete(client.name);
  }

  /** Counts a request as work until `release`; false if it is too much. */
  admit(client: Client): boolean {
    if (this.isTooMuch(client)) return false;
    this.requests++;
    client.working++;
    return true;
  }

  release(client: Client): void {
    this.requests--;
    client.working--;
  }

  stop(): void {
    clearInterval(this.ticker);
  }

  private isTooMuch({ working, open }: Client): boolean {
    if (this.open <= LIMITS.few) return false;
    // Sending answers makes a turn long as well.
    const isLate = performance.now() - this.ticked > LIMITS.lagMs;
    if (isLate && open > LIMITS.few / this.clients.size) return true;
    if (this.requests < LIMITS.requests) return false;
    // With as many clients as that, even fair shares add up to too much.
    return this.requests >= 2 * LIMITS.requests || working >= LIMITS.requests / this.clients.size;
  }
}

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
