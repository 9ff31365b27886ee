import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { extract } from 'tar';
import { lastRelease, releases } from '../../released/release.js';
import type { Operation } from '../../src/testing/document.js';
import { endRuns, eventually, newFolder, removeFolders, ROOT, Run, runNode } from '../support/npm.js';
import { Receiver } from '../support/receiver.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

const NOW = join(ROOT, 'dist/src/main.js');

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-released-'));
  for (const version of releases()) {
    const cwd = join(folder, version);
    mkdirSync(cwd);
    await extract({ file: join(ROOT, `released/petstore-${version}.tgz`), cwd });
    symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'), 'junction');
  }
});
afterEach(endRuns);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await removeFolders();
});

interface Tally {
  answers: Record<string, number>;
  messages: string[];
}

/** An earlier release does not keep to today's document, so its answers are not held against that. */
async function ask(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
) {
  const options = { method, headers: { 'Content-Type': 'application/json', ...headers } };
  const answer = await fetch(`${url}/v1${path}`, { ...options, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: (text ? JSON.parse(text) : {}) as { id: string; key: string } };
}

async function newKey({ url }: Service): Promise<string> {
  const [email, password] = ['grace@example.com', 'correct horse battery'];
  await ask(url, 'POST', '/accounts', {}, { email, password });
  const Authorization = `Basic ${btoa(`${email}:${password}`)}`;
  return (await ask(url, 'POST', '/api-keys', { Authorization }, { name: 'A key' })).body.key;
}

/** What a customer does, on one instance after another, until it is over. */
async function shop(instances: () => Service[], isOver: () => boolean, key: string): Promise<Tally> {
  const tally: Tally = { answers: {}, messages: [] };
  const tell = async (method: string, path: string, body?: object) => {
    const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
    if (method === 'POST') headers['Idempotency-Key'] = `${Math.random()}`;
    const send = () => {
      const all = instances();
      return ask(all[Math.floor(Math.random() * all.length)]!.url, method, path, headers, body);
    };
    const answer = await send();
    const name = `${method} ${path.replace(/\d+/, 'n')} ${answer.status}`;
    tally.answers[name] = (tally.answers[name] ?? 0) + 1;
    // Half of the repetitions go to the other release.
    if (method === 'POST') expect(await send()).toEqual(answer);
    return answer.body;
  };
  while (!isOver()) {
    const pet = await tell('POST', '/pets', { name: 'Rex', categoryId: 1, status: 'available' });
    const order = await tell('POST', '/store/orders', { petId: pet.id });
    await tell('PATCH', `/store/orders/${order.id}`, { status: 'approved' });
    await tell('GET', '/pets?status=pending');
    await tell('GET', '/store/orders');
    tally.messages.push((await tell('POST', '/messages', { message: 'Is Luna still there?' })).id);
    await sleep(25);
  }
  return tally;
}

/** A list of a release, and what its items are filtered by. */
interface List {
  path: string;
  authorization: string;
  filters: Record<string, string>;
}

/** Every list of a release: with each value of its enumerations, with ids, with several of these, and whole. */
function releasedLists(version: string, basic: string, bearer: string): List[] {
  const { paths, components } = JSON.parse(
    readFileSync(join(ROOT, `released/openapi-${version}.json`), 'utf8'),
  );
  type Values = { $ref?: string; type?: string; enum?: string[] };
  const valuesOf = ({ $ref, type, enum: values = [] }: Values): string[] =>
    $ref ? components.schemas[$ref.split('/').at(-1)!].enum : type === 'array' ? [IDS] : values;
  return Object.entries(paths as Record<string, { get?: Operation }>).flatMap(([path, { get }]) => {
    const { parameters = [], security = [] } = get ?? {};
    if (!parameters.some(({ name }) => name === 'cursor')) return [];
    const authorization = security.some((one) => 'basicAuth' in one) ? basic : bearer;
    const options = parameters
      .map(({ name, schema }) => valuesOf(schema).map((value) => ({ [name]: value })))
      .reduce<Record<string, string>[]>(
        (all, some) => all.flatMap((one) => [one, ...some.map((more) => ({ ...one, ...more }))]),
        [{}],
      );
    return options.map((filters) => ({ path, authorization, filters }));
  });
}
const IDS = Array.from({ length: 30 }, (_, i) => 2 * i + 1).join();

/** The ids of all items of a list. Each page is asked of the next of some instances. */
async function walkOn(instances: Service[], { path, authorization, filters }: List, limit: number) {
  const ids: number[] = [];
  let search = `?${new URLSearchParams({ ...filters, limit: String(limit) }).toString()}`;
  for (let i = 0; ; i++) {
    const { url } = instances[i % instances.length]!;
    const answer = await fetch(`${url}/v1${path}${search}`, { headers: { Authorization: authorization } });
    const items = (await answer.json()) as { id: number }[];
    expect([answer.status, path, search, items]).toEqual([200, path, search, expect.any(Array)]);
    ids.push(...items.map(({ id }) => id));
    const next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    if (!next) return ids;
    search = new URL(next).search;
  }
}

/** Tests that ask over HTTP alone; `npm run test:long` also runs those that take long, or need a machine of their own. */
const TESTS = [
  ...['accounts', 'store'],
  ...('isThorough' in globalThis
    ? [
        'api-keys',
        'categories',
        'contract',
        'fuzz',
        'idempotency',
        'limits',
        'linearizability',
        'messages',
        'store-states',
      ]
    : []),
];

describe.each(releases())('With %s', (version) => {
  let released: string;
  beforeAll(() => (released = join(folder, version, 'package/dist/src/main.js')));

  test('No request fails and every message is delivered while it is upgraded, and while that is taken back', async () => {
    expect(existsSync(released) && existsSync(NOW)).toBe(true);
    const receiver = await Receiver.start();
    const env = { DATABASE_URL: await createDatabase(), ...receiver.env };
    let running = await startService(env, released);
    const key = await newKey(running);
    let instances = [running];
    let isOver = false;
    const shoppers = Array.from({ length: 3 }, () =>
      shop(
        () => instances,
        () => isOver,
        key,
      ),
    );
    for (const next of [NOW, released]) {
      await sleep(500);
      const second = await startService(env, next);
      instances = [running, second];
      await sleep(2_000);
      // Each has taken its requests away before it ends.
      instances = [second];
      await sleep(500);
      expect(await running.stop()).toBe(0);
      running = second;
    }
    await sleep(500);
    isOver = true;
    const tallies = await Promise.all(shoppers);
    const statuses = tallies
      .flatMap(({ answers }) => Object.keys(answers))
      .filter((name) => !/ 20[012]$/.test(name));
    expect(statuses).toEqual([]);
    const messages = tallies.flatMap((tally) => tally.messages);
    expect(messages.length).toBeGreaterThan(10);
    await eventually(() => messages.every((id) => receiver.callsFor(id).length > 0));
    expect(await running.stop()).toBe(0);
    receiver.stop();
  });

  test('Its embedded database goes on under this one, and goes back', async () => {
    const env = { DATA_DIR: newFolder() };
    const old = new Run(process.execPath, [released], env);
    const first = await old.ready();
    await first.createPet('Of the release');
    await old.stop();

    const now = new Run(process.execPath, [NOW], env);
    const second = await now.ready();
    expect(second.key).toBe(first.key);
    await second.createPet('Of this one');
    await now.stop();

    const back = new Run(process.execPath, [released], env);
    const third = await back.ready();
    expect((await third.listPets(first.key)).names).toEqual(
      expect.arrayContaining(['Of the release', 'Of this one']),
    );
    await back.stop();
  });

  describe('Beside this one,', () => {
    let before: Service;
    let now: Service;
    beforeAll(async () => {
      before = await startService({ DATABASE_URL: await createDatabase() }, released);
      now = await startService({ DATABASE_URL: before.databaseUrl });
    });
    afterAll(() => Promise.all([before.stop(), now.stop()]));

    test('this one continues the pages of every list that it has, and the last release those of this one', async () => {
      const bearer = `Bearer ${await newKey(before)}`;
      const basic = `Basic ${btoa('grace@example.com:correct horse battery')}`;
      await query(
        before.databaseUrl,
        `INSERT INTO pets (name, category_id, status)
       SELECT 'Rex', 1 + n % 3, (ARRAY['available', 'sold', 'pending'])[1 + n % 3] FROM generate_series(1, 60) n;
     INSERT INTO orders (account_id, pet_id, status)
       SELECT accounts.id, n, (ARRAY['placed', 'approved', 'delivered', 'cancelled'])[1 + n % 4]
       FROM accounts, generate_series(1, 40) n;
     INSERT INTO api_keys (account_id, name, hash)
       SELECT id, 'Key', sha256(n::text::bytea) FROM accounts, generate_series(1, 8) n`,
      );
      const lists = releasedLists(version, basic, bearer);
      expect(new Set(lists.map(({ path }) => path)).size).toBeGreaterThanOrEqual(4);
      let pages = 0;
      for (const list of lists) {
        const all = await walkOn([before], list, 100);
        expect(await walkOn([now], list, 3)).toEqual(all);
        const isLast = version === lastRelease();
        const turns = isLast
          ? [
              [before, now],
              [now, before],
            ]
          : [[before, ...all.map(() => now)]];
        for (const instances of turns) expect(await walkOn(instances, list, 3)).toEqual(all);
        pages += Math.ceil(all.length / 3);
      }
      expect(pages).toBeGreaterThan(80);
    }, 120_000);

    test('it serves, and ends what this one ends', async () => {
      await newKey(before);
      const Authorization = `Basic ${btoa('grace@example.com:correct horse battery')}`;
      const body = { name: 'Reads', permissions: ['pets:read'] };
      const { key } = (await ask(now.url, 'POST', '/api-keys', { Authorization }, body)).body;
      const add = ({ url }: Service, bearer: string) =>
        ask(url, 'POST', '/pets', { Authorization: `Bearer ${bearer}` }, { name: 'Rex', categoryId: 1 });
      // 1.0.0 does not know permissions.
      const enforced = version === '1.0.0' ? 201 : 403;
      expect([(await add(now, key)).status, (await add(before, key)).status]).toEqual([403, enforced]);
      const closed = await ask(now.url, 'DELETE', '/accounts/current', { Authorization });
      expect(closed.status).toBe(204);
      await eventually(async () => (await add(before, key)).status === 401);
      expect((await add(now, key)).status).toBe(401);
    });
  });

  test('Its tests pass for it on the schema of this one', async () => {
    const cwd = join(folder, version, 'package');
    await extract({ file: join(ROOT, 'released', `tests-${version}.tgz`), cwd: join(folder, version) });
    copyFileSync(join(ROOT, 'released', `openapi-${version}.json`), join(cwd, 'openapi.json'));
    const changed = JSON.stringify({ globalSetup: join(ROOT, 'test/support/with-this-schema.js') });
    const config = `import base from './jest.config.js';\nexport default { ...base, ...${changed} };\n`;
    writeFileSync(join(cwd, 'jest.here.config.js'), config);
    const { code, stderr } = await runNode(
      [
        ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
        ...[join(ROOT, 'node_modules/jest/bin/jest.js'), '--config', 'jest.here.config.js'],
        // Beside the workers of this run.
        '--maxWorkers=1',
        ...TESTS.map((name) => `test/${name}.test.ts`),
      ],
      { cwd },
    );
    expect(code === 0 ? '' : stderr).toBe('');
    expect(stderr).toContain(`Test Suites: ${TESTS.length} passed, ${TESTS.length} total`);
  }, 600_000);
});
