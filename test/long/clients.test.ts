import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { releases } from '../../released/release.js';
import { createKey } from '../../src/testing/client.js';
import { query, sharedService } from '../../src/testing/service.js';
import { ClientPackage } from '../support/client-package.js';
import { endRuns, removeFolders, ROOT } from '../support/npm.js';
import { type Fault, refusal, Unsteady } from '../support/unsteady.js';

const run = promisify(execFile);
const node = (...args: string[]) => run(process.execPath, args, { cwd: ROOT });
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const service = sharedService();
let key: string;

beforeAll(async () => (key = await createKey(service)));
afterAll(async () => {
  endRuns();
  await removeFolders();
});

describe('The package of the TypeScript client', () => {
  let client: ClientPackage;
  let createClient: Awaited<ReturnType<ClientPackage['load']>>['createClient'];
  let unsteady: Unsteady;
  beforeAll(async () => {
    client = await ClientPackage.build();
    ({ createClient } = await client.load());
    unsteady = await Unsteady.before(service.url);
  });
  afterAll(() => unsteady.stop());

  /** A client whose requests meet these faults, one each. */
  const storeWith = (
    faults: Fault[],
    options: { key?: string | undefined; tries?: number; timeoutMs?: number } = {},
  ) => {
    unsteady.faults = faults;
    unsteady.seen.length = 0;
    return createClient({ baseUrl: `${unsteady.url}/v1`, key, ...options });
  };
  const busy = refusal(503, 'service_unavailable', 1);

  test('is packed with its code and types, the licence and the README, and nothing else', async () => {
    const modules = globSync('*.ts', { cwd: join(ROOT, 'clients/typescript/src'), exclude: ['*.d.ts'] });
    const built = modules.flatMap((name) => [name.replace(/ts$/, 'js'), name.replace(/ts$/, 'd.ts')]);
    const dist = [...built, 'schema.d.ts'].map((name) => `dist/${name}`);
    expect(await client.files()).toEqual(['LICENSE', 'README.md', ...dist, 'package.json'].toSorted());
  });

  test('does what its README shows, in plain JavaScript, and compiles in strict TypeScript', async () => {
    const sample = /```ts\n(.*?)```/s.exec(read('clients/typescript/README.md'))![1]!;
    const here = sample.replace('http://localhost:3000', service.url);
    expect(await client.run(here, { API_KEY: key })).toMatch(
      /^Added Luna\.\nLuna is available\.\n400 pet_not_found \S.*\n$/,
    );
    await client.compile(sample);
  });

  test('accepts and returns the types of the document, and nothing else', async () => {
    await client.compile(`
      import { createClient, type Int64, type Schemas } from 'petstore-client';
      const store = createClient({ baseUrl: '' });
      const { data } = await store.POST('/pets', { body: { name: 'Luna', categoryId: 1n } });
      const pet: Schemas['Pet'] = data;
      const id: Int64 = pet.id;
      await store.GET('/pets', { params: { query: { ids: [1, 2n] } }, signal: AbortSignal.timeout(1) });
      for await (const page of store.pages('/store/orders')) page satisfies Schemas['Order'][];
      (await store.DELETE('/api-keys/current')).data satisfies undefined;
      // @ts-expect-error
      pet.name satisfies number;
      // @ts-expect-error
      id satisfies number;
      // @ts-expect-error
      await store.GET('/cats');
      // @ts-expect-error
      await store.PUT('/pets');
      // @ts-expect-error
      await store.POST('/pets');
      // @ts-expect-error
      await store.POST('/pets', { body: { name: 1, categoryId: 1 } });
      // @ts-expect-error
      await store.GET('/store/orders/{orderId}');
      // @ts-expect-error
      store.pages('/accounts/current');
    `);
  });

  test('goes from nothing to a list in its quickstart', async () => {
    const { stdout } = await node('examples/typescript/quickstart.ts', `${service.url}/v1`);
    expect(stdout).toBe('Added Luna.\nLuna is available.\n');
    await node('node_modules/typescript/bin/tsc', '--project', 'examples/typescript');
  });

  test('follows no redirect in a browser, which hides the target, nor a redirect that its fetch has followed', async () => {
    const seenBy = (answer: object) => {
      const response = Object.defineProperties(Response.json([]), Object.getOwnPropertyDescriptors(answer));
      return createClient({ baseUrl: service.url, fetch: () => Promise.resolve(response) }).GET('/pets');
    };
    const message = expect.stringContaining('redirect');
    const opaque = seenBy({ type: 'opaqueredirect', status: 0, ok: false });
    await expect(opaque).rejects.toMatchObject({ name: 'PetstoreError', status: 0, message });
    const followed = seenBy({ redirected: true, url: 'http://elsewhere/pets' });
    await expect(followed).rejects.toMatchObject({ name: 'PetstoreError', status: 200, message });
  });

  test('waits for an answer no longer than its time-out, and tries again', async () => {
    const name = `Slow ${key}`;
    const { response } = await storeWith(['silent', 'halted'], { timeoutMs: 1000 }).POST('/pets', {
      body: { name, categoryId: 2 },
    });
    expect(response.headers.get('Idempotency-Replayed')).toBe('true');
    const keys = unsteady.seen.map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
    expect(await query(service.databaseUrl, `SELECT id FROM pets WHERE name = '${name}'`)).toHaveLength(1);
    const impatient = { tries: 2, timeoutMs: 100 };
    await expect(storeWith(['silent', 'silent'], impatient).GET('/pets')).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(unsteady.seen).toHaveLength(2);
    const body = { email: 'late@example.com', password: 'correct horse battery' };
    await expect(storeWith(['silent'], impatient).POST('/accounts', { body })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(unsteady.seen).toHaveLength(1);
  });

  test('gives up after its tries, before a pause of more than a minute, and when it is told to', async () => {
    await expect(storeWith([busy, busy], { tries: 2 }).GET('/pets')).rejects.toMatchObject({ status: 503 });
    expect(unsteady.seen).toHaveLength(2);
    for (const late of [61, '9'.repeat(30), new Date(Date.now() + 90_000).toUTCString()]) {
      const asked = storeWith([refusal(503, 'service_unavailable', late)]).GET('/pets');
      await expect(asked).rejects.toMatchObject({ status: 503 });
      expect(unsteady.seen).toHaveLength(1);
    }
    const signal = AbortSignal.timeout(500);
    const ended = storeWith([refusal(503, 'service_unavailable', 50)]).GET('/pets', { signal });
    await expect(ended).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(unsteady.seen).toHaveLength(1);
  }, 30_000);

  test('keeps its program running in a pause', async () => {
    unsteady.faults = [busy];
    const program = `
      import { createClient } from 'petstore-client';
      const { data } = await createClient({ baseUrl: '${unsteady.url}/v1', key: '${key}' }).GET('/pets');
      console.log(Array.isArray(data));`;
    expect(await client.run(program, {})).toBe('true\n');
  });
});

describe('A client of an earlier release', () => {
  /** What a shop does, in the calls that all clients of the document have in common. */
  const DAY = `
    const email = crypto.randomUUID() + '@example.com';
    const password = 'correct horse battery';
    await store.POST('/accounts', { body: { email, password } });
    const headers = { Authorization: 'Basic ' + btoa(email + ':' + password) };
    const { data: own } = await store.POST('/api-keys', { body: { name: 'Own' }, headers });
    const { data: keys } = await store.GET('/api-keys', { headers });
    console.log(keys!.map(({ name }) => name), own!.key.length > 20);

    const { data: category } = await store.POST('/categories', { body: { name: email.slice(0, 36) } });
    const body = { name: 'Luna', categoryId: category!.id, status: 'available' } as const;
    const header = { 'Idempotency-Key': email };
    const { data: luna, response } = await store.POST('/pets', { body, params: { header } });
    const { data: again } = await store.POST('/pets', { body, params: { header } });
    console.log(luna!.status, response.status, again!.id === luna!.id);
    const query = { status: 'available', limit: 100 } as const;
    const { data: pets } = await store.GET('/pets', { params: { query: { ...query, ids: [luna!.id] } } });
    console.log(pets!.map(({ name }) => name));

    const { data: order } = await store.POST('/store/orders', { body: { petId: luna!.id } });
    const path = { orderId: order!.id };
    const approved = { params: { path }, body: { status: 'approved' } } as const;
    console.log((await store.PATCH('/store/orders/{orderId}', approved)).data!.status);
    const ofOrders = { status: 'approved', limit: 100 } as const;
    const { data: orders } = await store.GET('/store/orders', { params: { query: ofOrders } });
    console.log(orders!.some(({ id }) => id === order!.id));
    const { data: message } = await store.POST('/messages', { body: { message: 'Hello' } });
    const sent = await store.GET('/messages/{messageId}', { params: { path: { messageId: message!.id } } });
    console.log(sent.data!.message);`;
  const DONE = "[ 'Own' ] true\navailable 201 true\n[ 'Luna' ]\napproved\ntrue\nHello\n";
  const env = () => ({ API: `${service.url}/v1`, API_KEY: key });

  test.each(globSync('petstore-client-*.tgz', { cwd: join(ROOT, 'released') }))(
    'works unchanged as the package %s',
    async (file) => {
      const client = await ClientPackage.install(join(ROOT, 'released', file));
      const program = `
        import { createClient } from 'petstore-client';
        const store = createClient({ baseUrl: process.env.API!, key: process.env.API_KEY });${DAY}`;
      expect(await client.compileAndRun(program, env())).toBe(DONE);
    },
  );

  test.each(releases())('works unchanged if it is generated from the document of %s', async (version) => {
    const client = await ClientPackage.install(join(ROOT, 'node_modules/openapi-fetch'));
    client.write('schema.d.ts', astToString(await openapiTS(read(`released/openapi-${version}.json`))));
    const program = `
      import createClient from 'openapi-fetch';
      import type { paths } from './schema.d.ts';
      const bearer = { Authorization: 'Bearer ' + process.env.API_KEY };
      const store = createClient<paths>({ baseUrl: process.env.API!, headers: bearer });${DAY}`;
    expect(await client.compileAndRun(program, env())).toBe(DONE);
  });
});

test('The example with curl does not take a redirect for a success', async () => {
  const elsewhere = await Unsteady.before(service.url);
  elsewhere.faults = [{ status: 302, headers: { Location: `${service.url}/health/live` } }];
  const started = run('bash', ['--norc', 'examples/curl/quickstart.sh', `${elsewhere.url}/v1`], {
    cwd: ROOT,
  });
  await expect(started.finally(() => elsewhere.stop())).rejects.toMatchObject({ stdout: 'An account\n' });
});
