import type { HeldJob } from './held-jobs.js';
import { type Ending, JobError } from './job.js';

/** Seconds until the first retry; each further pause is twice as long. */
const FIRST_PAUSE_SECONDS = 5;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;

/** What comes after a try that has failed: another one, or none if it was final or a day has passed since the first. */
export function endingOf(held: HeldJob, error: Error, longestPauseSeconds: number): Ending {
  const { data, retryCount: earlier } = held.job;
  const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : new JobError('');
  // What PostgreSQL cannot hold would keep the ending from being recorded.
  const reason = error.message.replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed();
  const failingSince = new Date(data?.failingSince ?? Date.now());
  if (isFinal || Date.now() - failingSince.getTime() >= DAY_MS) return held.ending('failed', { reason });
  const asked = Math.min(retryAfterSeconds, longestPauseSeconds);
  const pause = Math.max(pauseAfter(earlier, longestPauseSeconds), asked);
  return held.ending('retry', { reason, pause, failingSince: failingSince.toISOString() });
}

/**
 * Seconds after so many earlier tries: a random part of a pause that doubles up to the longest one, so that jobs that
 * failed together are not retried together.
 */
function pauseAfter(earlier: number, longestSeconds: number): number {
  const pause = Math.min(longestSeconds, FIRST_PAUSE_SECONDS * 2 ** Math.min(earlier, 30));
  return pause * (0.5 + Math.random() / 2);
}
