import { Agent } from 'node:http';
import { Client } from 'pg';
import { createKey } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import {
  countMissing,
  durationOf,
  type Fault,
  faultyOf,
  HEALING_MS,
  isUnavailable,
  observe,
  type Observed,
  PATIENCE_MS,
  recordFault,
} from './support/fault.js';
import { countStatuses, median, record } from './support/figures.js';
import { exchange, type Outcome } from './support/load.js';
import { times } from '../support/customer.js';

/** Animals that are ordered while the first is locked, with ids that no other test has. */
const FIRST = 1_000_000_000;
const PETS = 400;

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

/** Lets the fault happen, puts it into the summary, and checks what must hold for every one. */
async function undergo(name: string, fault: Fault, target = service, targetKey = key): Promise<Observed> {
  const seen = await observe(target, targetKey, fault);
  const missing = await countMissing(
    database.url.replace(/\/\w+$/, new URL(target.databaseUrl).pathname),
    seen.acknowledged,
  );
  const liveMs = recordFault(name, seen, missing);
  expect(faultyOf([...seen.writes, ...seen.ready, ...seen.reads])).toEqual([]);
  expect(seen.slowestMs).toBeLessThan(PATIENCE_MS);
  expect(countStatuses(seen.live)).toBe(`200×${seen.live.length}`);
  expect(liveMs).toBeLessThan(500);
  expect(seen.recoveredS * 1_000).toBeLessThan(HEALING_MS);
  expect([missing, seen.acknowledged.length > 0]).toEqual([0, true]);
  return seen;
}

/** While nothing can be served, only 503 is answered, and readiness reports it too. */
function expectOnlyUnavailable({ during, ready }: Observed): void {
  expect(during.length).toBeGreaterThan(0);
  expect(ready.length).toBeGreaterThan(0);
  expect(countStatuses(during.filter((one) => !isUnavailable(one)))).toBe('');
  expect(countStatuses(ready.filter((one) => !isUnavailable(one)))).toBe('');
}

test('A database that is killed and started again costs 503s and no acknowledged write', async () => {
  const fault = { begin: () => database.kill(), end: () => database.restart(), lastsMs: 3_000 };
  expectOnlyUnavailable(await undergo('PostgreSQL killed', fault));
});

test('A database that is frozen for six seconds costs 503s within three, and no acknowledged write', async () => {
  const fault = { begin: () => database.freeze(), end: () => database.thaw(), lastsMs: 6_000 };
  expectOnlyUnavailable(await undergo('PostgreSQL frozen', fault));
});

test('A database without free connections costs 503s until a connection is free', async () => {
  await query(database.url, "CREATE ROLE clerk LOGIN PASSWORD 'clerk'");
  await query(database.url, 'CREATE DATABASE clerks OWNER clerk');
  const url = database.url.replace(/\/\/.*@(.*)\/\w+$/, '//clerk:clerk@$1/clerks');
  const other = await startService({ DATABASE_URL: url });
  const fault = {
    begin: async () => {
      await query(database.url, 'ALTER ROLE clerk CONNECTION LIMIT 0');
      await query(
        database.url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'clerk'",
      );
    },
    end: () => query(database.url, 'ALTER ROLE clerk CONNECTION LIMIT -1'),
    lastsMs: 2_000,
  };
  try {
    expectOnlyUnavailable(await undergo('Out of connections', fault, other, await createKey(other)));
  } finally {
    await other.stop();
  }
});

test('A locked table costs 503s on that table, while other tables are served', async () => {
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  const fault = {
    begin: () => holder.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE'),
    end: () => holder.query('COMMIT'),
    lastsMs: 5_000,
    clients: 16,
  };
  const { during, reads } = await undergo('Table locked', fault).finally(() => holder.end());
  const pets = during.filter(({ path }) => path === '/v1/pets');
  expect(countStatuses(pets)).toBe(`503×${pets.length}`);
  expect(countStatuses(reads)).toBe(`200×${reads.length}`);
});

test('A locked animal delays its own orders, and other reads and orders only briefly', async () => {
  await query(
    database.url,
    `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
     SELECT id, 'Rex', 1, 'available' FROM generate_series(${FIRST}, ${FIRST + PETS}) AS id`,
  );
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT FROM pets WHERE id = ${FIRST} FOR UPDATE`);
  const agent = new Agent({ keepAlive: true });
  const order = (petId: number) =>
    exchange(service.url, { method: 'POST', path: '/v1/store/orders', key, body: { petId } }, agent);
  const locked: Outcome[] = [];
  const free: Outcome[] = [];
  const reads: Outcome[] = [];
  const over = new AbortController();
  await Promise.all([
    times(4, async () => {
      for (let i = 0; i < 4; i++) locked.push(await order(FIRST));
    }).finally(() => over.abort()),
    times(8, async (client) => {
      for (let pet = 1 + client; pet <= PETS && !over.signal.aborted; pet += 8)
        free.push(await order(FIRST + pet));
    }),
    times(8, async (client) => {
      for (let i = client; !over.signal.aborted; i++) {
        const path = i % 2 ? `/v1/pets/${FIRST + (i % 50)}` : '/v1/pets?status=pending';
        reads.push(await exchange(service.url, { path, key }, agent));
      }
    }),
  ]);
  await holder.query('COMMIT');
  await holder.end();
  agent.destroy();
  const slowest = (outcomes: Outcome[]) => Math.round(Math.max(...outcomes.map(durationOf)));
  record(
    'One animal locked',
    [...locked, ...free, ...reads],
    `slowest ${slowest([...locked, ...free, ...reads])} ms`,
    `others' orders ${countStatuses(free)}, slowest ${slowest(free)} ms`,
    `reads ≤ ${slowest(reads)} ms, median ${median(reads.map(durationOf)).toFixed(1)} ms`,
  );
  expect(countStatuses(locked)).toBe(`503×${locked.length}`);
  expect(faultyOf(locked)).toEqual([]);
  expect(countStatuses(free)).toBe(`201×${free.length}`);
  expect(countStatuses(reads)).toBe(`200×${reads.length}`);
  expect(slowest([...locked, ...free])).toBeLessThan(PATIENCE_MS);
  expect(median(reads.map(durationOf))).toBeLessThan(100);
});
