import type { Logger } from '@nestjs/common';

const INTERVAL_MS = 60_000;

/** A warning that is logged at most once a minute, with the number of times it was raised. */
export class ThrottledWarning {
  private count = 0;
  private loggedAt = -Infinity;

  constructor(
    private readonly logger: Logger,
    private readonly text: string,
  ) {}

  add(reason: string): void {
    this.count++;
    if (performance.now() - this.loggedAt < INTERVAL_MS) return;
    this.logger.warn(`${this.text} (${this.count} since the last such line): ${reason}`);
    this.loggedAt = performance.now();
    this.count = 0;
  }
}
