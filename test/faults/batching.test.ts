import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createKey } from '../../src/testing/client.js';
import { times } from '../support/customer.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing, durationOf, faultyOf, PATIENCE_MS } from './support/fault.js';
import { countStatuses, median, record } from './support/figures.js';
import { exchange, type Outcome, WriteLoad } from './support/load.js';

const PETS = 400;

let database: DatabaseServer;
let service: Service;
let key: string;

beforeAll(async () => {
  database = await DatabaseServer.start();
  service = await startService({ DATABASE_URL: database.url });
  key = await createKey(service);
  await query(
    database.url,
    `INSERT INTO pets (name, category_id, status) SELECT 'Rex', 1, 'available' FROM generate_series(1, ${PETS})`,
  );
});
afterAll(async () => {
  await service.stop();
  await database.stop();
});

test('A locked animal holds up those who order it, but reads and orders of others only briefly', async () => {
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; SELECT FROM pets WHERE id = 1 FOR UPDATE');
  const agent = new Agent({ keepAlive: true });
  const order = (petId: number) =>
    exchange(service.url, { method: 'POST', path: '/v1/store/orders', key, body: { petId } }, agent);
  const locked: Outcome[] = [];
  const free: Outcome[] = [];
  const reads: Outcome[] = [];
  const over = new AbortController();
  await Promise.all([
    times(4, async () => {
      for (let i = 0; i < 4; i++) locked.push(await order(1));
    }).finally(() => over.abort()),
    times(8, async (client) => {
      for (let pet = 2 + client; pet <= PETS && !over.signal.aborted; pet += 8) free.push(await order(pet));
    }),
    times(8, async (client) => {
      for (let i = client; !over.signal.aborted; i++) {
        const path = i % 2 ? `/v1/pets/${(i % 50) + 1}` : '/v1/pets?status=pending';
        reads.push(await exchange(service.url, { path, key }, agent));
      }
    }),
  ]);
  await holder.query('COMMIT');
  await holder.end();
  agent.destroy();
  const slowest = (outcomes: Outcome[]) => Math.round(Math.max(...outcomes.map(durationOf)));
  record({
    fault: 'One animal locked',
    statuses: countStatuses([...locked, ...free, ...reads]),
    'slowest ms': slowest([...locked, ...free, ...reads]),
    beside: `others' orders ${countStatuses(free)}, slowest ${slowest(free)} ms; reads ≤ ${slowest(reads)} ms, median ${median(reads.map(durationOf)).toFixed(1)} ms`,
  });
  expect(countStatuses(locked)).toBe(`503×${locked.length}`);
  expect(faultyOf(locked)).toEqual([]);
  expect(countStatuses(free)).toBe(`201×${free.length}`);
  expect(countStatuses(reads)).toBe(`200×${reads.length}`);
  expect(slowest([...locked, ...free])).toBeLessThan(PATIENCE_MS);
  expect(median(reads.map(durationOf))).toBeLessThan(100);
});

test('A killed connection costs those whose statement it had 503s, and no acknowledged write', async () => {
  const load = new WriteLoad(service.url, key, { clients: 32 });
  let killed = 0;
  for (let i = 0; i < 30; i++) {
    await sleep(100);
    // A busy one, so that there is a batch to lose.
    const [found] = await query<{ killed: boolean }>(
      database.url,
      `SELECT pg_terminate_backend(pid) AS killed FROM pg_stat_activity
       WHERE application_name = 'petstore' AND datname = current_database() ORDER BY (state = 'active') DESC LIMIT 1`,
    );
    if (found?.killed) killed++;
  }
  await load.stop();
  const missing = await countMissing(database.url, load.acknowledged);
  const refused = load.outcomes.filter(({ status }) => status === 503);
  record({
    fault: `${killed} connections killed, one by one`,
    statuses: countStatuses(load.outcomes),
    'slowest ms': Math.round(Math.max(...load.outcomes.map(durationOf))),
    acknowledged: load.acknowledged.length,
    missing,
  });
  expect(faultyOf(load.outcomes)).toEqual([]);
  expect(killed).toBeGreaterThan(20);
  expect(missing).toBe(0);
  // A batch holds at most one statement per client, and most of what is sent is served.
  expect(refused.length).toBeLessThanOrEqual(killed * 32);
  expect(load.acknowledged.length).toBeGreaterThan(refused.length);
});
