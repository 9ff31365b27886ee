import { Injectable } from '@nestjs/common';
import { Metrics } from '../telemetry/index.js';
import { JobQueues } from './job-queues.js';
import type { Ending } from './job.js';

const RESULTS = { completed: 'done', retry: 'postponed', failed: 'failed' } as const;
type Result = (typeof RESULTS)[keyof typeof RESULTS];

/** What this process has done of each queue since its start. */
@Injectable()
export class JobCounts {
  private readonly ended = new Map<string, number>();
  private readonly paused = new Set<string>();

  constructor(metrics: Metrics, queues: JobQueues) {
    // From the start, so that the first of them is an increase.
    const results = Object.values(RESULTS);
    const tries = () =>
      queues.all.flatMap(({ name: queue }) =>
        results.map((result) => ({ labels: { queue, result }, value: this.of(queue, result) })),
      );
    const paused = () =>
      queues.all.map(({ name }) => ({ labels: { queue: name }, value: Number(this.paused.has(name)) }));
    metrics.counter('petstore_jobs_tries_total', 'Tries of jobs, by what became of them.', tries);
    metrics.gauge('petstore_jobs_paused', 'Whether jobs are paused, as all tries fail.', paused);
  }

  of(queue: string, result: Result): number {
    return this.ended.get(`${queue} ${result}`) ?? 0;
  }

  count({ queue, state }: Ending): void {
    const result = RESULTS[state];
    this.ended.set(`${queue} ${result}`, this.of(queue, result) + 1);
  }

  pause(queue: string, isPaused: boolean): void {
    if (isPaused) this.paused.add(queue);
    else this.paused.delete(queue);
  }
}
