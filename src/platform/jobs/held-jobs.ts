import type { Job, PgBoss } from 'pg-boss';
import { TRY_SECONDS } from './boss.js';
import type { Ending } from './job.js';

/** How often a worker shows that it is alive, in milliseconds. */
const HEARTBEAT_MS = 8_000;

/** A job as pg-boss gives it; what it holds beside the payload is the worker's. */
export type FetchedJob = Job<{ payload?: unknown; failingSince?: string } | null>;

/** One of the jobs that a worker holds. */
export class HeldJob {
  private readonly controller = new AbortController();
  private readonly begun = performance.now();

  constructor(readonly job: FetchedJob) {}

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isOverdue(): boolean {
    return performance.now() - this.begun > TRY_SECONDS * 1_000;
  }

  abort(reason: string): void {
    this.controller.abort(new Error(reason));
  }

  /** An ending of this try. */
  ending(state: Ending['state'], more: Partial<Ending> = {}): Ending {
    const { name: queue, id, retryCount } = this.job;
    return { queue, id, retryCount, state, ...more };
  }
}

/** The jobs that a worker holds, and the signs of life for them. */
export class HeldJobs {
  private readonly held = new Map<string, HeldJob>();
  private readonly timer: NodeJS.Timeout;

  /** @param overdue told of each that takes too long */
  constructor(
    private readonly boss: PgBoss,
    private readonly overdue: (held: HeldJob) => void,
    private readonly failed: (error: Error) => void,
  ) {
    this.timer = setInterval(() => void this.beat(), HEARTBEAT_MS).unref();
  }

  get size(): number {
    return this.held.size;
  }

  add(held: HeldJob): void {
    this.held.set(held.job.id, held);
  }

  /** Whether it is still held, and not an earlier try of the same job. */
  has(held: HeldJob): boolean {
    return this.held.get(held.job.id) === held;
  }

  remove(held: HeldJob): void {
    if (this.has(held)) this.held.delete(held.job.id);
  }

  /** Lets go of all, and returns them. */
  releaseAll(): HeldJob[] {
    clearInterval(this.timer);
    const all = [...this.held.values()];
    this.held.clear();
    return all;
  }

  private async beat(): Promise<void> {
    const all = [...this.held.values()];
    for (const one of all) if (one.isOverdue) this.overdue(one);
    const jobs = all.map(({ job }) => job);
    if (jobs.length === 0) return;
    try {
      // Its types do not have the ids.
      const { settled } = (await this.boss.touch(jobs[0]!.name, jobs)) as { settled?: string[] };
      const refreshed = new Set(settled);
      for (const one of all) if (!refreshed.has(one.job.id)) one.abort('Another worker has the job');
    } catch (error) {
      // It says nothing about who has the jobs.
      this.failed(error as Error);
    }
  }
}
