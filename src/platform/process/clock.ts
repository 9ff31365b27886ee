import { Injectable } from '@nestjs/common';

/** The current time, injected so that a test can set another date. */
@Injectable()
export class Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number {
    return Date.now();
  }
}
