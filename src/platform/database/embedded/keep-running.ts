import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { OperatorError } from '../../process/index.js';

/** A server that has run for this many milliseconds has started well; what ends it later is another matter. */
const STEADY_MS = 60_000;
/** After this many ends in a row, another start would end as well. */
const MAX_ENDS = 5;
/** Milliseconds before the second start in a row; doubled for each further one. */
const PAUSE_MS = 250;

interface Kept {
  /** Resolves when the server that now runs ends, to how. */
  readonly end: () => Promise<string>;
  /** @throws Error if it does not start */
  readonly restart: () => Promise<unknown>;
  /** What the server wrote last. */
  readonly lastWords: () => string;
  /** Whether it is meant to end. */
  readonly isOver: () => boolean;
}

/** Starts a server again whenever it ends, and resolves to the reason when it is in vain, or is meant to end. */
export async function keepRunning({ end, restart, lastWords, isOver }: Kept): Promise<Error> {
  for (let ends = 0, since = performance.now(); ;) {
    const how = await end();
    ends = performance.now() - since < STEADY_MS ? ends + 1 : 1;
    const told = `The embedded PostgreSQL has ended ${ends} times in a row, the last with ${how}: `;
    if (isOver() || ends >= MAX_ENDS) return new OperatorError(told + lastWords());
    new Logger('Database').warn(`The embedded PostgreSQL has ended with ${how} and is started again`);
    if (ends > 1) await sleep(PAUSE_MS * 2 ** (ends - 2));
    // One that does not start has ended, too.
    await restart().catch(() => {});
    since = performance.now();
  }
}
