import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { call, createAccount, createKey } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { eventually, ROOT, runNode } from '../support/npm.js';

const PROGRAM = fileURLToPath(new URL('../support/with-features.js', import.meta.url));
const COMMAND = join(ROOT, 'dist/src/commands/petstore.js');

interface Document {
  paths: Record<string, object>;
  tags: { name: string }[];
  webhooks?: object;
  components: { schemas: Record<string, { enum?: string[]; anyOf?: { enum?: string[] }[] }> };
}

/** What a service tells of itself: its document and its pages. */
async function toldBy(service: Service): Promise<{ document: Document; pages: string }> {
  const get = async (path: string) => (await fetch(service.url + path)).text();
  const pages = await Promise.all(['/docs', '/guides', '/search.json', '/metrics'].map(get));
  return { document: JSON.parse(await get('/openapi.json')), pages: pages.join('\n') };
}

/** The features of the pet store, with those that need them, and what each has. */
const FEATURES = [
  {
    name: 'messages',
    without: ['messages'],
    paths: ['/messages', '/messages/{messageId}'],
    permissions: ['messages:read', 'messages:write'],
    errors: ['message_not_found'],
    words: ['submitMessage', 'guides/messages', 'petstore_messages_queued'],
  },
  {
    name: 'store',
    without: ['store'],
    paths: ['/store/orders', '/store/orders/{orderId}'],
    permissions: ['orders:read', 'orders:write', 'orders:manage'],
    errors: ['order_not_found', 'invalid_transition'],
    words: ['placeOrder'],
  },
  {
    name: 'pets',
    without: ['pets', 'store'],
    paths: ['/pets', '/pets/{petId}', '/store/orders', '/store/orders/{orderId}'],
    permissions: ['pets:read', 'pets:write', 'orders:read', 'orders:write', 'orders:manage'],
    errors: ['pet_not_found', 'pet_not_available', 'order_not_found', 'invalid_transition'],
    words: ['createPet'],
  },
  {
    name: 'categories',
    without: ['categories', 'pets', 'store'],
    paths: ['/categories', '/categories/{categoryId}', '/pets', '/pets/{petId}'],
    permissions: ['categories:read', 'categories:write', 'pets:read', 'pets:write'],
    errors: ['category_not_found', 'category_exists'],
    words: ['createCategory'],
  },
];

describe('A feature that is taken out', () => {
  let whole: Service;
  let before: Awaited<ReturnType<typeof toldBy>>;
  beforeAll(async () => {
    whole = await startService();
    // A metric that could not be read in time is in a later answer.
    const words = FEATURES.flatMap((one) => one.words);
    await eventually(async () => {
      before = await toldBy(whole);
      return words.every((word) => before.pages.includes(word));
    });
  });
  afterAll(() => whole.stop());

  test.each(FEATURES)('is gone without a trace, but for its rows: $name', async (feature) => {
    const { without, paths, permissions, errors, words } = feature;
    const service = await startService({ WITHOUT: without.join(), DATABASE_URL: whole.databaseUrl }, PROGRAM);
    const { document, pages } = await toldBy(service);
    const codes = ({ components }: Document) => components.schemas.ErrorCode!.anyOf![0]!.enum!;
    const allowed = ({ components }: Document) => components.schemas.Permission!.enum!;
    for (const [all, left, gone] of [
      [Object.keys(before.document.paths), Object.keys(document.paths), paths],
      [allowed(before.document), allowed(document), permissions],
      [codes(before.document), codes(document), errors],
    ] as const) {
      expect(all).toEqual(expect.arrayContaining([...gone]));
      expect(left.filter((one) => gone.includes(one))).toEqual([]);
    }
    for (const word of words) {
      expect(before.pages).toContain(word);
      expect(pages).not.toContain(word);
    }
    expect(document.tags.map(({ name }) => name).filter((name) => without.includes(name))).toEqual([]);
    // No reference leads to a schema that went with it.
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g))
      expect(document.components.schemas).toHaveProperty(name!);

    const account = await createAccount(service);
    const key = await createKey(service, account);
    for (const path of paths) {
      const response = await fetch(`${service.url}/v1${path.replace(/\{\w+\}/, '1')}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'route_not_found' });
    }
    const { body } = await call(service, 'GET', '/v1/accounts/current', { account });
    expect(body.permissions).toEqual(allowed(document));
    expect(service.output()).not.toContain('"level":"error"');
    expect(await service.stop()).toBe(0);
    expect(await query(whole.databaseUrl, 'SELECT count(*)::int AS n FROM categories')).toEqual([{ n: 10 }]);
  });

  test.each([
    [['pets'], 'petstore: The feature pets cannot be left out: store needs it.\n'],
    [
      ['ghosts'],
      'petstore: There is no feature ghosts to leave out, but pets, categories, store, messages.\n',
    ],
  ])('ends the start in one line where that cannot be: %j', async (without, line) => {
    const env = { WITHOUT: without.join(), DATABASE_URL: whole.databaseUrl, PORT: '0' };
    const { code, stderr } = await runNode([PROGRAM], { env });
    expect([code, stderr]).toEqual([1, line]);
  });
});

describe('A service in a folder of its own', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-own-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/petstore'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  /** A feature with a table, in JavaScript as a compiler writes it. */
  const feature = (name: string, time: number) => `
    import { Feature } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/src/platform/index.js')))};
    class Migration${time} {
      async up(runner) { await runner.query('CREATE TABLE ${name} (id bigint)'); }
      async down() {}
    }
    class Module {}
    Feature({ name: '${name}', migrations: [Migration${time}], permissions: { '${name}:read': 'Read.' } })(Module);
    export const FEATURES = [Module];`;

  test('has the features that its package.json names, in all commands, and their migrations run whenever they come', async () => {
    const service = await startService();
    await service.stop();
    const { databaseUrl: DATABASE_URL } = service;
    const petstore = { features: './features.js', without: ['messages'] };
    write('package.json', JSON.stringify({ petstore, type: 'module' }));
    // Earlier than the last of the pet store's, and then earlier still.
    for (const [name, time] of [['clinics', 1795219200005] as const, ['kennels', 1795219200004] as const]) {
      write('features.js', feature(name, time));
      const options = { cwd: folder, env: { DATABASE_URL } };
      const migrated = await runNode([COMMAND, 'migrate'], options);
      expect(migrated).toMatchObject({ code: 0, stdout: `Migrated: Migration${time}.\n` });
      await runNode([COMMAND, 'openapi'], options);
    }
    const tables = `SELECT to_regclass('clinics')::text AS clinics, to_regclass('kennels')::text AS kennels`;
    expect(await query(DATABASE_URL, tables)).toEqual([{ clinics: 'clinics', kennels: 'kennels' }]);
    const document = JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8')) as Document;
    expect(document.components.schemas.Permission!.enum).toEqual(
      expect.arrayContaining(['pets:read', 'kennels:read']),
    );
    expect(document.paths).not.toHaveProperty('/messages');
    const help = await runNode([COMMAND, 'admin', 'accounts', 'set-permissions', '1', 'nonsense'], {
      cwd: folder,
      env: { DATABASE_URL },
    });
    expect(help.stderr).toContain('kennels:read');
  });

  test('does not start with two copies of what the features and the service share', async () => {
    write('package.json', JSON.stringify({ petstore: { features: './features.js' }, type: 'module' }));
    write('features.js', 'export const FEATURES = [];');
    const other = 'node_modules/typeorm/package.json';
    write(other, JSON.stringify({ name: 'typeorm', version: '1.0.0' }));
    const { code, stderr } = await runNode([COMMAND, 'start'], { cwd: folder, env: { PORT: '0' } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^petstore: There are two copies of typeorm: 1\.1\.1 in .* and 1\.0\.0 in .*\. /);
    expect(stderr).toContain(join(folder, other));
  });

  test('tells what its commands are', async () => {
    const { code, stderr } = await runNode([COMMAND, 'nonsense'], { cwd: folder });
    expect([code, stderr]).toEqual([2, expect.stringContaining('Usage: petstore <start | migrate')]);
  });
});
