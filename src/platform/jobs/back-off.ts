/** Seconds until the first retry; each further pause is twice as long. */
const FIRST_PAUSE_SECONDS = 5;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A try that failed. */
interface FailedTry {
  /** Number of earlier tries. */
  earlier: number;
  /** When the first try failed. */
  failingSince: Date;
  /** Seconds to wait at least; 0 if nobody has asked for that. */
  retryAfterSeconds: number;
}

/**
 * Seconds until the next try: a random part of a pause that doubles up to the longest one, so that jobs that failed
 * together are not retried together, and no sooner than was asked for. Undefined once a day has passed.
 */
export function nextPause(
  { earlier, failingSince, retryAfterSeconds }: FailedTry,
  longestSeconds: number,
): number | undefined {
  if (Date.now() - failingSince.getTime() >= DAY_MS) return undefined;
  const pause = Math.min(longestSeconds, FIRST_PAUSE_SECONDS * 2 ** Math.min(earlier, 30));
  const jittered = pause * (0.5 + Math.random() / 2);
  return Math.max(jittered, Math.min(retryAfterSeconds, longestSeconds));
}
