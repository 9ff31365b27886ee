/** Who waits for a part of something scarce. */
interface Waiter {
  readonly begin: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Something scarce, of which one caller holds at most half, so that what one caller does never turns the others away. A caller
 * beyond that waits in a line of its own, or is refused. Work of nobody in particular (undefined) is bounded by the total alone.
 */
export class Quota {
  private readonly held = new Map<string, number>();
  /** The lines, none of them empty: the first is served next, and goes to the end. */
  private readonly lines = new Map<string | undefined, Waiter[]>();
  private taken = 0;

  constructor(private readonly total: number) {}

  /** How many wait. */
  get waiting(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /** Takes some; false if too few are free, or the caller would have more than half. */
  tryTake(caller: string | undefined, count = 1): boolean {
    if (!this.isFree(caller, count)) return false;
    this.taken += count;
    if (caller !== undefined) this.held.set(caller, (this.held.get(caller) ?? 0) + count);
    return true;
  }

  /**
   * Takes one as soon as the caller may have it.
   * @throws what `refusal` makes, after so many milliseconds
   */
  async take(caller: string | undefined, patienceMs: number, refusal: () => Error): Promise<void> {
    if (!this.lines.has(caller) && this.tryTake(caller)) return;
    await new Promise<void>((begin, reject) => {
      const timer = setTimeout(() => {
        this.leave(caller, waiter);
        reject(refusal());
      }, patienceMs);
      const waiter = { begin, timer };
      const line = this.lines.get(caller);
      if (line) line.push(waiter);
      else this.lines.set(caller, [waiter]);
    });
  }

  giveBack(caller: string | undefined, count = 1): void {
    this.taken -= count;
    if (caller !== undefined) {
      const left = this.held.get(caller)! - count;
      if (left > 0) this.held.set(caller, left);
      else this.held.delete(caller);
    }
    this.serve();
  }

  private isFree(caller: string | undefined, count: number): boolean {
    if (this.taken + count > this.total) return false;
    const most = Math.max(1, Math.floor(this.total / 2));
    return caller === undefined || (this.held.get(caller) ?? 0) + count <= most;
  }

  /** Lets those in whose turn it is. */
  private serve(): void {
    for (const [caller, line] of this.lines) {
      if (!this.tryTake(caller)) continue;
      const { begin, timer } = line[0]!;
      clearTimeout(timer);
      this.leave(caller, line[0]!);
      const rest = this.lines.get(caller);
      if (rest && this.lines.delete(caller)) this.lines.set(caller, rest);
      begin();
    }
  }

  private leave(caller: string | undefined, waiter: Waiter): void {
    const line = this.lines.get(caller)!;
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) this.lines.delete(caller);
  }
}
