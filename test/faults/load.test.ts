import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { createKey } from '../../src/testing/client.js';
import { type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { durationOf } from './support/fault.js';
import { countStatuses, median, record } from './support/figures.js';
import { exchange } from './support/load.js';
import { Probe } from './support/probes.js';

const FLOOD = fileURLToPath(new URL('support/flood.js', import.meta.url));
const FLOOD_SOCKETS = 4_000;
const FLOOD_SECONDS = 8;
/** The time-out of the liveness probe in `deploy/k8s`, of which three in a row must fail. */
const PROBE_MS = 3_000;

let database: DatabaseServer;
let service: Service;
let key: string;

beforeAll(async () => {
  database = await DatabaseServer.start();
  service = await startService({ DATABASE_URL: database.url });
  key = await createKey(service);
});
afterAll(async () => {
  await service.stop();
  await database.stop();
});

/** Memory of the service in MiB: what it holds now, or its peak. */
function memory(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  return Math.round(Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)![1]) / 1_024);
}

/** How long a well-behaved client waits, in milliseconds. */
async function latency(): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const durations: number[] = [];
  for (let i = 0; i < 200; i++) {
    const outcome = await exchange(service.url, { path: '/v1/pets', key }, agent);
    expect(outcome.status).toBe(200);
    durations.push(durationOf(outcome));
  }
  agent.destroy();
  return median(durations);
}

test('A thousand bombs of ten megabytes are all refused, and leave the memory as it was', async () => {
  await latency();
  const before = memory('VmRSS');
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const statuses: { status: number }[] = [];
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Encoding': 'gzip',
  };
  const work = async () => {
    while (statuses.length < 1_000) {
      const sending = fetch(`${service.url}/v1/pets`, { method: 'POST', headers, body: bomb });
      statuses.push({ status: 0 });
      const last = statuses.length - 1;
      const response = await sending;
      await response.text();
      statuses[last] = { status: response.status };
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const after = memory('VmRSS');
  record('1,000 gzip bombs', statuses, `RSS ${before} → ${after} MiB, at most ${memory('VmHWM')} MiB`);
  expect(countStatuses(statuses)).toBe('413×1000');
  expect(after - before).toBeLessThan(100);
});

test('Five hundred sockets that drip their headers do not slow a good client', async () => {
  const baseline = await latency();
  const { hostname, port } = new URL(service.url);
  const sockets = Array.from({ length: 500 }, () => connect(Number(port), hostname).on('error', () => {}));
  for (const socket of sockets) socket.write('GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  const drip = setInterval(() => sockets.forEach((socket) => socket.write('x')), 500);
  await sleep(1_000);
  const beside = await latency();
  clearInterval(drip);
  for (const socket of sockets) socket.destroy();
  record(
    '500 slow sockets',
    [],
    `median ${beside.toFixed(1)} ms, alone ${baseline.toFixed(1)} ms; RSS ${memory('VmRSS')} MiB`,
  );
  expect(beside).toBeLessThan(baseline * 2 + 5);
});

test('Far more requests than the service can serve are answered or refused, while its liveness answers', async () => {
  const before = memory('VmRSS');
  const live = new Probe(service.url, '/health/live', { keepAlive: true });
  const newcomer = new Probe(service.url, '/health/live');
  const args = [FLOOD, service.url, key, String(FLOOD_SOCKETS), String(FLOOD_SECONDS)];
  const flood = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  flood.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await once(flood, 'close');
  await Promise.all([live.stop(), newcomer.stop()]);
  const begun = performance.now();
  const calm = await latency();
  const { statuses, wrong, slowestMs } = JSON.parse(printed) as {
    statuses: Record<string, number>;
    wrong: string[];
    slowestMs: number;
  };
  const [liveMs, newcomerMs] = [live, newcomer].map(({ outcomes }) =>
    Math.round(Math.max(...outcomes.map(durationOf))),
  );
  // A new connection waits behind those made before it in the same second, one a turn of the event loop on each socket,
  // and is first read in the turn after: as long as the machine needs for the crowd. On a single socket it would wait for
  // all of the flood.
  record(
    `Overload, ${FLOOD_SOCKETS} sockets`,
    [],
    Object.entries(statuses)
      .map(([status, count]) => `${status}×${count}`)
      .join(' '),
    `slowest ${slowestMs} ms; recovered in ${((performance.now() - begun) / 1_000).toFixed(2)} s`,
    `live ≤ ${liveMs} ms, on a new connection ≤ ${newcomerMs} ms; then median ${calm.toFixed(1)} ms`,
    `RSS ${before} → at most ${memory('VmHWM')} MiB`,
  );
  expect(wrong).toEqual([]);
  expect(Object.keys(statuses).filter((status) => !['200', '201', '503'].includes(status))).toEqual([]);
  expect(countStatuses(live.outcomes)).toBe(`200×${live.outcomes.length}`);
  expect(liveMs).toBeLessThan(PROBE_MS);
  expect(countStatuses(newcomer.outcomes)).toBe(`200×${newcomer.outcomes.length}`);
  expect(newcomerMs).toBeLessThan(PROBE_MS * 2);
  expect(memory('VmHWM')).toBeLessThan(800);
});
