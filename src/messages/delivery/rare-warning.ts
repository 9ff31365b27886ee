import type { Logger } from '@nestjs/common';

const INTERVAL_MS = 60_000;

/** Warns at most once a minute of something that may happen thousands of times. */
export class RareWarning {
  private count = 0;
  private toldAt = -Infinity;

  constructor(
    private readonly logger: Logger,
    private readonly text: string,
  ) {}

  tell(reason: string): void {
    this.count++;
    if (performance.now() - this.toldAt < INTERVAL_MS) return;
    this.logger.warn(`${this.text} (${this.count} since the last such line): ${reason}`);
    this.toldAt = performance.now();
    this.count = 0;
  }
}
