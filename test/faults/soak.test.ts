import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createKey } from '../../src/testing/client.js';
import { Customer } from '../support/customer.js';
import { ROOT } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { Receiver } from '../support/receiver.js';
import { listening, query, type Service } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { record } from './support/figures.js';
import { type Seen, SteadyLoad } from './support/steady.js';

/** `SOAK_MINUTES=60 npm run test:faults -- soak` watches it for an hour. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 2);
const MINUTE_MS = 60_000;
const LOG = join(process.env.FAULTS_FOLDER!, 'soak.log');
/** With a client that asks for all that takes memory, it has its size after more of them. */
const SETTLED_MINUTES = 10;

let database: DatabaseServer;
let receiver: Receiver;
beforeAll(async () => {
  [database, receiver] = await Promise.all([DatabaseServer.start(), Receiver.start()]);
});
afterAll(async () => {
  receiver.stop();
  await database.stop();
});

/** What the instance holds at the end of a minute; its memory in MB. */
interface Held {
  memory: number;
  handles: number;
  connections: number;
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

async function held({ process: { pid } }: Service): Promise<Held> {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  const sql = `SELECT FROM pg_stat_activity WHERE application_name LIKE 'petstore%'`;
  return {
    memory: Math.round(Number(kilobytes) / 1_024),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    connections: (await query(database.url, sql)).length,
  };
}

function tell(minute: number, seen: Seen, { memory, handles, connections }: Held): void {
  const served = `${seen.requests} requests, p50 ${seen.p50.toFixed(1)} ms, p99 ${seen.p99.toFixed(1)} ms`;
  const holds = `RSS ${memory} MB, ${handles} handles, ${connections} connections`;
  process.stdout.write(`minute ${minute}: ${served}; ${holds}\n`);
}

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
      const now = await held(instance);
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
    record(
      `${MINUTES} minutes beside a client that misbehaves`,
      [],
      `${failures.flatMap(Object.values).length} kinds of failure`,
      `${missing.reduce((sum, one) => sum + one, 0)} missing`,
      `RSS ${all.map(({ memory }) => memory).join(' ')} MB`,
    );
    expect(failures.flatMap(Object.entries)).toEqual([]);
    expect(missing).toEqual([0, 0, 0]);
    expect(Math.max(...all.map(({ memory }) => memory))).toBeLessThan(MEMORY);
    // What the client does in a minute, and so what it takes, differs from that of the next.
    const mean = (some: Held[]) => some.reduce((sum, { memory }) => sum + memory, 0) / some.length;
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
