import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { call, createDatabase, createKey, query, startService } from 'petstore/testing';
import { ROOT } from '../../support/npm.js';

const run = promisify(execFile);
const MINUTES = 60_000;

let folder: string;
let packed: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-package-'));
  packed = await pack(ROOT);
}, 5 * MINUTES);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Packs a build as it is; returns the path of the package. */
async function pack(from: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: from,
    env: surroundings(),
  });
  const told = JSON.parse(stdout) as { filename: string }[] | Record<string, { filename: string }>;
  return join(folder, Object.values(told)[0]!.filename);
}

/** As a terminal has it: npm may find its settings in the environment. */
function surroundings(): NodeJS.ProcessEnv {
  const ofRunner = /^(?:NODE_|JEST_|TEST_|npm_(?:lifecycle|package)_)(?!EXTRA)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofRunner.test(name)));
}

/** Makes a service that depends on a package, and installs what it needs. */
async function make(name: string): Promise<string> {
  const petstore = join(ROOT, 'dist/src/commands/petstore.js');
  const options = { cwd: folder, env: surroundings(), maxBuffer: 2 ** 26 };
  await run(process.execPath, [petstore, 'new', name, '--petstore', packed], options);
  return join(folder, name);
}

const npm = (cwd: string, ...args: string[]) =>
  run('npm', args, { cwd, env: surroundings(), maxBuffer: 2 ** 26 });

test(
  'A service of its own is built, tested and formatted as it was made, with features of every kind',
  async () => {
    const clinic = await make('clinic');
    const add = (...args: string[]) => npm(clinic, 'run', 'new:feature', '--', ...args);
    await add('rooms', '--owned', '--fields', 'name:text(60,unique)');
    await add(
      ...['stays', '--crud', '--owned', '--no-overlap', 'roomId:from:until', '--fields'],
      'roomId:ref(rooms) from:date until:date guests:list(ref(pets)) status:enum(booked,checked_in)',
    );
    await add('kennels', '--put');
    for (const part of ['src', 'test'])
      cpSync(join(ROOT, 'examples/vets', part), join(clinic, part), { recursive: true });
    const list = join(clinic, 'src/features.ts');
    const listed = readFileSync(list, 'utf8').replace('FEATURES = [', 'FEATURES = [VetsModule, ');
    writeFileSync(list, `import { VetsModule } from './vets/vets.module.js';\n${listed}`);
    // What a method is given by `@Res()` has a type there too.
    const sender = `import type { Response } from 'express';\n\nexport const send = (response: Response) => response.end();\n`;
    writeFileSync(join(clinic, 'src/vets/send.ts'), sender);
    await npm(clinic, 'ci');
    await npm(clinic, 'exec', '--', 'prettier', '--write', list);
    await npm(clinic, 'run', 'openapi');
    await npm(clinic, 'run', 'typecheck');
    await npm(clinic, 'exec', '--', 'prettier', '--check', '.');
    const { stderr } = await npm(clinic, 'test');
    expect(stderr).toMatch(/^Test Suites: 6 passed, 6 total$/m);
    // What was generated is closed, paged and named like what was there.
    const document = JSON.parse(readFileSync(join(clinic, 'openapi.json'), 'utf8'));
    for (const path of ['/pets', '/visits', '/rooms', '/stays', '/kennels/{kennelId}', '/vets'])
      expect(document.paths).toHaveProperty([path]);
  },
  15 * MINUTES,
);

test(
  'A feature that was built with one release runs on the next as it is, whose migrations come after its own',
  async () => {
    const clinic = await make('petclinic');
    for (const name of ['petclinic', 'appointments'])
      cpSync(join(ROOT, 'examples', name, 'src'), join(clinic, 'src'), { recursive: true });
    rmSync(join(clinic, 'src/visits/migrations'), { recursive: true });
    writeFileSync(
      join(clinic, 'src/features.ts'),
      `import { AppointmentsModule } from './appointments/appointments.module.js';
       import { PetclinicModule } from './petclinic/petclinic.module.js';

       export const FEATURES = [PetclinicModule, AppointmentsModule];`,
    );
    await npm(clinic, 'run', 'build');
    const DATABASE_URL = await createDatabase();
    const program = [join(clinic, 'node_modules/petstore/dist/src/commands/petstore.js'), 'start'];
    const serves = async () => {
      const here = process.cwd();
      process.chdir(clinic);
      const service = await startService({ DATABASE_URL }, program).finally(() => process.chdir(here));
      const headers = { Authorization: `Bearer ${await createKey(service)}` };
      const answers = await Promise.all(
        ['owners', 'vets', 'appointments', 'pets'].map((path) =>
          fetch(`${service.url}/v1/${path}`, { headers }),
        ),
      );
      expect((await call(service, 'GET', '/health/ready')).status).toBe(200);
      expect(await service.stop()).toBe(0);
      return answers.map(({ status }) => status);
    };
    expect(await serves()).toEqual([200, 200, 200, 200]);

    // The next release: another version, and a migration from before the feature's own.
    const next = join(folder, 'next');
    await run('mkdir', [next]);
    await run('tar', ['xzf', packed, '-C', next, '--strip-components', '1']);
    const manifest = JSON.parse(readFileSync(join(next, 'package.json'), 'utf8'));
    writeFileSync(join(next, 'package.json'), JSON.stringify({ ...manifest, version: '1.99.0' }));
    writeFileSync(
      join(next, 'dist/src/migrations/1799999999999-next.js'),
      `export class Next1799999999999 {
        async up(runner) { await runner.query('CREATE TABLE of_next (id bigint)'); }
        async down() {}
      }`,
    );
    await npm(clinic, 'install', '--ignore-scripts', await pack(next));
    expect(await serves()).toEqual([200, 200, 200, 200]);
    expect(await query(DATABASE_URL, "SELECT to_regclass('of_next')::text AS made")).toEqual([
      { made: 'of_next' },
    ]);
  },
  15 * MINUTES,
);
