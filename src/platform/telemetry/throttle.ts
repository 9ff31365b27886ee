import type { Logger } from '@nestjs/common';

/** How often a warning is logged at most, in milliseconds. */
const WARNING_MS = 60_000;

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

/** A warning that is logged at most once a minute, with the number of times it was raised and the last reason. */
export class ThrottledWarning {
  private count = 0;
  private reason = '';
  private readonly throttle = new Throttle(WARNING_MS, () => {
    this.logger.warn(`${this.text} (${this.count} since the last such line): ${this.reason}`);
    this.count = 0;
  });

  constructor(
    private readonly logger: Logger,
    private readonly text: string,
  ) {}

  add(reason: string): void {
    this.count++;
    this.reason = reason;
    this.throttle.happened();
  }
}
