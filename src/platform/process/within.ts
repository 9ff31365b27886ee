import { setTimeout as sleep } from 'node:timers/promises';

/** The result of the work, or undefined after `ms`, while the work goes on. @throws the work's error, if in time */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const end = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, undefined, { ref: false, signal: end.signal })]);
  } finally {
    end.abort();
  }
}
