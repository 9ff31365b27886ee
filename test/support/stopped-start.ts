import { setTimeout as sleep } from 'node:timers/promises';
import { nodeStart } from './npm.js';

/** How a start ended that was told to stop. */
export interface StoppedStart {
  /** Milliseconds after which it was told. */
  afterMs: number;
  /** Milliseconds that it took from then. */
  tookMs: number;
  /** Exit code, or the name of the signal that ended it. */
  end: number | string;
  /** What it wrote to standard error. */
  said: string;
}

/** Starts the service, and tells it to stop so many milliseconds later, whatever it is doing. */
export async function stopStart(afterMs: number, env: Record<string, string>): Promise<StoppedStart> {
  const run = nodeStart({ LOG_LEVEL: 'warn', HOST: '127.0.0.1', ...env });
  await sleep(afterMs);
  const begun = performance.now();
  run.signal('SIGTERM');
  const end = await run.end;
  return { afterMs, tookMs: Math.round(performance.now() - begun), end, said: run.stderr };
}

/**
 * Those that did not end as they should: quietly, with 0, within the grace period. Before Node has read the program, in the
 * first moments, the signal itself ends it.
 */
export function faultyStops(all: StoppedStart[], firstMs = 1_000): StoppedStart[] {
  return all.filter(({ afterMs, tookMs, end, said }) => {
    const isOver = end === 0 || (end === 'SIGTERM' && afterMs < firstMs);
    return !isOver || said !== '' || tookMs > 10_000;
  });
}
