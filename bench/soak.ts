import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from './load.js';
import type { Bench } from './measure.js';
import { OPERATIONS } from './operations.js';
import type { RunningServer } from './servers.js';
import { memoryOf } from './usage.js';

/** A load well below the machine's limit: whatever grows under it does not grow because of a full queue. */
const LOAD = { operation: 'mix', connections: 16, requestsPerSecond: 1_500 } as const;
const MINUTE_S = 60;

interface Minute extends Load {
  /** MB at its end. */
  memory: number;
}

/** Puts the same moderate load on the service for minutes; reports the failures, latency and memory of each. */
export async function soak(
  service: RunningServer,
  bench: Bench,
  minutes: number,
  out?: string,
): Promise<void> {
  const rows: string[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const load = await bench.load(
      service,
      LOAD.operation,
      LOAD.connections,
      MINUTE_S,
      LOAD.requestsPerSecond,
    );
    rows.push(toRow(minute, { ...load, memory: memoryOf(service.process.pid!) }));
    console.log(rows.at(-1));
  }
  if (!out) return;
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'soak.md'), report(rows));
}

function toRow(minute: number, { requests, failures, p50, p99, memory }: Minute): string {
  const failed = Object.entries(failures).map(([what, count]) => `${count} × ${what}`);
  const cells = [
    minute,
    requests,
    failed.join(', ') || 'none',
    p50.toFixed(2),
    p99.toFixed(2),
    memory.toFixed(0),
  ];
  return `| ${cells.join(' | ')} |`;
}

function report(rows: string[]): string {
  const { title } = OPERATIONS[LOAD.operation];
  return [
    '# Soak',
    '',
    `${title}: ${LOAD.requestsPerSecond} requests a second over ${LOAD.connections} connections, each row one minute.`,
    '',
    '| Minute | Requests | Failures | p50 ms | p99 ms | RSS MB |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
