import { Injectable } from '@nestjs/common';

/** The time as the service sees it, so that a test can stand at another date. */
@Injectable()
export class Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number {
    return Date.now();
  }
}
