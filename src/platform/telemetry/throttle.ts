/** Tells of what may happen often: the first time at once, what follows together at the end of each interval. */
export class Throttle {
  private timer?: NodeJS.Timeout;
  private isDue = false;

  constructor(
    private readonly intervalMs: number,
    private readonly tell: () => void,
  ) {}

  /** It has happened. */
  happened(): void {
    this.isDue = true;
    if (!this.timer) this.tellNow();
  }

  /** Tells what is still untold, and no more. */
  stop(): void {
    clearTimeout(this.timer);
    if (this.isDue) this.tell();
    this.isDue = false;
  }

  private tellNow(): void {
    this.timer = undefined;
    if (!this.isDue) return;
    this.isDue = false;
    this.tell();
    this.timer = setTimeout(() => this.tellNow(), this.intervalMs).unref();
  }
}
