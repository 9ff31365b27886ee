import 'reflect-metadata';
import { Controller, forwardRef, Get, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { Column, Entity, PrimaryColumn, type QueryRunner } from 'typeorm';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CategoriesModule } from '../../src/categories/categories.module.js';
import { PetsModule } from '../../src/pets/pets.module.js';
import { readConfig } from '../../src/config.js';
import { loadParts, type Parts } from '../../src/load-features.js';
import { migrate } from '../../src/platform/database/index.js';
import { Features } from '../../src/platform/features/index.js';
import { ApiTags } from '@nestjs/swagger';
import { ApiError, Feature, Operation, Public, violation } from '../../src/platform/index.js';
import { installJobs } from '../../src/platform/jobs/index.js';
import { StoreModule } from '../../src/store/store.module.js';
import { call, createAccount, createKey, expectError } from '../../src/testing/client.js';
import {
  createDatabase,
  query,
  sharedService,
  startService,
  type TestedService,
} from '../../src/testing/service.js';
import { type Extended, start } from '../support/extended.js';
import { eventually, newFolder, removeFolders, ROOT, runNode } from '../support/npm.js';

const PROGRAM = fileURLToPath(new URL('../support/with-features.js', import.meta.url));
const COMMAND = join(ROOT, 'dist/src/commands/petstore.js');

interface Document {
  paths: Record<string, object>;
  tags: { name: string }[];
  components: { schemas: Record<string, { enum?: string[]; anyOf?: { enum?: string[] }[] }> };
}

async function toldBy(service: TestedService): Promise<{ document: Document; pages: string }> {
  const get = async (path: string) => (await fetch(service.url + path)).text();
  const pages = await Promise.all(['/reference', '/guides', '/', '/metrics'].map(get));
  return { document: JSON.parse(await get('/openapi.json')), pages: pages.join('\n') };
}

afterAll(removeFolders);

describe('Features that are taken out', () => {
  const without = ['messages', 'store', 'pets'];
  const permissions = ['pets', 'orders', 'messages'].flatMap((name) => [`${name}:read`, `${name}:write`]);
  const gone = {
    paths: [
      ...['/messages', '/messages/{messageId}', '/store/orders', '/store/orders/{orderId}'],
      ...['/pets', '/pets/{petId}'],
    ],
    permissions: [...permissions, 'orders:manage'],
    errors: [
      ...['message_not_found', 'order_not_found', 'invalid_transition'],
      ...['pet_not_found', 'pet_not_available'],
    ],
    words: ['submitMessage', 'guides/messages', 'petstore_messages_queued', 'placeOrder', 'createPet'],
  };

  test('are gone without a trace', async () => {
    const whole = sharedService();
    const service = await startService({ WITHOUT: without.join() }, PROGRAM);
    let before!: Awaited<ReturnType<typeof toldBy>>;
    // A metric that could not be read in time is in a later answer.
    await eventually(async () => {
      before = await toldBy(whole);
      return gone.words.every((word) => before.pages.includes(word));
    });
    const { document, pages } = await toldBy(service);
    const codes = ({ components }: Document) => components.schemas.ErrorCode!.anyOf![0]!.enum!;
    const allowed = ({ components }: Document) => components.schemas.Permission!.enum!;
    for (const [all, left, names] of [
      [Object.keys(before.document.paths), Object.keys(document.paths), gone.paths],
      [allowed(before.document), allowed(document), gone.permissions],
      [codes(before.document), codes(document), gone.errors],
    ] as const) {
      expect(all).toEqual(expect.arrayContaining([...names]));
      expect(left.filter((one) => names.includes(one))).toEqual([]);
    }
    expect(gone.words.filter((word) => pages.includes(word))).toEqual([]);
    expect(document.tags.map(({ name }) => name).filter((name) => without.includes(name))).toEqual([]);
    // No reference leads to a schema that went with it.
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g))
      expect(document.components.schemas).toHaveProperty(name!);

    const account = await createAccount(service);
    const headers = { Authorization: `Bearer ${await createKey(service, account)}` };
    for (const path of gone.paths) {
      const response = await fetch(`${service.url}/v1${path.replace(/\{\w+\}/, '1')}`, { headers });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'route_not_found' });
    }
    const { body } = await call(service, 'GET', '/v1/accounts/current', { account });
    expect(body.permissions).toEqual(allowed(document));
    expect(service.output()).not.toContain('"level":"error"');
    expect(await service.stop()).toBe(0);
  });

  test('are advertised by no page: neither the start page nor a guide shows how to call what is not there', async () => {
    const PRODUCT = JSON.stringify({ title: 'Clinic API', lead: 'Keep the records of a clinic.' });
    const service = await startService({ WITHOUT: without.join(), PRODUCT }, PROGRAM);
    const get = async (path: string) => (await fetch(service.url + path)).text();
    // What the service says of itself is its team's.
    for (const path of ['/', '/docs', '/guides', '/reference']) {
      const page = await (await fetch(service.url + path, { headers: { Accept: 'text/html' } })).text();
      expect([path, /<title>.*?<\/title>|Pet Store/i.exec(page)![0]]).toEqual([
        path,
        expect.stringContaining('Clinic API'),
      ]);
    }
    expect(await get('/')).toContain('<p class="lead">Keep the records of a clinic.</p>');
    const names = [...(await get('/guides')).matchAll(/href="guides\/([\w-]+)"/g)].map(([, name]) => name!);
    expect(names).toContain('first-steps');
    // That on generated clients says what generators make of the pet store.
    const guides = [...new Set(names)].filter((name) => name !== 'clients').map((name) => `/guides/${name}`);
    for (const path of ['/', ...guides]) {
      const text = (await get(path)).replaceAll(/<[^>]+>/g, '');
      expect([
        path,
        text.match(/\/(?:pets|store|messages)\b|\b(?:pets|orders|messages):\w+|\banimals?\b/g),
      ]).toEqual([path, null]);
      expect(text).not.toContain('with -->');
    }
    await service.stop();
  });

  test.each([
    ['pets', 'The feature pets cannot be left out: store needs it.'],
    ['ghosts', 'There is no feature ghosts to leave out, only pets, categories, store.'],
  ])('end the start by name where that cannot be: %s', (name, message) => {
    const modules = [PetsModule, CategoriesModule, StoreModule];
    expect(() => Features.of(modules, [name])).toThrow(message);
  });
});

/** A feature with an error of its own, or, with a status, one that others declare with another meaning. */
function featureOf(name: string, status?: number): Type {
  const away: object = { thing_away: { status, meaning: `Away from ${name}.` } };
  const migration = {
    [`${name}1900000000000`]: class {
      async up(runner: QueryRunner): Promise<void> {
        await runner.query(`CREATE TABLE ${name} (id bigint)`);
      }
      async down(): Promise<void> {}
    },
  }[`${name}1900000000000`]!;

  @Public()
  @ApiTags(name)
  @Controller(name)
  class ThingsController {
    @Get()
    @Operation({ id: `get${name}`, summary: 'Fetch', errors: { [`${name}_gone`]: 410 } })
    async get(): Promise<never> {
      throw new ApiError((status ? 'thing_away' : `${name}_gone`) as 'pet_not_found');
    }
  }

  @Feature({
    name,
    tags: { [name]: 'Things.' },
    migrations: [migration],
    permissions: { [`${name}:read`]: `Read ${name}.` },
    errors: {
      [`${name}_gone`]: { status: 410, meaning: 'It is gone.' },
      ...(status && away),
    },
    controllers: [ThingsController],
  })
  class ThingsModule {}
  return ThingsModule;
}

const started: Extended[] = [];
afterAll(() => Promise.all(started.map((service) => service.stop())));

async function serve(parts: Parts, env: Record<string, string> = {}): Promise<Extended> {
  const service = await parts.features.run(() => start(parts, env));
  started.push(service);
  return service;
}

test('Two services of one process know each their own errors, permissions, migrations and addresses', async () => {
  const NAMES = ['rivers', 'hills'];
  const STATUSES = [404, 409];
  const services = await Promise.all(
    NAMES.map(async (name, i) => {
      const parts = await loadParts({ features: [featureOf(name, STATUSES[i])] });
      const DATABASE_URL = await createDatabase('TEMPLATE migrated');
      const { migrations } = parts.features;
      const done = await migrate(readConfig({ DATABASE_URL }), { migrations, install: installJobs });
      expect(done).toEqual([`${name}1900000000000`]);
      return serve(parts, { DATABASE_URL, BASE_URL: `https://${name}.example/v1` });
    }),
  );
  const accounts = await Promise.all(services.map((service) => createAccount(service)));
  for (const round of [0, 1, 2])
    await Promise.all(
      services.map(async (service, i) => {
        const [name, other] = [NAMES[i]!, NAMES[1 - i]!];
        const answer = await call(service, 'GET', `/v1/${name}`);
        const error = { code: 'thing_away', message: `Away from ${name}.`, status: STATUSES[i] };
        const help = `<https://${name}.example/guides/errors#thing_away>; rel="help"`;
        expect([answer.body, answer.headers.get('link')]).toEqual([error, help]);
        expect((await call(service, 'GET', `/v1/${other}`)).status).toBe(404);
        const { document } = await toldBy(service);
        const codes = document.components.schemas.ErrorCode!.anyOf![0]!.enum!;
        expect([codes.includes(`${name}_gone`), codes.includes(`${other}_gone`)]).toEqual([true, false]);
        const allowed = document.components.schemas.Permission!.enum!;
        expect([allowed.includes(`${name}:read`), allowed.includes(`${other}:read`)]).toEqual([true, false]);
        const create = (permission: string) => {
          const body = { name: `Key ${round}`, permissions: [permission] };
          return call(service, 'POST', '/v1/api-keys', { account: accounts[i]!, body });
        };
        expect((await create(`${name}:read`)).status).toBe(201);
        expectError(await create(`${other}:read`), 400, 'validation_failed');
        expect((await call(service, 'GET', '/health/ready')).status).toBe(200);
      }),
    );
});

test('An error of a feature has its facts in the services that list it, and its code alone in a unit test', async () => {
  const { features } = await loadParts();
  const without = await loadParts({ without: ['store', 'pets'] });
  expect(features.run(() => new ApiError('pet_not_found').getResponse())).toEqual({
    code: 'pet_not_found',
    message: 'The animal cannot be found.',
    status: 404,
  });
  expect(() => without.features.run(() => new ApiError('pet_not_found'))).toThrow(
    "None of the service's features declares the error pet_not_found.",
  );
  expect(new ApiError('pet_not_found')).toMatchObject({ code: 'pet_not_found', status: 500 });
  expect(new ApiError('rate_limited').getStatus()).toBe(429);
});

test('A feature that is only loaded, and not in the list, declares nothing: no error, no permission, no table, no constraint', async () => {
  @Entity('ghosts')
  class Ghost {
    @PrimaryColumn('bigint') id!: string;
    @Column('text') name!: string;
  }
  const caught = violation(Ghost, 'ghosts_name_key', 'pet_not_found');
  expect(caught).toThrow();
  @Feature({
    name: 'ghosts',
    entities: [Ghost],
    permissions: { 'ghosts:read': 'Read.' },
    errors: { ghost_gone: { status: 410, meaning: 'Gone.' } },
  })
  class GhostsModule {}
  const service = await serve(await loadParts());
  const { document } = await toldBy(service);
  expect(JSON.stringify(document)).not.toContain('ghost');
  const listed = await loadParts({ features: [GhostsModule] });
  await expect(serve(listed)).rejects.toThrow(
    "violation(Ghost, 'ghosts_name_key', 'pet_not_found'): no table has a constraint or a unique index of that name.",
  );
});

type ModuleImport = NonNullable<ModuleMetadata['imports']>[number];

describe('A feature is found wherever it is imported:', () => {
  @Module({ imports: [featureOf('plains')] })
  class PlainModule {}
  @Module({ imports: [forwardRef(() => Further)] })
  class ReferringModule {}
  const Further = featureOf('forwards');
  const Refs = featureOf('refs');
  @Module({})
  class DynamicModule {}
  @Module({})
  class Between {}

  const PLACES: [where: string, name: string, imported: ModuleImport][] = [
    ['behind a plain module', 'plains', PlainModule],
    ['behind a module that refers forward', 'forwards', ReferringModule],
    ['in a forwardRef', 'refs', forwardRef(() => Refs)],
    ['behind a dynamic module', 'dynamics', { module: DynamicModule, imports: [featureOf('dynamics')] }],
    ['as a dynamic module', 'selves', { module: featureOf('selves') }],
    [
      'behind two',
      'twos',
      { module: DynamicModule, imports: [{ module: Between, imports: [featureOf('twos')] }] },
    ],
  ];
  let service: Extended;
  beforeAll(async () => {
    @Feature({ name: 'roots', imports: PLACES.map(([, , imported]) => imported) })
    class RootModule {}
    service = await serve(await loadParts({ features: [RootModule] }));
  });

  test.each(PLACES)('%s', async (_where, name) => {
    expectError(await call(service, 'GET', `/v1/${name}`), 410, `${name}_gone`);
    const { document } = await toldBy(service);
    expect(document.components.schemas.Permission!.enum).toContain(`${name}:read`);
  });

  test('behind a promise, it is refused by name', async () => {
    @Feature({ name: 'roots', imports: [Promise.resolve({ module: featureOf('laters') })] })
    class RootModule {}
    const parts = await loadParts({ features: [RootModule] });
    await expect(serve(parts)).rejects.toThrow(
      'The feature laters is imported by a promise: add ThingsModule to the list of features.',
    );
  });

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'pets'],
    ['a forwardRef to nothing', forwardRef(() => undefined)],
    ['a dynamic module of nothing', { module: undefined }],
  ])('what is no module is refused with the module that names it: %s', (_what, imported) => {
    const none = imported as unknown as typeof PlainModule;
    @Module({ imports: [none] })
    class HolderModule {}
    const reason = 'names something that is no module, perhaps due to circular imports.';
    expect(() => Features.of([], [], [HolderModule])).toThrow(`The module HolderModule ${reason}`);
    expect(() => Features.of([none])).toThrow(`The list of features ${reason}`);
  });

  test('left out, it is named with what needs it', () => {
    @Module({ imports: [forwardRef(() => PetsModule)] })
    class Further {}
    @Feature({ name: 'clinics', imports: [Further] })
    class ClinicsModule {}
    const modules = [PetsModule, CategoriesModule];
    expect(() => Features.of(modules, ['pets'], [ClinicsModule])).toThrow(
      'The feature pets cannot be left out: clinics needs it.',
    );
  });
});

/** A folder that has features of its own, in JavaScript as a compiler writes it; `PLATFORM` is the file to import. */
function folderWith(petstore: object, program: string): string {
  const folder = newFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/petstore'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ petstore, type: 'module' }));
  const platform = JSON.stringify(pathToFileURL(join(ROOT, 'dist/src/platform/index.js')));
  writeFileSync(join(folder, 'features.js'), program.replace('PLATFORM', platform));
  return folder;
}

test('A service in a folder of its own has the features that its package.json names, in all commands, and their migrations run whenever they come', async () => {
  const DATABASE_URL = await createDatabase('TEMPLATE migrated');
  // Its migration is earlier than the last of the pet store's.
  const folder = folderWith(
    { features: './features.js', without: ['messages'] },
    `import { Feature } from PLATFORM;
     class Migration1795219200005 {
       async up(runner) { await runner.query('CREATE TABLE clinics (id bigint)'); }
       async down() {}
     }
     class Module {}
     Feature({ name: 'clinics', migrations: [Migration1795219200005], permissions: { 'clinics:read': 'Read.' } })(Module);
     export const FEATURES = [Module];`,
  );
  const options = { cwd: folder, env: { DATABASE_URL } };
  const migrated = await runNode([COMMAND, 'migrate'], options);
  expect(migrated).toMatchObject({ code: 0, stdout: 'Migrated: Migration1795219200005.\n' });
  expect(await query(DATABASE_URL, 'SELECT FROM clinics')).toEqual([]);
  await runNode([COMMAND, 'openapi'], options);
  const document = JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8')) as Document;
  const allowed = document.components.schemas.Permission!.enum;
  expect(allowed).toEqual(expect.arrayContaining(['pets:read', 'clinics:read']));
  expect(document.paths).not.toHaveProperty('/messages');
});

test('A plain controller ends the start, and the command that writes the document, with one line that says what to do', async () => {
  const folder = folderWith(
    { features: './features.js' },
    `import { createRequire } from 'node:module';
     import { Feature } from PLATFORM;
     const require = createRequire(${JSON.stringify(join(ROOT, 'package.json'))});
     const { Controller, Get } = require('@nestjs/common');
     class CatsController { findAll() { return []; } }
     Get()(CatsController.prototype, 'findAll', Object.getOwnPropertyDescriptor(CatsController.prototype, 'findAll'));
     require('@nestjs/swagger').ApiTags('pets')(CatsController);
     Controller('cats')(CatsController);
     class Module {}
     Feature({ name: 'cats', controllers: [CatsController] })(Module);
     export const FEATURES = [Module];`,
  );
  const env = { DATABASE_URL: await createDatabase('TEMPLATE migrated') };
  const line =
    "petstore: No permission is named for CatsController_findAll: add needs: 'pets:write' to @Operation, or needs: 'nothing' if any key will do, or @Public().\n";
  for (const command of ['start', 'openapi'])
    expect(await runNode([COMMAND, command], { cwd: folder, env })).toEqual({
      code: 1,
      stdout: '',
      stderr: line,
    });
});

test('A port that a feature cannot have is no port of the service', async () => {
  const { port } = new URL(sharedService().url);
  const folder = folderWith(
    { features: './features.js' },
    `import { createServer } from 'node:net';
     import { once } from 'node:events';
     import { Feature } from PLATFORM;
     class Module {
       onModuleInit() { return once(createServer().listen(${port}), 'listening'); }
     }
     Feature({ name: 'listening' })(Module);
     export const FEATURES = [Module];`,
  );
  const env = { DATABASE_URL: await createDatabase('TEMPLATE migrated') };
  const { code, stderr } = await runNode([COMMAND, 'start'], { cwd: folder, env });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Error: listen EADDRINUSE.*\n +at /)]);
  expect(stderr).not.toContain('METRICS_PORT');
});
