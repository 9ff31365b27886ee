const LIMITS = {
  /** Requests that the process works on. At a few ms each, more than these would wait longer than a client does. */
  requests: 2_000,
  /** Milliseconds that one turn of the event loop may take. Beyond it, most of what else comes in that turn is refused. */
  lagMs: 400,
  /** Open requests up to which a long turn is not their doing, but that of a machine that is busy otherwise. */
  few: 100,
};
const TICK_MS = 20;

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
 * more than their share are refused. A request is work while neither its body nor its answer is on its way.
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
