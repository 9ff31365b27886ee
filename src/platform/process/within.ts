import { setTimeout as sleep } from 'node:timers/promises';

/** The result of work, or undefined if that takes longer; the work goes on. @throws as the work, if it fails in time */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const end = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, undefined, { ref: false, signal: end.signal })]);
  } finally {
    end.abort();
  }
}
