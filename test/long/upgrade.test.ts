import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, query, startService } from '../../src/testing/service.js';
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
    const folder = mkdtempSync(join(tmpdir(), 'petstore-released-'));
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
    const DATA_DIR = newFolder();
    const program = [join(folder, 'package/dist/src/main.js')];
    const released = new Run(process.execPath, program, { DATA_DIR, LOG_LEVEL: 'warn' });
    const before = await released.ready();
    const known = await fill(before.api);
    await released.stop();
    rmSync(folder, { recursive: true });

    const service = nodeStart({ DATA_DIR, LOG_LEVEL: 'warn', ...receiver.env });
    const after = await service.ready();
    expect([after.key, (await after.listPets()).status]).toEqual([before.key, 200]);
    await expectAll(after.api, known, receiver);
    await service.stop();
    expectOnce(known);
  },
);
