import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { doctor } from '../support/commands.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { DatabaseServer } from './support/database-server.js';
import { durationOf, PATIENCE_MS } from './support/fault.js';
import { countStatuses, record } from './support/figures.js';
import { exchange, type Outcome, ReadLoad } from './support/load.js';

const CLIENTS = 32;
const LAG_S = 10;
const FAULT_MS = 2_000;
/** Lists that are asked for one after another. */
const LISTS = 20;

let primary: DatabaseServer;
let current: DatabaseServer;
let lagging: DatabaseServer;
let key: string;
const services: Service[] = [];
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  primary = await DatabaseServer.start();
  const first = await startService({ DATABASE_URL: primary.url });
  key = await createKey(first);
  await first.stop();
  // One after the other: a copy starts with a checkpoint, which removes log that another copy may still need.
  current = await DatabaseServer.follow(primary);
  lagging = await DatabaseServer.follow(primary, [`recovery_min_apply_delay = '${LAG_S}s'`]);
});
afterEach(() => Promise.all(services.splice(0).map((service) => service.stop())));
afterAll(async () => {
  agent.destroy();
  await Promise.all([current, lagging].map((replica) => replica?.stop()));
  await primary.stop();
});

async function startTwo(...replicas: DatabaseServer[]): Promise<void> {
  const urls = replicas.map(({ url }) => url).join();
  await Promise.all([start(urls, { ROLE: 'api' }), start(urls, { ROLE: 'api' })]);
  await sleep(500);
}

async function start(replicas: string, env: Record<string, string>): Promise<Service> {
  const service = await startService({ DATABASE_URL: primary.url, DATABASE_REPLICA_URLS: replicas, ...env });
  services.push(service);
  return service;
}

/** How often a server has used an index on animals: once for each page. */
const countPages = (server: DatabaseServer) =>
  counted(
    server,
    `SELECT sum(pg_stat_get_numscans(indexrelid)) AS count FROM pg_index WHERE indrelid = 'pets'::regclass`,
  );

const countScans = (server: DatabaseServer) =>
  counted(
    server,
    `SELECT seq_scan + idx_scan AS count FROM pg_stat_user_tables WHERE relname = 'categories'`,
  );

const countRefusals = (server: DatabaseServer) =>
  counted(server, 'SELECT xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()');

async function counted({ url }: DatabaseServer, sql: string): Promise<number> {
  // A server session publishes its counts at most a second after it has ended a transaction.
  await sleep(1_500);
  return Number((await query<{ count: string }>(url, sql))[0]!.count);
}

/** Waits until the current replica reads categories for a request. */
const untilRead = (read: () => Promise<number>) =>
  eventually(async () => {
    const before = await countScans(current);
    await read();
    return (await countScans(current)) > before;
  });

/** The scans of categories since, by the replica and by the primary, once there are as many as expected. */
async function scansSince(before: number[], count: number): Promise<number[]> {
  let scans: number[] = [];
  // An idle session publishes its counts after up to ten seconds.
  await eventually(async () => {
    const after = await Promise.all([current, primary].map(countScans));
    scans = after.map((all, i) => all - before[i]!);
    return scans[0]! + scans[1]! >= count;
  });
  return scans;
}

/** Runs `work`, and returns the share of the pages read meanwhile that a replica has read, from 0 to 1. */
async function shareOf(replica: DatabaseServer, work: () => Promise<unknown>): Promise<number> {
  const count = () => Promise.all([replica, primary].map(countPages));
  const before = await count();
  await work();
  const after = await count();
  const [byReplica, byPrimary] = after.map((pages, i) => pages - before[i]!);
  return byReplica! / (byReplica! + byPrimary!);
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Adds an animal through one instance and lists it through the other at once; returns what the list did not have. */
async function writeThenRead(i: number): Promise<Outcome[]> {
  const [writer, reader] = i % 2 ? [services[0]!, services[1]!] : [services[1]!, services[0]!];
  const body = { name: `Pair ${i}`, categoryId: 1 };
  const written = await exchange(writer.url, { method: 'POST', path: '/v1/pets', key, body }, agent);
  const { id } = JSON.parse(written.body);
  const read = await exchange(reader.url, { path: `/v1/pets?ids=${id}`, key }, agent);
  return read.status === 200 && JSON.parse(read.body)[0]?.id === id ? [] : [read];
}

async function stalePairs(count: number): Promise<Outcome[]> {
  let next = 0;
  const stale: Outcome[] = [];
  const client = async () => {
    while (next < count) stale.push(...(await writeThenRead(next++)));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return stale;
}

const readOn = () =>
  new ReadLoad(
    services.map(({ url }) => url),
    key,
  );

test.each([
  ['lags by ten seconds', 10_000, () => lagging],
  ['is current', 3_000, () => current],
])('A list shows the earlier writes of another instance when the replica %s', async (name, pairs, one) => {
  await startTwo(one());
  let stale: Outcome[] = [];
  const share = await shareOf(one(), async () => (stale = await stalePairs(pairs)));
  record(
    `Replica ${name}`,
    [],
    `${stale.length} of ${pairs} reads right after a write stale; ${percent(share)} by the replica`,
  );
  expect(stale).toEqual([]);
  // A busy machine may keep a current replica behind for more than a moment.
  if (one() === current) expect(share).toBeGreaterThan(0.3);
  else expect(share).toBeLessThan(0.05);
});

test('Lists are read from a current replica', async () => {
  await startTwo(current);
  const share = await shareOf(current, async () => {
    const reading = readOn();
    await sleep(2_000);
    await reading.stop();
  });
  record('None', [], `${percent(share)} of lists by the replica`);
  expect(share).toBeGreaterThan(0.9);
});

test('A replica that refuses a statement is asked for the next list too, and the primary answers', async () => {
  // Sessions that find no table.
  const service = await start(`${current.url}?options=-c%20search_path%3Dnone`, { ROLE: 'api' });
  // On a busy machine a new connection may come too late, after which the replica is not used for a moment.
  await eventually(async () => {
    const before = await countRefusals(current);
    for (let i = 0; i < LISTS; i++)
      expect((await exchange(service.url, { path: '/v1/pets', key }, agent)).status).toBe(200);
    return (await countRefusals(current)) - before === LISTS;
  });
});

test('A wait for a connection to the replica, which other lists hold, is no failure of the replica', async () => {
  const slow = await Proxy.start(current.url);
  const service = await start(slow.url, { DATABASE_POOL_SIZE: '1', ROLE: 'api' });
  const read = async (path: string) => (await exchange(service.url, { path, key }, agent)).status;
  await untilRead(() => read('/v1/categories'));
  // Of twenty lists at once, the last wait for longer than a replica has to answer.
  slow.delay(8);
  // A replica that falls behind for a moment is not used either.
  await eventually(async () => {
    const before = await Promise.all([current, primary].map(countScans));
    for (let round = 0; round < 5; round++) {
      const different = Array.from({ length: 20 }, (_, i) => read(`/v1/pets?limit=${i + 1}`));
      expect(new Set(await Promise.all(different))).toEqual(new Set([200]));
      expect(await read('/v1/categories')).toBe(200);
    }
    return (await scansSince(before, 5))[0] === 5;
  }, 60_000);
  slow.stop();
}, 90_000);

test('A primary that does not tell its position is no failure of the replica, which is read as soon as it does', async () => {
  const between = await Proxy.start(primary.url);
  const service = await start(current.url, { DATABASE_URL: between.url, ROLE: 'api' });
  const read = async () => (await exchange(service.url, { path: '/v1/categories', key }, agent)).status;
  await untilRead(read);
  const before = await Promise.all([current, primary].map(countScans));
  // A key that was just looked up needs no primary.
  expect(await read()).toBe(200);
  between.stop();
  expect(await read()).toBe(503);
  // A replica that is not used is asked again after growing pauses: after this time, of two seconds.
  await sleep(3_500);
  await between.mend();
  await eventually(async () => (await read()) === 200);
  for (let i = 1; i < LISTS; i++) expect(await read()).toBe(200);
  expect((await scansSince(before, LISTS))[1]).toBe(0);
  between.stop();
});

test.each([
  ['killed', () => current.kill(), () => current.restart()],
  ['frozen', () => current.freeze(), () => current.thaw()],
])(
  'No list fails while its replica is %s, and the service uses the replica again afterwards',
  async (name, begin, end) => {
    await startTwo(current);
    const reading = readOn();
    await sleep(1_000);
    await begin();
    await sleep(FAULT_MS);
    await end();
    await sleep(FAULT_MS);
    const share = await shareOf(current, () => sleep(1_000));
    await reading.stop();
    const slowest = Math.round(Math.max(...reading.outcomes.map(durationOf)));
    record(
      `Replica ${name}`,
      reading.outcomes,
      `slowest ${slowest} ms`,
      `then ${percent(share)} of lists by the replica`,
    );
    expect(countStatuses(reading.outcomes)).toBe(`200×${reading.outcomes.length}`);
    expect(slowest).toBeLessThan(PATIENCE_MS);
    expect(share).toBeGreaterThan(0.8);
  },
);

test('A service starts while its replicas are away, and does not use a server that is not a replica of its database', async () => {
  const stranger = await DatabaseServer.start();
  const away = 'postgresql://nobody@127.0.0.1:1/petstore';
  const service = await start(`${away},${stranger.url}`, {});
  await sleep(5_000);
  const { status } = await exchange(service.url, { path: '/v1/pets', key }, agent);
  await stranger.stop();
  expect(status).toBe(200);
  expect(service.output()).toMatch(/127\.0\.0\.1:1 is not used for now/);
  expect(service.output()).toContain(
    `${new URL(stranger.url).host} is not used for now: it holds another database`,
  );
});

test('The doctor names replicas that lag, also one that is cut off from the primary', async () => {
  const hostOf = ({ url }: DatabaseServer) => new URL(url).host;
  const env = {
    DATABASE_URL: primary.url,
    DATABASE_REPLICA_URLS: [current, lagging].map(({ url }) => url).join(),
  };
  const findLagging = async () => {
    await query(primary.url, 'CREATE TABLE written (); DROP TABLE written');
    const { stdout } = await doctor(env);
    return Array.from(stdout.matchAll(/^PROBLEM  replicas: (\S+) lags/gm), ([, host]) => host);
  };
  expect(await findLagging()).toEqual([hostOf(lagging)]);
  const [was] = await query<{ primary_conninfo: string }>(current.url, 'SHOW primary_conninfo');
  const lead = async (to: string) => {
    await query(current.url, `ALTER SYSTEM SET primary_conninfo = '${to.replaceAll("'", "''")}'`);
    await query(current.url, 'SELECT pg_reload_conf()');
  };
  await lead('host=127.0.0.1 port=1');
  const receivers = async () => (await query(current.url, 'SELECT FROM pg_stat_wal_receiver')).length;
  await eventually(async () => (await receivers()) === 0);
  expect(await findLagging()).toEqual([current, lagging].map(hostOf));
  await lead(was!.primary_conninfo);
  await eventually(async () => (await receivers()) === 1);
});
