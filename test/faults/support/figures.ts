import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from './load.js';

/** Adds a line to the summary that is printed at the end: the answers' statuses, and other measurements. */
export function record(fault: string, outcomes: Pick<Outcome, 'status'>[], ...figures: string[]): void {
  const all = [countStatuses(outcomes), ...figures].filter(Boolean);
  appendFileSync(join(process.env.FAULTS_FOLDER!, 'figures'), `${fault}: ${all.join('; ')}\n`);
}

/** The number of answers by status, e.g. `201×40 503×12`; 0 stands for no answer at all. */
export function countStatuses(outcomes: Pick<Outcome, 'status'>[]): string {
  const counts = new Map<number, number>();
  for (const { status } of outcomes) counts.set(status, (counts.get(status) ?? 0) + 1);
  const sorted = [...counts].toSorted(([a], [b]) => a - b);
  return sorted.map(([status, count]) => `${status}×${count}`).join(' ');
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
