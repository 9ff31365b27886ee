import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { call, createAccount, createKey } from '../src/testing/client.js';
import { ClientPackage, readPackage } from './support/client-package.js';
import { operations } from '../src/testing/document.js';
import { runHttpFile } from './support/http-file.js';
import { endRuns, eventually, newFolder, removeFolders, ROOT } from './support/npm.js';
import { query, type Service, startService } from '../src/testing/service.js';
import { type Fault, refusal, Unsteady } from './support/unsteady.js';

const run = promisify(execFile);
const node = (...args: string[]) => run(process.execPath, args, { cwd: ROOT });
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const html = { 'Content-Type': 'text/html' };
const json = { 'Content-Type': 'application/json' };

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(async () => {
  await service.stop();
  endRuns();
  await removeFolders();
});

describe('The TypeScript client', () => {
  let client: ClientPackage;
  let createClient: Awaited<ReturnType<ClientPackage['load']>>['createClient'];
  let unsteady: Unsteady;
  beforeAll(async () => {
    client = await ClientPackage.install();
    ({ createClient } = await client.load());
    unsteady = await Unsteady.before(service.url);
  });
  afterAll(() => unsteady.stop());

  const store = () => createClient({ baseUrl: `${service.url}/v1`, key });
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
  const pet = { name: 'Luna', categoryId: 2 };
  type Store = ReturnType<typeof createClient>;
  const list = (on: Store): Promise<unknown> => on.GET('/pets');
  const add = (on: Store): Promise<unknown> => on.POST('/pets', { body: pet });

  test('has what is generated from the document: `npm run openapi` writes it', async () => {
    const folder = newFolder();
    await node('clients/typescript/generate.ts', join(folder, 'schema.d.ts'));
    for (const name of ['schema.d.ts', 'operations.ts'])
      expect(read(`clients/typescript/src/${name}`)).toBe(readFileSync(join(folder, name), 'utf8'));
  });

  test('has the version of the service, and depends on what it is tested with alone', () => {
    const { version, engines, devDependencies } = readPackage('.');
    const dependencies = { 'openapi-fetch': devDependencies['openapi-fetch'] };
    expect(readPackage('clients/typescript')).toMatchObject({ version, engines, dependencies });
    expect(Object.keys(readPackage('clients/typescript').dependencies)).toEqual(['openapi-fetch']);
  });

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

  test('takes and gives what the document has, and nothing else', async () => {
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

  test('follows all pages at its own address, with the filter kept', async () => {
    const names = ['Bo', 'Cy', 'Di', 'Ed', 'Fi'];
    for (const name of names) await store().POST('/pets', { body: { ...pet, name, status: 'sold' } });
    const pages = storeWith([]).pages('/pets', { params: { query: { status: 'sold', limit: 2 } } });
    const found = (await Array.fromAsync(pages)).map((page) => page.map(({ name }) => name));
    expect(found).toEqual([['Bo', 'Cy'], ['Di', 'Ed'], ['Fi']]);
    expect(unsteady.seen).toHaveLength(3);
  });

  test('adds an animal once, whatever happens to its tries, with one key and not before Retry-After', async () => {
    const inUse = refusal(409, 'idempotency_key_in_use');
    const { data, response } = await storeWith([busy, 'lost', 'cut', inUse]).POST('/pets', {
      body: { ...pet, name: 'Once' },
    });
    const rows = await query(service.databaseUrl, `SELECT id FROM pets WHERE name = 'Once'`);
    expect(rows).toEqual([{ id: String(data.id) }]);
    expect(response.headers.get('Idempotency-Replayed')).toBe('true');
    const [first, second, ...others] = unsteady.seen;
    const keys = [first, second, ...others].map((one) => one!.headers['idempotency-key']);
    expect(keys).toEqual(Array.from({ length: 5 }, () => expect.stringMatching(/^[\d-]{4,}$/)));
    expect(new Set(keys).size).toBe(1);
    // A timer may be a millisecond early.
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(990);
  });

  test('has another key for each write, unless it is given one', async () => {
    const header = { 'Idempotency-Key': 'mine' };
    const unharmed = storeWith([]);
    for (const params of [{}, {}, { header }]) await unharmed.POST('/pets', { body: pet, params });
    const keys = unsteady.seen.map(({ headers }) => headers['idempotency-key']);
    expect([new Set(keys).size, keys[2]]).toEqual([3, 'mine']);
  });

  test('throws the error of an answer, and does not repeat what would be refused again', async () => {
    const adding = storeWith([]).POST('/pets', { body: { ...pet, categoryId: 999 } });
    const error = await adding.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf((await client.load()).PetstoreError);
    expect(error).toMatchObject({ code: 'category_not_found', status: 400, message: expect.any(String) });
    expect((error as { headers: Headers }).headers.get('X-Request-Id')).toMatch(/./);
    expect((error as { help: string }).help).toMatch(/^http:.+\/guides\/errors#category_not_found$/);
    expect(unsteady.seen).toHaveLength(1);
  });

  test('repeats what cannot have a key only if nothing was done', async () => {
    const limited = refusal(429, 'rate_limited');
    const body = { email: 'visitor@example.com', password: 'correct horse battery' };
    const signingUp = storeWith([limited, busy], { key: undefined }).POST('/accounts', { body });
    await expect(signingUp).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(unsteady.seen).toHaveLength(2);
  });

  test('sends nothing again that keeps no key, even if it is given one', async () => {
    const account = await createAccount(service);
    const headers = { Authorization: `Basic ${btoa(`${account.email}:${account.password}`)}` };
    const header = { 'Idempotency-Key': 'mine' };
    const making = storeWith(['lost']).POST('/api-keys', {
      body: { name: 'One' },
      headers,
      params: { header },
    } as object as { body: { name: string } });
    await expect(making).rejects.toMatchObject({ name: 'TypeError' });
    expect(unsteady.seen).toHaveLength(1);
    expect((await call(service, 'GET', '/v1/api-keys', { account })).body).toHaveLength(1);
  });

  test('does not try to revoke its key again, which would be refused though it is revoked', async () => {
    const revoked = await createKey(service);
    const revoking = storeWith(['lost'], { key: revoked }).DELETE('/api-keys/current');
    await expect(revoking).rejects.toMatchObject({ name: 'TypeError' });
    expect(unsteady.seen).toHaveLength(1);
    expect(unsteady.seen[0]!.headers).not.toHaveProperty('idempotency-key');
    await expect(storeWith([], { key: revoked }).GET('/pets')).rejects.toMatchObject({ status: 401 });
  });

  test.each([301, 302, 303, 307, 308])('follows no redirect, and says where to: %i', async (status) => {
    const headers = { Location: `${service.url}/v1/pets` };
    const message = expect.stringMatching(/redirect.*\/v1\/pets/);
    for (const ask of [list, add]) {
      const asked = ask(storeWith([{ status, headers }]));
      await expect(asked).rejects.toMatchObject({ name: 'PetstoreError', code: 'unknown', status, message });
      expect(unsteady.seen).toHaveLength(1);
    }
  });

  test('follows no redirect in a browser either, which does not tell where to, nor one that its fetch has followed', async () => {
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

  test.each<[string, Fault, RegExp]>([
    [
      'a page',
      { status: 200, headers: html, body: '<!doctype html>\n<p>Log in' },
      /html.*<!doctype html> <p>Log/,
    ],
    ['a text', { status: 200, headers: { 'Content-Type': 'text/plain' }, body: '[]' }, /text\/plain/],
    ['nothing', { status: 204 }, /204/],
    [
      'a page of a failure',
      { status: 502, headers: html, body: '<h1>No way' },
      /502 Bad Gateway.*<h1>No way/,
    ],
    ['another failure', { status: 500, headers: json, body: '{"code":7,"message":{}}' }, /500.*"code":7/],
    ['no object', { status: 400, headers: json, body: 'null' }, /400 Bad Request.*null/],
  ])('says what came in the place of an answer: %s', async (_name, fault, said) => {
    for (const ask of [list, add]) {
      const asked = ask(storeWith([fault], { tries: 1 }));
      const error = { name: 'PetstoreError', code: 'unknown', message: expect.stringMatching(said) };
      await expect(asked).rejects.toMatchObject({ ...error, status: (fault as { status: number }).status });
    }
  });

  test('takes only 204 for the success of what has no answer', async () => {
    for (const body of ['{}', '<p>Log in']) {
      const headers = body === '{}' ? json : html;
      const revoking = storeWith([{ status: 200, headers, body }]).DELETE('/api-keys/current');
      await expect(revoking).rejects.toMatchObject({ name: 'PetstoreError', status: 200 });
    }
    expect(await storeWith([]).GET('/pets')).toMatchObject({ data: expect.any(Array) });
  });

  test('takes JSON that ends too early for a lost answer, and does not repeat a page', async () => {
    const half = { status: 200, headers: json, body: '[{"id":1,' };
    expect((await storeWith([half]).GET('/pets')).data).toEqual(expect.any(Array));
    expect(unsteady.seen).toHaveLength(2);
    await expect(storeWith([half, half], { tries: 2 }).GET('/pets')).rejects.toMatchObject({
      name: 'PetstoreError',
      status: 200,
    });
    const page = { status: 200, headers: html, body: '<p>Log in' };
    await expect(storeWith([page]).GET('/pets')).rejects.toMatchObject({ name: 'PetstoreError' });
    expect(unsteady.seen).toHaveLength(1);
  });

  test('waits for an answer no longer than its time-out, and tries again', async () => {
    const name = 'Slow';
    const { response } = await storeWith(['silent', 'halted'], { timeoutMs: 1000 }).POST('/pets', {
      body: { ...pet, name },
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

  test('is ended by its time-out and its signal, whatever was collected as garbage meanwhile', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 50).unref();
    for (const fault of ['silent', 'halted'] as const) {
      const late = storeWith([fault], { tries: 1, timeoutMs: 500 }).GET('/pets');
      await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('Enough.')), 500);
      const ended = storeWith([fault]).GET('/pets', { signal: controller.signal });
      await expect(ended).rejects.toThrow('Enough.');
      expect(unsteady.seen).toHaveLength(1);
      await eventually(() => unsteady.waiting === 0, 5_000);
    }
    clearInterval(collecting);
  });

  test('has a time-out unless it is given one, also one beyond what a timer can count', async () => {
    const slow = async ({ signal }: Request) => {
      await sleep(50);
      signal.throwIfAborted();
      return Response.json([]);
    };
    for (const timeoutMs of [Infinity, 2 ** 31, 2 ** 53]) {
      const patient = createClient({ baseUrl: service.url, fetch: slow, timeoutMs, tries: 1 });
      expect((await patient.GET('/pets')).data).toEqual([]);
    }
    await expect(storeWith(['silent'], { tries: 1 }).GET('/pets')).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  }, 30_000);

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

  test('waits for the date of a Retry-After by the clock of the service, and for none that has passed or is none', async () => {
    const between = async (retryAfter: string, Date?: string) => {
      const { headers, ...rest } = refusal(503, 'service_unavailable', retryAfter);
      const answer = { ...rest, headers: { ...headers!, ...(Date && { Date }) } };
      await storeWith([answer]).GET('/pets');
      return unsteady.seen[1]!.at - unsteady.seen[0]!.at;
    };
    const at = (seconds: number) => new Date(Date.UTC(2020, 1, 1, 0, 0, seconds)).toUTCString();
    expect(await between(at(2), at(0))).toBeGreaterThanOrEqual(1990);
    expect(await between(new Date(Date.now() + 3000).toUTCString())).toBeGreaterThan(990);
    for (const none of [at(0), '-5', '-1', 'soon', '', '1e3', '0x10'])
      expect(await between(none)).toBeLessThan(990);
  }, 30_000);

  test('keeps its program running in a pause', async () => {
    unsteady.faults = [busy];
    const program = `
      import { createClient } from 'petstore-client';
      const { data } = await createClient({ baseUrl: '${unsteady.url}/v1', key: '${key}' }).GET('/pets');
      console.log(Array.isArray(data));`;
    expect(await client.run(program, {})).toBe('true\n');
  });

  test('ends at a list whose next page has been there before', async () => {
    const page = (cursor: number): Fault => ({
      status: 200,
      headers: { ...json, Link: `<http://x/v1/pets?cursor=${cursor}>; rel="next"` },
      body: '[]',
    });
    for (const cursors of [Array(9).fill(1), [1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5]]) {
      const walking = Array.fromAsync(storeWith(cursors.map(page)).pages('/pets'));
      await expect(walking).rejects.toThrow(/cursor=\d.*again/);
      expect(unsteady.faults.length).toBeGreaterThan(0);
    }
  });

  test('reads and writes integers of 64 bits exactly', async () => {
    const [beyond, largest] = [9007199254740993n, 9223372036854775807n];
    // Digits in a text are no number.
    const name = `"${beyond}", ${beyond} and \\`;
    await query(
      service.databaseUrl,
      `WITH category AS (INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES ($1, 'Beyond'))
       INSERT INTO pets (id, name, category_id) OVERRIDING SYSTEM VALUE VALUES ($2, $3, 1)`,
      [beyond, largest, name],
    );
    const { data: made } = await store().POST('/pets', { body: { name, categoryId: beyond } });
    expect(made).toEqual({ id: expect.any(Number), name, categoryId: beyond });
    const ids = [made.id, largest];
    const { data: found } = await store().GET('/pets', { params: { query: { ids } } });
    expect(found).toEqual([made, { id: largest, name, categoryId: 1 }]);
    const ofCategory = { query: { categoryId: beyond } };
    expect((await store().GET('/pets', { params: ofCategory })).data).toEqual([made]);
    const sent: string[] = [];
    const fetch = async (request: Request) => {
      sent.push(await request.text());
      return Response.json({}, { status: 201 });
    };
    const text = '\0' + beyond;
    await createClient({ baseUrl: service.url, fetch }).POST('/pets', {
      body: { name: text, categoryId: beyond },
    });
    expect(sent).toEqual([`{"name":${JSON.stringify(text)},"categoryId":${beyond}}`]);
    // The README's sample orders one that is not there.
    await query(service.databaseUrl, 'DELETE FROM pets WHERE id = $1', [largest]);
  });
});

describe('The examples', () => {
  test('with curl end with the list, and the address of its page', async () => {
    const { stdout } = await run('bash', ['examples/curl/quickstart.sh', `${service.url}/v1`], { cwd: ROOT });
    expect(stdout).toMatch(/"name":"Luna","categoryId":2,"status":"available"\}\n\n/);
    expect(stdout).toMatch(/HTTP\/1\.1 200 OK[^]*\[\{.*\}\]\n$/);
  });

  test('with curl do not take a redirect for a success', async () => {
    const elsewhere = await Unsteady.before(service.url);
    elsewhere.faults = [{ status: 302, headers: { Location: `${service.url}/health/live` } }];
    const started = run('bash', ['examples/curl/quickstart.sh', `${elsewhere.url}/v1`], { cwd: ROOT });
    await expect(started.finally(() => elsewhere.stop())).rejects.toMatchObject({ stdout: 'An account\n' });
  });

  /** Those of the product, and those of each module that was added. */
  const files = ['examples/petstore.http', ...globSync('src/*/*.http', { cwd: ROOT })];

  test('in files succeed, one after the other, more than once, and cover every operation that is not deprecated', async () => {
    const called = new Set<string>();
    for (const file of [...files, ...files]) {
      const answers = await runHttpFile(file, { base: `${service.url}/v1` });
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      for (const { operationId } of answers) if (operationId) called.add(operationId);
    }
    const left = operations
      .filter(({ path, operation }) => !operation.deprecated && !/^\/v\d+\//.test(path))
      .map(({ operation }) => operation.operationId)
      .filter((id) => !called.has(id));
    expect(left.map((id) => `Add a request for ${id} to the .http file of its module`)).toEqual([]);
  });
});
