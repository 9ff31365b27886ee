import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, createKey } from '../../src/testing/client.js';
import { eventually } from '../support/npm.js';
import { type Behaviour, Receiver } from '../support/receiver.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { Proxy } from '../support/proxy.js';
import { DatabaseServer } from './support/database-server.js';
import { countStatuses, record } from './support/figures.js';
import { exchange, type Outcome } from './support/load.js';

const MESSAGES = 10_000;
const CLIENTS = 16;
const WORKERS = 3;
const KILLS = 20;
const BETWEEN_KILLS_MS = 1_000;
/** Messages that wait before their workers start, and one of how many has a single try. */
const BACKLOG = 4_000;
const SINGLE_TRY = 10;
const KILLS_OF_BACKLOG = 4;
/** Milliseconds that a receiver takes to answer, and in which its answer is recorded on a busy machine. */
const ANSWER_MS = 200;
const RECORDED_MS = 1_500;

let database: DatabaseServer;

beforeAll(async () => {
  database = await DatabaseServer.start();
});
afterAll(() => database.stop());

test('No message is lost or stuck while workers are killed with -9 and the receiver fails a third of its calls', async () => {
  const taken = new Map<string, number[]>();
  const receiver = await Receiver.start(failing(taken));
  const env = { ...receiver.env, DATABASE_URL: database.url, MESSAGES_RETRY_MAX_SECONDS: '2' };
  const api = await startService({ ...env, ROLE: 'api' });
  const workers = new Workers({ ...env, ROLE: 'worker' });
  await workers.start();
  const [outcomes] = await Promise.all([
    submitAll(api.url, await createKey(api), MESSAGES),
    workers.killAll(),
  ]);
  const killed = performance.now();
  await eventually(async () => (await countQueued()) === 0, 300_000);
  const settledS = (performance.now() - killed) / 1_000;
  const ids = outcomes.map(({ body }) => (JSON.parse(body) as { id: string }).id);
  const lost = ids.filter((id) => !taken.has(id)).length;
  const repeated = [...taken.values()].filter(({ length }) => length > 1).length;
  const delays = await delaysOf(taken);
  expect(await Promise.all([api.stop(), ...workers.stop()])).toEqual([0, 0, 0, 0]);
  receiver.stop();
  record(
    `Workers killed ${KILLS} times`,
    outcomes,
    `recovered in ${settledS.toFixed(2)} s; ${outcomes.length} acknowledged; ${lost} missing`,
    `stuck 0; ${receiver.calls.length} calls, ${repeated} messages taken twice; ` +
      `delay p50 ${quantile(delays, 0.5)} s, p99 ${quantile(delays, 0.99)} s`,
  );
  expect(countStatuses(outcomes)).toBe(`202×${MESSAGES}`);
  expect([new Set(ids).size, lost]).toEqual([MESSAGES, 0]);
  // Only those that were under way when their worker was killed, at most 400 each time.
  expect(repeated).toBeLessThan(KILLS * 400);
  expect(await query(database.url, 'SELECT status, count(*)::int FROM messages GROUP BY status')).toEqual([
    { status: 'delivered', count: MESSAGES },
  ]);
  expect(await query(database.url, `SELECT id FROM pgboss.job WHERE name = 'messages'`)).toEqual([]);
}, 600_000);

test.each<[what: string, kill: (workers: Workers, i: number) => Promise<void>, cutsOff: boolean]>([
  ['workers', (workers, i) => workers.killOne(i % WORKERS), true],
  ['the whole service', (workers) => workers.killAtOnce(), true],
  ['the database', () => database.kill().then(() => database.restart()), false],
])(
  'A backlog is delivered through kills of %s: a message is repeated only if its try was cut off, and none is left queued',
  async (what, kill, cutsOff) => {
    const receiver = await Receiver.start(() => sleep(ANSWER_MS, { status: 200 }));
    const env = { ...receiver.env, DATABASE_URL: database.url, MESSAGES_CONCURRENCY: '50' };
    const api = await startService({ ...env, ROLE: 'api' });
    const outcomes = await submitAll(api.url, await createKey(api), BACKLOG);
    const ids = outcomes.map(({ body }) => (JSON.parse(body) as { id: string }).id);
    expect(await api.stop()).toBe(0);
    const once = ids.filter((_, i) => i % SINGLE_TRY === 0);
    await query(database.url, 'UPDATE pgboss.job SET retry_limit = 0 WHERE id = ANY($1)', [once]);
    const workers = new Workers(env);
    await workers.start();
    const kills: number[] = [];
    for (let i = 0; i < KILLS_OF_BACKLOG; i++) {
      await sleep(BETWEEN_KILLS_MS);
      kills.push(Date.now());
      await kill(workers, i);
    }
    const killed = performance.now();
    const left = await countQueued();
    await eventually(async () => (await countQueued()) === 0, 240_000);
    const settledS = (performance.now() - killed) / 1_000;
    expect(await Promise.all(workers.stop())).toEqual([0, 0, 0]);
    receiver.stop();
    const failed = await failedOf(ids);
    const wasCut = ({ at }: { at: number }) =>
      cutsOff && kills.some((time) => time > at - 100 && time < at + ANSWER_MS + RECORDED_MS);
    const calls = ids.map((id) => receiver.callsFor(id));
    const repeated = calls.filter(({ length }) => length > 1);
    const missing = ids.filter((id, i) => calls[i]!.length === 0 && !failed.includes(id));
    record(
      `Kills of ${what} in a backlog`,
      outcomes,
      `recovered in ${settledS.toFixed(2)} s; ${outcomes.length} acknowledged; ${missing.length} missing`,
      `${left} queued after the last kill; ${repeated.length} taken twice`,
      `${failed.length} of ${once.length} with a single try failed`,
    );
    expect(countStatuses(outcomes)).toBe(`202×${BACKLOG}`);
    expect(left).toBeLessThan(BACKLOG);
    expect(failed.filter((id) => !once.includes(id))).toEqual([]);
    expect(missing).toEqual([]);
    expect(repeated.filter((all) => !all.slice(0, -1).every(wasCut))).toEqual([]);
    expect(once.filter((_, i) => calls[i * SINGLE_TRY]!.length > 1)).toEqual([]);
    const unfinished = `SELECT id FROM pgboss.job WHERE name IN ('messages', '__failed-jobs') AND state <> 'failed'`;
    expect(await query(database.url, unfinished)).toEqual([]);
  },
  480_000,
);

async function failedOf(ids: string[]): Promise<string[]> {
  const sql = `SELECT id FROM messages WHERE id = ANY($1) AND status = 'failed'`;
  return (await query<{ id: string }>(database.url, sql, [ids])).map(({ id }) => id);
}

/** Accepts two of three calls, and keeps the times; the others fail as receivers in trouble do. */
function failing(taken: Map<string, number[]>): Behaviour {
  return ({ id, at }) => {
    const luck = Math.random();
    if (luck < 1 / 9) return { status: 503 };
    if (luck < 2 / 9) return { status: 500, headers: { 'Retry-After': '1' } };
    if (luck < 1 / 3) return { status: 200, rest: (response) => void response.destroy() };
    taken.set(id, [...(taken.get(id) ?? []), at]);
    return { status: 200 };
  };
}

class Workers {
  private services: Service[] = [];

  constructor(private readonly env: Record<string, string>) {}

  async start(): Promise<void> {
    this.services = await Promise.all(Array.from({ length: WORKERS }, () => startService(this.env)));
  }

  async killAll(): Promise<void> {
    for (let i = 0; i < KILLS; i++) {
      await sleep(BETWEEN_KILLS_MS);
      await this.killOne(i % WORKERS);
    }
  }

  async killOne(i: number): Promise<void> {
    this.services[i]!.process.kill('SIGKILL');
    this.services[i] = await startService(this.env);
  }

  async killAtOnce(): Promise<void> {
    for (const { process } of this.services) process.kill('SIGKILL');
    await this.start();
  }

  stop(): Promise<number | null>[] {
    return this.services.map((service) => service.stop());
  }
}

async function submitAll(url: string, key: string, count: number): Promise<Outcome[]> {
  const agent = new Agent({ keepAlive: true });
  const outcomes: Outcome[] = [];
  const left = Array.from({ length: count }, (_, i) => `Message ${i}`);
  const work = async () => {
    for (let message = left.pop(); message; message = left.pop()) {
      outcomes.push(
        await exchange(url, { method: 'POST', path: '/v1/messages', key, body: { message } }, agent),
      );
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  agent.destroy();
  return outcomes;
}

async function countQueued(): Promise<number> {
  const sql = `SELECT count(*)::int FROM messages WHERE status = 'queued'`;
  return (await query<{ count: number }>(database.url, sql))[0]!.count;
}

/** Seconds from a message's acceptance to its first arrival. */
async function delaysOf(taken: Map<string, number[]>): Promise<number[]> {
  const rows = await query<{ id: string; at: Date }>(
    database.url,
    'SELECT id, created_at AS at FROM messages',
  );
  return rows.flatMap(({ id, at }) => (taken.has(id) ? [(taken.get(id)![0]! - at.getTime()) / 1_000] : []));
}

function quantile(values: number[], q: number): string {
  return (values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? 0).toFixed(2);
}

test('A message whose worker is killed in the middle of its delivery is taken over within 60 seconds', async () => {
  const receiver = await Receiver.start((_call, nth) =>
    nth === 1 ? new Promise(() => {}) : { status: 200 },
  );
  const env = { ...receiver.env, DATABASE_URL: database.url };
  const first = await startService(env);
  const key = await createKey(first);
  const agent = new Agent();
  const submission = { method: 'POST', path: '/v1/messages', key, body: { message: 'Last words' } };
  const { body } = await exchange(first.url, submission, agent);
  const { id } = JSON.parse(body) as { id: string };
  await eventually(() => receiver.callsFor(id).length === 1);
  const second = await startService(env);
  first.process.kill('SIGKILL');
  const killed = performance.now();
  await eventually(() => receiver.callsFor(id).length === 2, 60_000);
  const seconds = (performance.now() - killed) / 1_000;
  const path = `/v1/messages/${id}`;
  const status = async () =>
    (JSON.parse((await exchange(second.url, { path, key }, agent)).body) as { status: string }).status;
  await eventually(async () => (await status()) === 'delivered', 2_000);
  expect(await second.stop()).toBe(0);
  receiver.stop();
  record('Worker killed in a delivery', [], `recovered in ${seconds.toFixed(2)} s`);
  expect(seconds).toBeLessThan(60);
}, 90_000);

test('A message is delivered within ten seconds after the database freezes and its address leads to another server', async () => {
  const proxy = await Proxy.start(database.url);
  const receiver = await Receiver.start();
  const service = await startService({ ...receiver.env, DATABASE_URL: proxy.url });
  const key = await createKey(service);
  const submit = async (message: string) =>
    (await call(service, 'POST', '/v1/messages', { key, body: { message } })).body.id as string;
  const arrives = (id: string) => eventually(() => receiver.callsFor(id).length > 0, 10_000);
  await arrives(await submit('Before'));
  proxy.strand();
  await eventually(async () => (await call(service, 'GET', '/v1/pets', { key })).status === 200);
  await arrives(await submit('After'));
  expect(await service.stop()).toBe(0);
  proxy.stop();
  receiver.stop();
}, 90_000);
