import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKey } from './support/client.js';
import { ClientPackage, readPackage } from './support/client-package.js';
import { operations } from './support/contract.js';
import { runHttpFile } from './support/http-file.js';
import { endRuns, newFolder, removeFolders, ROOT } from './support/npm.js';
import { query, type Service, startService } from './support/service.js';
import { type Fault, Unsteady } from './support/unsteady.js';

const run = promisify(execFile);
const node = (...args: string[]) => run(process.execPath, args, { cwd: ROOT });
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

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
  const storeWith = (faults: Fault[], options: { key?: undefined; tries?: number } = {}) => {
    unsteady.faults = faults;
    unsteady.seen.length = 0;
    return createClient({ baseUrl: `${unsteady.url}/v1`, key, ...options });
  };
  const busy = { status: 503, code: 'service_unavailable', retryAfter: 1 };
  const pet = { name: 'Luna', categoryId: 2 };

  test('has the types generated from the document: `npm run openapi` writes them', async () => {
    const file = join(newFolder(), 'schema.d.ts');
    await node('clients/typescript/generate.ts', file);
    expect(read('clients/typescript/src/schema.d.ts')).toBe(readFileSync(file, 'utf8'));
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
    const inUse = { status: 409, code: 'idempotency_key_in_use' };
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
    expect(unsteady.seen).toHaveLength(1);
  });

  test('repeats what cannot have a key only if nothing was done', async () => {
    const limited = { status: 429, code: 'rate_limited' };
    const body = { email: 'visitor@example.com', password: 'correct horse battery' };
    const signingUp = storeWith([limited, busy], { key: undefined }).POST('/accounts', { body });
    await expect(signingUp).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(unsteady.seen).toHaveLength(2);
  });

  test('gives up after its tries, before a pause of more than a minute, and when it is told to', async () => {
    await expect(storeWith([busy, busy], { tries: 2 }).GET('/pets')).rejects.toMatchObject({ status: 503 });
    expect(unsteady.seen).toHaveLength(2);
    await expect(storeWith([{ ...busy, retryAfter: 61 }]).GET('/pets')).rejects.toMatchObject({
      status: 503,
    });
    expect(unsteady.seen).toHaveLength(1);
    const ended = storeWith([{ ...busy, retryAfter: 50 }]).GET('/pets', { signal: AbortSignal.timeout(500) });
    await expect(ended).rejects.toMatchObject({ name: 'TimeoutError' });
  }, 30_000);

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
  });
});

describe('The examples', () => {
  test('with curl end with the list, and the address of its page', async () => {
    const { stdout } = await run('bash', ['examples/curl/quickstart.sh', `${service.url}/v1`], { cwd: ROOT });
    expect(stdout).toMatch(/"name":"Luna","categoryId":2,"status":"available"\}\n\n/);
    expect(stdout).toMatch(/HTTP\/1\.1 200 OK[^]*\[\{.*\}\]\n$/);
  });

  /** Those of the product, and those of each module that was added. */
  const files = ['examples/petstore.http', ...globSync('src/*/*.http', { cwd: ROOT })];
  const called = new Set<string>();

  test.each(files)('in %s succeed, one after the other, more than once', async (file) => {
    for (let time = 0; time < 2; time++) {
      const answers = await runHttpFile(file, { base: `${service.url}/v1` });
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      for (const { operationId } of answers) if (operationId) called.add(operationId);
    }
  });

  test('in these files cover every operation of version 1 that is not deprecated', () => {
    const left = operations
      .filter(({ path, operation }) => !operation.deprecated && !/^\/v\d+\//.test(path))
      .map(({ operation }) => operation.operationId)
      .filter((id) => !called.has(id));
    expect(left.map((id) => `Add a request for ${id} to the .http file of its module`)).toEqual([]);
  });
});
