import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient, PetstoreError } from '../clients/typescript/src/index.js';
import { call, createAccount, createKey } from '../src/testing/client.js';
import { operations } from '../src/testing/document.js';
import { query, sharedService } from '../src/testing/service.js';
import { readPackage } from './support/client-package.js';
import { runHttpFile } from './support/http-file.js';
import { newFolder, removeFolders, ROOT } from './support/npm.js';
import { type Fault, refusal, Unsteady } from './support/unsteady.js';

const run = promisify(execFile);
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const html = { 'Content-Type': 'text/html' };
const json = { 'Content-Type': 'application/json' };

const service = sharedService();
let key: string;
beforeAll(async () => (key = await createKey(service)));
afterAll(removeFolders);

describe('The TypeScript client', () => {
  let unsteady: Unsteady;
  beforeAll(async () => (unsteady = await Unsteady.before(service.url)));
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
  const page = { status: 200, headers: html, body: '<p>Log in' };
  const pet = { name: 'Luna', categoryId: 2 };
  type Store = ReturnType<typeof createClient>;
  const list = (on: Store): Promise<unknown> => on.GET('/pets');
  const add = (on: Store): Promise<unknown> => on.POST('/pets', { body: pet });
  const keysSeen = () => unsteady.seen.map(({ headers }) => headers['idempotency-key']);

  test('has the types generated from the document: `npm run openapi` writes them', async () => {
    const folder = newFolder();
    const args = ['clients/typescript/generate.ts', join(folder, 'schema.d.ts')];
    await run(process.execPath, args, { cwd: ROOT });
    for (const name of ['schema.d.ts', 'operations.ts'])
      expect(read(`clients/typescript/src/${name}`)).toBe(readFileSync(join(folder, name), 'utf8'));
  });

  test('has the version of the service, and depends only on openapi-fetch, in the tested version', () => {
    const { version, engines, devDependencies } = readPackage('.');
    const dependencies = { 'openapi-fetch': devDependencies['openapi-fetch'] };
    expect(readPackage('clients/typescript')).toMatchObject({ version, engines, dependencies });
    expect(Object.keys(readPackage('clients/typescript').dependencies)).toEqual(['openapi-fetch']);
  });

  test('follows all pages at its own address, with the filter kept', async () => {
    const paged = { key, body: { name: `Paged ${key}` } };
    const { body: category } = await call(service, 'POST', '/v1/categories', paged);
    const names = ['Bo', 'Cy', 'Di', 'Ed', 'Fi'];
    for (const name of names) await store().POST('/pets', { body: { name, categoryId: category.id } });
    const pages = storeWith([]).pages('/pets', { params: { query: { categoryId: category.id, limit: 2 } } });
    const found = (await Array.fromAsync(pages)).map((page) => page.map(({ name }) => name));
    expect(found).toEqual([['Bo', 'Cy'], ['Di', 'Ed'], ['Fi']]);
    expect(unsteady.seen).toHaveLength(3);
  });

  test('adds an animal once, whichever tries fail, with one key and not before Retry-After', async () => {
    const name = `Once ${key}`;
    const inUse = refusal(409, 'idempotency_key_in_use');
    const body = { ...pet, name };
    const { data, response } = await storeWith([busy, 'lost', 'cut', inUse]).POST('/pets', { body });
    const rows = await query(service.databaseUrl, 'SELECT id FROM pets WHERE name = $1', [name]);
    expect(rows).toEqual([{ id: String(data.id) }]);
    expect(response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(keysSeen()).toEqual(Array.from({ length: 5 }, () => expect.stringMatching(/^[\d-]{4,}$/)));
    expect(new Set(keysSeen()).size).toBe(1);
    const [first, second] = unsteady.seen;
    // A timer may be a millisecond early.
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(990);
  });

  test('sends a new Idempotency-Key with each write, unless the caller sets one', async () => {
    const header = { 'Idempotency-Key': 'mine' };
    const unharmed = storeWith([]);
    for (const params of [{}, {}, { header }]) await unharmed.POST('/pets', { body: pet, params });
    const keys = keysSeen();
    expect([new Set(keys).size, keys[2]]).toEqual([3, 'mine']);
  });

  test('throws the error of an answer, and does not retry a request that would be refused again', async () => {
    const adding = storeWith([]).POST('/pets', { body: { ...pet, categoryId: 999_999 } });
    const error = await adding.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PetstoreError);
    expect(error).toMatchObject({
      code: 'category_not_found',
      status: 400,
      message: expect.any(String),
      help: expect.stringMatching(/^http:.+\/guides\/errors#category_not_found$/),
    });
    expect((error as PetstoreError).headers.get('X-Request-Id')).toMatch(/./);
    expect(unsteady.seen).toHaveLength(1);
  });

  test('retries a request without Idempotency-Key only if the service did nothing', async () => {
    const limited = refusal(429, 'rate_limited');
    const body = { email: 'visitor@example.com', password: 'correct horse battery' };
    const signingUp = storeWith([limited, busy], { key: undefined }).POST('/accounts', { body });
    await expect(signingUp).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(unsteady.seen).toHaveLength(2);
  });

  test('does not retry an operation that ignores Idempotency-Key, even if the caller sets one', async () => {
    const account = await createAccount(service);
    const headers = { Authorization: `Basic ${btoa(`${account.email}:${account.password}`)}` };
    const header = { 'Idempotency-Key': 'mine' };
    const given: object = { body: { name: 'One' }, headers, params: { header } };
    const making = storeWith(['lost']).POST('/api-keys', given as { body: { name: string } });
    await expect(making).rejects.toMatchObject({ name: 'TypeError' });
    expect(unsteady.seen).toHaveLength(1);
    expect((await call(service, 'GET', '/v1/api-keys', { account })).body).toHaveLength(1);
  });

  test('does not retry the revocation of its own key, which the service would refuse', async () => {
    const revoked = await createKey(service);
    const revoking = storeWith(['lost'], { key: revoked }).DELETE('/api-keys/current');
    await expect(revoking).rejects.toMatchObject({ name: 'TypeError' });
    expect(unsteady.seen).toHaveLength(1);
    expect(unsteady.seen[0]!.headers).not.toHaveProperty('idempotency-key');
    await expect(storeWith([], { key: revoked }).GET('/pets')).rejects.toMatchObject({ status: 401 });
  });

  test.each([302, 307])('follows no redirect, and names the target: %i', async (status) => {
    const headers = { Location: `${service.url}/v1/pets` };
    const message = expect.stringMatching(/redirect.*\/v1\/pets/);
    for (const ask of [list, add]) {
      const asked = ask(storeWith([{ status, headers }]));
      await expect(asked).rejects.toMatchObject({ name: 'PetstoreError', code: 'unknown', status, message });
      expect(unsteady.seen).toHaveLength(1);
    }
  });

  test.each<[string, Fault, RegExp]>([
    ['a page', { ...page, body: '<!doctype html>\n<p>Log in' }, /html.*<!doctype html> <p>Log/],
    ['nothing', { status: 204 }, /204/],
    ['a failure', { status: 502, headers: html, body: '<h1>No way' }, /502 Bad Gateway.*<h1>No way/],
    ['no object', { status: 400, headers: json, body: 'null' }, /400 Bad Request.*null/],
  ])('says what came in the place of an answer: %s', async (_name, fault, said) => {
    for (const ask of [list, add]) {
      const asked = ask(storeWith([fault], { tries: 1 }));
      const error = { name: 'PetstoreError', code: 'unknown', message: expect.stringMatching(said) };
      await expect(asked).rejects.toMatchObject({ ...error, status: (fault as { status: number }).status });
    }
  });

  test('treats truncated JSON as a lost answer, and does not repeat a page', async () => {
    const half = { status: 200, headers: json, body: '[{"id":1,' };
    expect((await storeWith([half]).GET('/pets')).data).toEqual(expect.any(Array));
    expect(unsteady.seen).toHaveLength(2);
    const twice = storeWith([half, half], { tries: 2 }).GET('/pets');
    await expect(twice).rejects.toMatchObject({ name: 'PetstoreError', status: 200 });
    await expect(storeWith([page]).GET('/pets')).rejects.toMatchObject({ name: 'PetstoreError' });
    expect(unsteady.seen).toHaveLength(1);
  });

  test('reads and writes integers of 64 bits exactly', async () => {
    const [beyond, largest] = [9007199254740993n, 9223372036854775807n];
    // Digits in a text are no number.
    const name = `"${beyond}", ${beyond} and \\`;
    await query(
      service.databaseUrl,
      `WITH category AS (INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES ($1, 'Beyond 2^53'))
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
    const body = { name: text, categoryId: beyond };
    await createClient({ baseUrl: service.url, fetch }).POST('/pets', { body });
    expect(sent).toEqual([`{"name":${JSON.stringify(text)},"categoryId":${beyond}}`]);
    // The README's sample orders one that is not there.
    await query(service.databaseUrl, 'DELETE FROM pets WHERE id = $1', [largest]);
  });
});

describe('The examples', () => {
  test('with curl end with the list, and the address of its page', async () => {
    const args = ['--norc', 'examples/curl/quickstart.sh', `${service.url}/v1`];
    const { stdout } = await run('bash', args, { cwd: ROOT });
    expect(stdout).toMatch(/"name":"Luna","categoryId":2,"status":"available"\}\n\n/);
    expect(stdout).toMatch(/HTTP\/1\.1 200 OK[^]*\[\{.*\}\]\n$/);
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
