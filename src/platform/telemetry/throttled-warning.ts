import type { Logger } from '@nestjs/common';
import { Throttle } from './throttle.js';

const INTERVAL_MS = 60_000;

/** A warning that is logged at most once a minute, with the number of times it was raised and the last reason. */
export class ThrottledWarning {
  private count = 0;
  private reason = '';
  private readonly throttle = new Throttle(INTERVAL_MS, () => {
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
