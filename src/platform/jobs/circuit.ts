/** Failures in a row after which a queue is paused. */
const FAILURES = 100;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Pauses a queue whose tries all fail, as when what they call is away: after a pause one job is tried, and if that fails
 * too, the next pause is twice as long, up to a minute. The first success ends it.
 */
export class Circuit {
  private failures = 0;
  private pauseMs = 0;
  private pausedUntil = 0;

  /** @param changed told when a pause begins (true) or all is well again (false) */
  constructor(private readonly changed: (isPaused: boolean) => void) {}

  get isPaused(): boolean {
    return this.pauseMs > 0;
  }

  /** How many jobs may be worked on at a time, of those that could be. */
  limit(concurrency: number): number {
    if (!this.isPaused) return concurrency;
    return performance.now() < this.pausedUntil ? 0 : 1;
  }

  succeeded(): void {
    this.failures = 0;
    if (!this.isPaused) return;
    this.pauseMs = 0;
    this.changed(false);
  }

  failed(): void {
    this.failures++;
    if (this.failures < FAILURES) return;
    // What was begun before the pause says nothing new.
    if (this.isPaused && performance.now() < this.pausedUntil) return;
    const wasPaused = this.isPaused;
    this.pauseMs = wasPaused ? Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    this.pausedUntil = performance.now() + this.pauseMs;
    if (!wasPaused) this.changed(true);
  }
}
