import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createKey } from '../../src/testing/client.js';
import { Customer } from '../support/customer.js';
import { eventually, ROOT } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { Receiver } from '../support/receiver.js';
import { listening, query, type Service } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { record } from './support/figures.js';
import { Haproxy, hasHaproxy } from '../support/haproxy.js';
import { type Seen, SteadyLoad } from './support/steady.js';

/** `SOAK_MINUTES=60 npm run test:faults -- soak` watches it for an hour. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 2);
const MINUTE_MS = 60_000;
const LOG = join(process.env.FAULTS_FOLDER!, 'soak.log');
/** Memory is still growing into its size in the first minutes of a process. */
const WARM_UP_MINUTES = 5;
const TOLERANCE = 1.2;
/** With a client that asks for all that takes memory, it has its size after more of them. */
const SETTLED_MINUTES = 10;

if (!hasHaproxy) console.warn('The soak is skipped: no haproxy is installed.');

let database: DatabaseServer;
let receiver: Receiver;
beforeAll(async () => {
  [database, receiver] = await Promise.all([DatabaseServer.start(), Receiver.start()]);
});
afterAll(async () => {
  receiver.stop();
  await database.stop();
});

/** What the instances and the database hold at the end of a minute. */
interface Held {
  /** MB of each instance. */
  memory: number[];
  /** Of both instances. */
  handles: number;
  connections: number;
  /** MB of the database, and MB of the log so far. */
  database: number;
  log: number;
}

/** The memory of an instance in `deploy/k8s`, in MB, and the heap that Node takes there. */
const [MEMORY, HEAP] = [512, 268];

/** An instance, whose log goes to a file: an hour of it is too much to keep. */
function start(port: number): Promise<Service> {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP}`, join(ROOT, 'dist/src/main.js')], {
    env: {
      ...receiver.env,
      MALLOC_ARENA_MAX: '1',
      PATH: process.env.PATH,
      PORT: String(port),
      HOST: '127.0.0.1',
      TRUST_PROXY: '1',
      DATABASE_URL: database.url,
    },
    stdio: ['ignore', 'pipe', openSync(LOG, 'a')],
  });
  return listening(child as unknown as ChildProcessByStdio<null, Readable, null>, database.url);
}

async function held(instances: Service[]): Promise<Held> {
  const pids = instances.map(({ process: { pid } }) => pid!);
  const memoryOf = (pid: number) =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;
  const [row] = await query<{ connections: number; size: number }>(
    database.url,
    `SELECT (pg_database_size(current_database()) / 1048576)::int AS size,
       (SELECT count(*)::int FROM pg_stat_activity WHERE application_name LIKE 'petstore%') AS connections`,
  );
  return {
    memory: pids.map(memoryOf),
    handles: pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
    connections: row!.connections,
    database: row!.size,
    log: statSync(LOG).size / 1_048_576,
  };
}

function tell(minute: number, seen: Seen, now: Held): void {
  const figures = [
    `${seen.requests} requests, p50 ${seen.p50.toFixed(1)} ms, p99 ${seen.p99.toFixed(1)} ms`,
    `RSS ${now.memory.map(Math.round).join(' and ')} MB, ${now.handles} handles, ${now.connections} connections`,
    `database ${now.database.toFixed(0)} MB, log ${now.log.toFixed(1)} MB`,
  ];
  process.stdout.write(`minute ${minute}: ${figures.join('; ')}\n`);
}

(hasHaproxy ? test : test.skip)(
  'Nothing fails, is lost or grows while two instances serve for minutes and are restarted in the middle of them',
  async () => {
    const [proxyPort, ...ports] = await freePorts(3);
    const instances = [await start(ports[0]!), await start(ports[1]!)];
    const key = await createKey(instances[0]!);
    const proxy = await (await Haproxy.start(proxyPort!, ports)).untilReady();
    const load = new SteadyLoad(proxy.url, key);
    const all: { seen: Seen; now: Held }[] = [];
    for (let minute = 1; minute <= MINUTES; minute++) {
      const end = performance.now() + MINUTE_MS;
      if (minute === Math.ceil(MINUTES / 2) + 1) {
        for (const [i, port] of ports.entries()) {
          expect(await instances[i]!.stop()).toBe(0);
          instances[i] = await start(port);
          await sleep(2_000);
        }
      }
      await sleep(end - performance.now());
      const [seen, now] = [load.take(), await held(instances)];
      tell(minute, seen, now);
      all.push({ seen, now });
    }
    await load.stop();
    const failures = [...all.map(({ seen }) => seen.failures), load.take().failures];
    const missing = await countMissing(load.made);
    await eventually(async () => (await undelivered()) === 0, MINUTE_MS);
    await proxy.stop();
    await Promise.all(instances.map((instance) => instance.stop()));
    const requests = all.reduce((sum, { seen }) => sum + seen.requests, 0);
    record({
      fault: `${MINUTES} minutes, two instances, each restarted`,
      statuses: `${requests} requests, ${failures.flatMap(Object.values).length} kinds of failure`,
      missing,
      beside: `RSS ${all.at(-1)!.now.memory.map(Math.round).join(' and ')} MB, log ${all.at(-1)!.now.log.toFixed(0)} MB`,
    });
    expect(failures.flatMap(Object.entries)).toEqual([]);
    expect(missing).toBe(0);
    expectFlat(all.map(({ now }) => now));
  },
  (MINUTES + 3) * MINUTE_MS,
);

test(
  'Three clients see no failure and lose no write, and nothing grows, while a fourth client misbehaves in every way',
  async () => {
    const [port] = await freePorts(1);
    const instance = await start(port!);
    const customer = await Customer.of(instance);
    const { id } = await customer.orderAt('delivered');
    const loads: SteadyLoad[] = [];
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4'])
      loads.push(new SteadyLoad(instance.url, await createKey(instance), address));
    const program = fileURLToPath(new URL('./support/misbehave.js', import.meta.url));
    const args = [program, instance.url, customer.key, '127.0.0.9', String(id)];
    const bad = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const all: Held[] = [];
    const failures: Record<string, number>[] = [];
    for (let minute = 1; minute <= MINUTES; minute++) {
      await sleep(MINUTE_MS);
      const now = await held([instance]);
      all.push(now);
      for (const load of loads) {
        const seen = load.take();
        failures.push(seen.failures);
        tell(minute, seen, now);
      }
    }
    expect(bad.exitCode).toBeNull();
    bad.kill();
    await Promise.all(loads.map((load) => load.stop()));
    failures.push(...loads.map((load) => load.take().failures));
    const missing = await Promise.all(loads.map(({ made }) => countMissing(made)));
    expect(instance.process.exitCode).toBeNull();
    expect(await instance.stop()).toBe(0);
    record({
      fault: `${MINUTES} minutes beside a client that misbehaves`,
      statuses: `${failures.flatMap(Object.values).length} kinds of failure`,
      missing: missing.reduce((sum, one) => sum + one, 0),
      beside: `RSS ${all.map(({ memory }) => Math.round(memory[0]!)).join(' ')} MB`,
    });
    expect(failures.flatMap(Object.entries)).toEqual([]);
    expect(missing).toEqual([0, 0, 0]);
    expect(Math.max(...all.map(({ memory }) => memory[0]!))).toBeLessThan(MEMORY);
    // What the client does in a minute, and so what it takes, differs from that of the next.
    const mean = (some: Held[]) => some.reduce((sum, { memory }) => sum + memory[0]!, 0) / some.length;
    const settled = all.slice(SETTLED_MINUTES / 2, SETTLED_MINUTES);
    if (all.length > SETTLED_MINUTES)
      expect(mean(all.slice(-settled.length))).toBeLessThan(mean(settled) * 1.1);
  },
  (MINUTES + 3) * MINUTE_MS,
);

/** How many of what was acknowledged the database does not hold. */
async function countMissing(made: Record<string, string[]>): Promise<number> {
  const tables = { '/v1/pets': 'pets', '/v1/store/orders': 'orders', '/v1/messages': 'messages' };
  const missing = await Promise.all(
    Object.entries(tables).map(async ([path, table]) => {
      const ids = made[path]!;
      expect(ids.length).toBeGreaterThan(100);
      const sql = `SELECT count(*)::int AS found FROM ${table} WHERE id::text = ANY($1)`;
      return ids.length - (await query<{ found: number }>(database.url, sql, [ids]))[0]!.found;
    }),
  );
  return missing.reduce((sum, count) => sum + count, 0);
}

async function undelivered(): Promise<number> {
  const sql = `SELECT count(*)::int AS left FROM messages WHERE status <> 'delivered'`;
  return (await query<{ left: number }>(database.url, sql))[0]!.left;
}

/** Of the last processes, once they are warm. */
function expectFlat(all: Held[]): void {
  const warm = all.slice(Math.ceil(all.length / 2) + WARM_UP_MINUTES);
  if (warm.length < 2) return;
  const [first, last] = [warm[0]!, warm.at(-1)!];
  expect(Math.max(...last.memory)).toBeLessThan(Math.max(...first.memory) * TOLERANCE);
  expect(last.handles).toBeLessThan(first.handles * TOLERANCE);
  expect(last.connections).toBeLessThan(first.connections * TOLERANCE);
}
