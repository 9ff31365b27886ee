import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/testing/client.js';
import { createDatabase, query, startService } from '../../src/testing/service.js';
import { countMissing } from '../faults/support/fault.js';
import { ReadLoad, WriteLoad } from '../faults/support/load.js';
import { endRuns, eventually, newFolder, nodeStart, removeFolders, ROOT, Run } from '../support/npm.js';
import { Receiver } from '../support/receiver.js';

const ACCOUNT = { email: 'grace@example.com', password: 'correct horse battery' };
const BASIC = `Basic ${btoa(`${ACCOUNT.email}:${ACCOUNT.password}`)}`;

interface Request {
  method: string;
  path: string;
  authorization: string;
  key?: string;
  body?: object;
}

/** What a release was asked, and answered. */
interface Known {
  /** Keys that no later release lets in. */
  revoked: string[];
  /** May read animals, and nothing else; 1.0.0 knows no permissions. */
  limited?: string;
  writes: { request: Request; status: number; text: string }[];
  reads: { request: Request; body: unknown }[];
  /** Messages that have not been delivered. */
  queued: string[];
}

/** An earlier release does not keep to today's document, so its answers are not held against that. */
async function ask(api: string, { method, path, authorization, key, body }: Request) {
  const headers = {
    'Content-Type': 'application/json',
    ...(authorization && { Authorization: authorization }),
    ...(key && { 'Idempotency-Key': key }),
  };
  const answer = await fetch(api + path, { method, headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, text, body: text ? JSON.parse(text) : undefined };
}

/** Writes rows of every kind, each with an `Idempotency-Key` where there can be one, and reads what there is. */
async function fill(api: string): Promise<Known> {
  const basic = async (method: string, path: string, body?: object, authorization = BASIC) =>
    (await ask(api, { method, path, authorization, body })).body;
  await basic('POST', '/accounts', ACCOUNT, '');
  const newKey = (name: string, more = {}) => basic('POST', '/api-keys', { name, ...more });
  const { key } = await newKey('Kept', { expiresAt: '2999-01-01T00:00:00.000Z' });
  const bearer = `Bearer ${key}`;
  const gone = await newKey('Revoked');
  await basic('DELETE', `/api-keys/${gone.id}`);
  const known: Known = { revoked: [`Bearer ${gone.key}`], writes: [], reads: [], queued: [] };

  const write = async (method: string, path: string, body: object) => {
    const request = { method, path, authorization: bearer, key: `${known.writes.length}`, body };
    const { status, text, body: answer } = await ask(api, request);
    known.writes.push({ request, status, text });
    return answer;
  };
  const category = await write('POST', '/categories', { name: 'Axolotls 🐈' });
  const add = (status?: string) =>
    write('POST', '/pets', { name: 'Luna 🐈', categoryId: category.id, status });
  for (const status of [undefined, 'pending', 'sold']) await add(status);
  const orders: { id: number }[] = [];
  for (const changes of [[], ['approved'], ['approved', 'delivered'], ['cancelled']]) {
    const order = await write('POST', '/store/orders', { petId: (await add('available')).id });
    for (const status of changes) await write('PATCH', `/store/orders/${order.id}`, { status });
    orders.push(order);
  }
  const message = await write('POST', '/messages', { message: 'Is Luna still there? 🐈' });
  known.queued.push(message.id);
  // 1.0.0 knew neither permissions nor an end of accounts.
  known.limited = `Bearer ${(await newKey('Limited', { permissions: ['pets:read'] })).key}`;
  const closed = { email: 'ada@example.com', password: ACCOUNT.password };
  const authorization = `Basic ${btoa(`${closed.email}:${closed.password}`)}`;
  await basic('POST', '/accounts', closed, '');
  known.revoked.push(`Bearer ${(await basic('POST', '/api-keys', { name: 'Closed' }, authorization)).key}`);
  await basic('DELETE', '/accounts/current', undefined, authorization);

  const lists = ['/pets', '/pets?limit=3&status=sold', '/categories', '/store/orders?status=placed'];
  const single = [`/categories/${category.id}`, `/messages/${message.id}`];
  const ofOrders = orders.map(({ id }) => `/store/orders/${id}`);
  for (const path of [...lists, '/store/orders', ...single, ...ofOrders, '/api-keys']) {
    const request = { method: 'GET', path, authorization: path === '/api-keys' ? BASIC : bearer };
    known.reads.push({ request, body: (await ask(api, request)).body });
  }
  return known;
}

/** The program of a released package, with the packages of this checkout; its folder goes with those of `newFolder`. */
function unpack(file: string): string {
  const folder = newFolder();
  execFileSync('tar', ['-xzf', join(ROOT, 'released', file)], { cwd: folder });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  // Its pages and commands import packages that later releases do not need; its API does not use them.
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    if (existsSync(join(ROOT, 'node_modules', name))) continue;
    const standIn = join(folder, 'package/node_modules', name);
    mkdirSync(standIn, { recursive: true });
    writeFileSync(join(standIn, 'index.js'), '');
  }
  return join(folder, 'package/dist/src/main.js');
}

/** Expects all of it, and that no write happens twice: a retry is answered as before, or refused. */
async function expectAll(
  api: string,
  { limited, revoked, writes, reads, queued }: Known,
  receiver: Receiver,
): Promise<void> {
  const read = async () => {
    for (const { request, body } of reads)
      expect(without(await ask(api, request))).toMatchObject(without({ status: 200, body }));
  };
  await read();
  for (const { request, status, text } of writes) {
    const again = await ask(api, request);
    if (again.status < 400) expect(again).toMatchObject({ status, text });
    else expect([409, 422]).toContain(again.status);
  }
  await read();
  const list = (authorization: string) => ask(api, { method: 'GET', path: '/pets', authorization });
  for (const authorization of revoked) expect((await list(authorization)).status).toBe(401);
  if (limited) {
    const added = await ask(api, { method: 'POST', path: '/pets', authorization: limited, body: {} });
    expect([(await list(limited)).status, added.status]).toEqual([200, 403]);
  }
  for (const id of queued) await eventually(() => receiver.callsFor(id).length > 0);
}

/** Expects that no message was delivered again until the service had ended. */
function expectOnce({ queued }: Known): void {
  expect(queued.map((id) => receiver.callsFor(id).length)).toEqual(queued.map(() => 1));
}

/** An answer without what goes on: when a key was last used, and how far a message is. */
function without({ status, body }: { status: number; body: unknown }) {
  const text = JSON.stringify(body, (name, value) => (name === 'lastUsedAt' ? undefined : value));
  return { status, body: JSON.parse(text.replace(/"status":"(?:queued|delivered)",?/, '')) };
}

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterEach(endRuns);
afterAll(removeFolders);

test.each(['1.0.0', '1.1.0'])('The data of %s in a database stays in use', async (version) => {
  const kept = (name: string) => readFileSync(join(ROOT, 'released', name), 'utf8');
  const DATABASE_URL = await createDatabase();
  // By `pg_dump --inserts --no-owner`, of what `fill` had written with that release.
  await query(DATABASE_URL, kept(`data-${version}.sql`));
  // Answers are kept for a day.
  await query(DATABASE_URL, 'UPDATE idempotency_keys SET created_at = now()');
  const audit = () => query(DATABASE_URL, 'SELECT * FROM audit_log ORDER BY id LIMIT 100');
  // 1.0.0 kept no audit log.
  const before = version === '1.0.0' ? [] : await audit();
  const service = await startService({ DATABASE_URL, AUDIT_RETENTION_DAYS: '36500', ...receiver.env });
  expect((await audit()).slice(0, before.length)).toMatchObject(before);
  const known = JSON.parse(kept(`data-${version}.json`)) as Known;
  await expectAll(`${service.url}/v1`, known, receiver);
  expect(await service.stop()).toBe(0);
  expectOnce(known);
});

const packages = globSync('petstore-[0-9]*.tgz', { cwd: join(ROOT, 'released') });
test.each(packages)(
  'The data of %s in its embedded database stays in use, with the demo key',
  async (file) => {
    const program = [unpack(file)];
    const DATA_DIR = newFolder();
    const released = new Run(process.execPath, program, { DATA_DIR, LOG_LEVEL: 'warn' });
    const before = await released.ready();
    const known = await fill(before.api);
    await released.stop();

    const service = nodeStart({ DATA_DIR, LOG_LEVEL: 'warn', ...receiver.env });
    const after = await service.ready();
    expect([after.key, (await after.listPets()).status]).toEqual([before.key, 200]);
    await expectAll(after.api, known, receiver);
    await service.stop();
    expectOnce(known);
  },
);

test('2.0.0 serves a database beside this release under load, and alone after it', async () => {
  const env = { DATABASE_URL: await createDatabase(), ...receiver.env };
  const released = unpack('petstore-2.0.0.tgz');
  const former = await startService(env, released);
  const key = await createKey(former);
  const loads = [
    new WriteLoad(former.url, key, { clients: 4 }),
    new ReadLoad([former.url], key, { clients: 2 }),
  ];
  // It migrates while the former one serves.
  const later = await startService(env);
  const both = [former.url, later.url];
  loads.push(new WriteLoad(later.url, key, { clients: 4 }), new ReadLoad(both, key, { clients: 4 }));

  const authorization = `Bearer ${key}`;
  const pairs = await Promise.all(
    Array.from({ length: 20 }, (_none, i) => {
      const body = { name: `Rex ${i}`, categoryId: 1, status: 'available' };
      const request = { method: 'POST', path: '/pets', authorization, key: `both-${i}`, body };
      return Promise.all(both.map((url) => ask(`${url}/v1`, request)));
    }),
  );
  for (const [one, other] of pairs) expect(one).toEqual({ ...other, status: 201 });
  const walked: number[] = [];
  let next: string | undefined = '/v1/pets?limit=7&status=available';
  for (let i = 0; next; i++) {
    const page = await fetch(both[i % 2]! + next, { headers: { Authorization: authorization } });
    walked.push(...((await page.json()) as { id: number }[]).map(({ id }) => id));
    next = /<[^>]*?(\/v1\/[^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  expect(walked).toEqual([...new Set(walked)].toSorted((a, b) => a - b));
  expect(walked).toEqual(expect.arrayContaining(pairs.map(([one]) => one!.body.id)));

  await Promise.all(loads.map((load) => load.stop()));
  const outcomes = loads.flatMap((load) => load.outcomes);
  expect(outcomes.filter(({ status }) => status < 200 || status > 299)).toEqual([]);
  const written = outcomes.filter(({ method }) => method === 'POST');
  expect(await countMissing(env.DATABASE_URL, written)).toBe(0);
  const sent = written.filter(({ path }) => path === '/v1/messages').map(({ body }) => JSON.parse(body).id);
  await eventually(() => sent.every((id) => receiver.callsFor(id).length > 0));
  expect(sent.filter((id) => receiver.callsFor(id).length > 1)).toEqual([]);

  const known = await fill(`${later.url}/v1`);
  await expectAll(`${former.url}/v1`, known, receiver);
  expect(await later.stop()).toBe(0);
  await expectAll(`${former.url}/v1`, known, receiver);
  expect(await former.stop()).toBe(0);
  const again = await startService(env, released);
  await expectAll(`${again.url}/v1`, known, receiver);
  expect(await again.stop()).toBe(0);
  expectOnce(known);
  const logged = [former, later, again].flatMap((service) => service.output().split('\n'));
  const warnings = logged.filter((line) => /"level":"(?:warn|error|fatal)"/.test(line));
  // The jobs of later schedules, to which 2.0.0 pays no heed.
  expect(warnings.filter((line) => !line.includes('Nothing handles the jobs of sweep-'))).toEqual([]);
});
