const LIMITS = {
  /** Requests under way in this process. At a few ms each, more than these would wait longer than a client does. */
  requests: 2_000,
  /** Milliseconds that one turn of the event loop may take. Beyond it, most of what else comes in that turn is refused. */
  lagMs: 400,
  /** Requests under way up to which a long turn is not their doing, but that of a machine that is busy otherwise. */
  few: 100,
};
const TICK_MS = 20;

/**
 * Knows when there are more requests than the process can serve, and whose they are: only those of clients that have
 * more than their share are refused. A request counts while it is worked on, not while its client sends its body or
 * reads its answer.
 */
export class Overload {
  private readonly ticker = setInterval(() => (this.ticked = performance.now()), TICK_MS).unref();
  private ticked = performance.now();
  private readonly byClient = new Map<string, number>();
  /** Requests under way. */
  requests = 0;

  /** Counts a request until `release`; false if it is too much. */
  admit(client: string): boolean {
    const own = this.byClient.get(client) ?? 0;
    if (this.isTooMuch(own)) return false;
    this.requests++;
    this.byClient.set(client, own + 1);
    return true;
  }

  /** Ends the counting of a request. */
  release(client: string): void {
    this.requests--;
    const own = this.byClient.get(client)! - 1;
    if (own > 0) this.byClient.set(client, own);
    else this.byClient.delete(client);
  }

  stop(): void {
    clearInterval(this.ticker);
  }

  /** @param own the requests that the client has under way already */
  private isTooMuch(own: number): boolean {
    if (this.requests < LIMITS.few) return false;
    const isLate = performance.now() - this.ticked > LIMITS.lagMs;
    const limit = isLate ? LIMITS.few : LIMITS.requests;
    if (this.requests < limit) return false;
    const clients = this.byClient.size + (own === 0 ? 1 : 0);
    // With as many clients as that, even fair shares add up to too much.
    return this.requests >= 2 * LIMITS.requests || own >= limit / clients;
  }
}
