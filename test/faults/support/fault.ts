import { setTimeout as sleep } from 'node:timers/promises';
import { query, type Service } from '../../../src/testing/service.js';
import { countStatuses, record } from './figures.js';
import { type Outcome, WriteLoad } from './load.js';
import { Probe } from './probes.js';

const BEFORE_MS = 1_000;
const AFTER_MS = 3_000;

/** Every answer must arrive within this many milliseconds, whatever the database does. */
export const PATIENCE_MS = 3_000;
/** Within this many milliseconds after its database recovers, the service must recover too. */
export const HEALING_MS = 2_000;

export interface Fault {
  begin(): unknown;
  /** Resolves when the database is back. */
  end(): unknown;
  lastsMs: number;
  clients?: number;
  /** Appended to each message. */
  filler?: string;
}

export interface Observed {
  writes: Outcome[];
  /** Writes that began and ended while the fault lasted. */
  during: Outcome[];
  acknowledged: Outcome[];
  live: Outcome[];
  /** While the fault lasted: readiness, without answers from before the fault, and reads of another table. */
  ready: Outcome[];
  reads: Outcome[];
  slowestMs: number;
  /** Seconds from the database's return to the last answer that was not yet a success. */
  recoveredS: number;
}

/** Milliseconds for which the service reuses an answer about its readiness. */
const READY_KEPT_MS = 1_000;

/** Puts the service under write load, lets a fault come and go, and returns what the clients saw. */
export async function observe(service: Service, key: string, fault: Fault): Promise<Observed> {
  const load = new WriteLoad(service.url, key, fault);
  const live = new Probe(service.url, '/health/live');
  const ready = new Probe(service.url, '/health/ready');
  const reads = new Probe(service.url, '/v1/categories', { key });
  await sleep(BEFORE_MS);
  await fault.begin();
  const begun = performance.now();
  await sleep(fault.lastsMs);
  const ended = performance.now();
  await fault.end();
  const back = performance.now();
  await sleep(AFTER_MS);
  await Promise.all([load, live, ready, reads].map((one) => one.stop()));
  const within = ({ begun: from, ended: to }: Outcome) => from > begun && to < ended;
  const failed = load.outcomes.filter(({ status }) => status >= 300 || status === 0);
  const all = [...load.outcomes, ...ready.outcomes, ...reads.outcomes];
  return {
    writes: load.outcomes,
    during: load.outcomes.filter(within),
    acknowledged: load.acknowledged,
    live: live.outcomes,
    ready: ready.outcomes.filter((one) => within(one) && one.begun > begun + READY_KEPT_MS),
    reads: reads.outcomes.filter(within),
    slowestMs: Math.round(Math.max(...all.map(durationOf))),
    recoveredS: Math.max(0, ...failed.map((one) => one.ended - back)) / 1_000,
  };
}

/** Adds the observation to the summary; returns the longest time of a liveness answer, in milliseconds. */
export function recordFault(name: string, seen: Observed, missing: number): number {
  const { during, live, ready, reads, slowestMs, recoveredS, acknowledged } = seen;
  const liveMs = Math.round(Math.max(...live.map(durationOf)));
  record(
    name,
    during,
    `slowest ${slowestMs} ms; recovered in ${recoveredS.toFixed(2)} s`,
    `${acknowledged.length} acknowledged; ${missing} missing`,
    `live ≤ ${liveMs} ms; ready ${countStatuses(ready)}; reads ${countStatuses(reads)}`,
  );
  return liveMs;
}

export const durationOf = ({ begun, ended }: Outcome): number => ended - begun;

/** The number of acknowledged writes that the database lacks. */
export async function countMissing(databaseUrl: string, acknowledged: Outcome[]): Promise<number> {
  const idsOf = (path: string) =>
    acknowledged.filter((one) => one.path === path).map(({ body }) => String(JSON.parse(body).id));
  const [pets, messages] = [idsOf('/v1/pets'), idsOf('/v1/messages')];
  const sql = `SELECT (SELECT count(*) FROM pets WHERE id = ANY($1::bigint[]))
    + (SELECT count(*) FROM messages WHERE id = ANY($2::uuid[])) AS found`;
  const [row] = await query<{ found: string }>(databaseUrl, sql, [pets, messages]);
  return acknowledged.length - Number(row!.found);
}

/** Answers that are neither a success nor a 503 exactly as the contract defines it. */
export function faultyOf(outcomes: Outcome[]): string[] {
  const wrong = outcomes.filter((one) => !(one.status >= 200 && one.status < 300) && !isUnavailable(one));
  return wrong.map(
    ({ method, path, status, body, failure }) => `${method} ${path} ${status} ${failure ?? body}`,
  );
}

export function isUnavailable({ status, headers, body }: Outcome): boolean {
  if (status !== 503 || !(Number(headers['retry-after']) > 0)) return false;
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return false;
  const error = JSON.parse(body) as Record<string, unknown>;
  const isExact = Object.keys(error).toSorted().join() === 'code,message,status';
  return isExact && error.code === 'service_unavailable' && error.status === 503;
}
