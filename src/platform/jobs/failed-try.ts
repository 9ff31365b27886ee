import { nextPause } from './back-off.js';
import type { HeldJob } from './held-jobs.js';
import { type Ending, JobError } from './job.js';

/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;

/** What comes after a try that has failed: another one, or none. */
export function endingOf(held: HeldJob, error: Error, longestPauseSeconds: number): Ending {
  const { data, retryCount: earlier } = held.job;
  const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : new JobError('');
  // What PostgreSQL cannot hold would keep the ending from being recorded.
  const reason = error.message.replaceAll('\0', '').slice(0, REASON_LENGTH).toWellFormed();
  const failingSince = new Date(data?.failingSince ?? Date.now());
  const pause = nextPause({ earlier, failingSince, retryAfterSeconds }, longestPauseSeconds);
  if (isFinal || pause === undefined) return held.ending('failed', { reason });
  return held.ending('retry', { reason, pause, failingSince: failingSince.toISOString() });
}
