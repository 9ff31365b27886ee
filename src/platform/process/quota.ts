/** A caller who waits for a part of something scarce. */
interface Waiter {
  readonly count: number;
  readonly begin: () => void;
  readonly timer: NodeJS.Timeout;
}

/** For whom something costly is done. */
export interface Requester {
  /** The caller that is charged; none for an operator. */
  caller?: string;
  /** Whether nobody waits for the answer any more. */
  isGone(): boolean;
}

/**
 * Something scarce, of which one caller holds at most half, so that what one caller does never turns the others away. A caller
 * beyond that waits in a line of its own, or is refused. Work of nobody in particular (undefined) is bounded by the total alone.
 */
export class Quota {
  /** The most that one caller may hold. */
  readonly half: number;
  private readonly held = new Map<string, number>();
  /** The lines, none of them empty: the first is served next, and goes to the end. */
  private readonly lines = new Map<string | undefined, Waiter[]>();
  private all = 0;

  constructor(private readonly total: number) {
    this.half = Math.max(1, Math.floor(total / 2));
  }

  /** What all callers hold together. */
  get taken(): number {
    return this.all;
  }

  /** How many callers hold some. */
  get callers(): number {
    return this.held.size;
  }

  /** How many wait. */
  get waiting(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /** Takes some; false if too few are free, or the caller would have more than half. */
  tryTake(caller: string | undefined, count = 1): boolean {
    if (this.all + count > this.total) return false;
    if (caller !== undefined) {
      const held = (this.held.get(caller) ?? 0) + count;
      if (held > this.half) return false;
      this.held.set(caller, held);
    }
    this.all += count;
    return true;
  }

  /**
   * Takes some as soon as the caller may have them.
   * @param count at most `half`
   * @throws what `refusal` makes, after so many milliseconds
   */
  async take(caller: string | undefined, patienceMs: number, refusal: () => Error, count = 1): Promise<void> {
    if (!this.lines.has(caller) && this.tryTake(caller, count)) return;
    await new Promise<void>((begin, reject) => {
      const timer = setTimeout(() => {
        this.leave(caller, waiter);
        reject(refusal());
      }, patienceMs);
      const waiter = { count, begin, timer };
      const line = this.lines.get(caller);
      if (line) line.push(waiter);
      else this.lines.set(caller, [waiter]);
    });
  }

  giveBack(caller: string | undefined, count = 1): void {
    this.all -= count;
    if (caller !== undefined) {
      const left = this.held.get(caller)! - count;
      if (left > 0) this.held.set(caller, left);
      else this.held.delete(caller);
    }
    if (this.lines.size > 0) this.serve();
  }

  /** Lets those in whose turn it is. */
  private serve(): void {
    for (const [caller, line] of this.lines) {
      const [first] = line;
      if (!this.tryTake(caller, first!.count)) continue;
      clearTimeout(first!.timer);
      this.leave(caller, first!);
      if (this.lines.delete(caller)) this.lines.set(caller, line);
      first!.begin();
    }
  }

  private leave(caller: string | undefined, waiter: Waiter): void {
    const line = this.lines.get(caller)!;
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) this.lines.delete(caller);
  }
}

/**
 * Milliseconds of a turn of the event loop, with what else it does, in which more than one work of each caller is begun: for
 * several callers, and for one alone. Beside 64 connections of another that are refused at once, four have as much as
 * beside 64 good ones.
 */
const TURN_MS = { shared: 2, alone: 5 };

/**
 * Time is scarce as well: work is begun caller by caller, one of each in a turn of the event loop, and then again as long as the
 * turn is short; the rest waits for the next. So a flood, whose requests are refused at once and back at once, leaves the
 * requests of others their turns, each of which needs several.
 */
export class Turns<Work> {
  /** The lines, none of them empty. */
  private readonly lines = new Map<string, Work[]>();
  private isDue = false;
  /** How busy the event loop was when work was begun the last time. */
  private last = performance.eventLoopUtilization();

  /**
   * @param begin does the work, or begins with it
   * @param isShared whether there is more than one caller: a single one waits for nobody
   */
  constructor(
    private readonly begin: (work: Work) => void,
    private readonly isShared: () => boolean,
  ) {}

  add(caller: string, work: Work): void {
    const line = this.lines.get(caller);
    if (line) line.push(work);
    else this.lines.set(caller, [work]);
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const { active } = performance.eventLoopUtilization(this.last);
    const until = performance.now() + (this.isShared() ? TURN_MS.shared - active : TURN_MS.alone);
    let ofEach = this.lines.size;
    // A line that goes to the end of the map is met again.
    for (const [caller, line] of this.lines) {
      if (ofEach-- <= 0 && performance.now() >= until) break;
      this.lines.delete(caller);
      const work = line.shift()!;
      if (line.length > 0) this.lines.set(caller, line);
      this.begin(work);
      // What has been begun goes on now, so that its time counts.
      await new Promise((resolve) => process.nextTick(resolve));
    }
    this.last = performance.eventLoopUtilization();
    this.isDue = this.lines.size > 0;
    if (this.isDue) setImmediate(() => void this.run());
  }
}
