import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { call, createDatabase, createKey, query, startService } from 'petstore/testing';
import { ROOT } from '../../support/npm.js';

const run = promisify(execFile);

/** As a terminal has it: npm may find its settings in the environment. */
const OF_RUNNER = /^(?:NODE_|JEST_|TEST_|npm_(?:lifecycle|package)_)(?!EXTRA)/;
const SURROUNDINGS = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !OF_RUNNER.test(name)),
);
const at = (cwd: string, env = {}) => ({ cwd, env: { ...SURROUNDINGS, ...env }, maxBuffer: 2 ** 26 });
const npm = (cwd: string, ...args: string[]) => run('npm', args, at(cwd));

async function pack(from: string, to: string): Promise<string> {
  const { stdout } = await npm(from, 'pack', '--ignore-scripts', '--pack-destination', to);
  return join(to, stdout.trim().split('\n').at(-1)!);
}

let folder: string;
/** A clone of the repository, in another place. */
let clinic: string;

// As those have it who have only the packed build.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-package-'));
  const packed = await pack(ROOT, folder);
  // As npx does, which would keep what it installs.
  await npm(folder, 'install', '--prefix', 'tool', packed);
  await npm(folder, 'exec', '--prefix', 'tool', '--', 'petstore', 'new', 'clinic');
  for (const gone of [packed, join(folder, 'tool')]) rmSync(gone, { recursive: true });
  renameSync(join(folder, 'clinic'), join(folder, 'moved'));
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], at(join(folder, 'moved')));
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'As it was made');
  clinic = join(folder, 'cloned');
  await git('clone', '--quiet', '.', clinic);
  rmSync(join(folder, 'moved'), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('A repository that was made, moved and cloned passes what its CI runs, as it was made', async () => {
  const { stdout, stderr } = await run('.ci/run', [], at(clinic));
  expect(stdout + stderr).toMatch(/^Test Suites: 2 passed, 2 total$/m);
  expect(JSON.parse(readFileSync(join(clinic, 'openapi.json'), 'utf8')).paths).toHaveProperty(['/visits']);
});

test('The image of the repository has everything that the steps of the Dockerfile need', async () => {
  const image = join(folder, 'image');
  const [stage] = readFileSync(join(clinic, 'Dockerfile'), 'utf8').split('\n\n');
  const steps = stage!.split('\n').flatMap((line) => {
    const [, step, rest] = /^(COPY|RUN) (.+)$/.exec(line) ?? [];
    if (step === 'RUN') return [`cd ${image} && ${rest}`];
    const parts = rest?.split(' ') ?? [];
    return step ? [`cp -r ${parts.slice(0, -1).join(' ')} ${join(image, parts.at(-1)!)}`] : [];
  });
  const script = ['set -e', `mkdir ${image}`, ...steps.map((step) => `(cd ${clinic} && ${step})`)].join('\n');
  await run('bash', ['--norc', '-c', script], at(folder));
  expect(existsSync(join(image, 'dist/main.js'))).toBe(true);
  for (const name of ['ajv', 'prettier', 'jest', '@nestjs/cli'])
    expect(existsSync(join(image, 'node_modules', name))).toBe(false);
});

test('Without the development packages, the build of the repository says in one line what it needs', async () => {
  const production = join(folder, 'production');
  await run('git', ['clone', '--quiet', clinic, production], at(folder));
  const failed = await run('npm', ['ci'], at(production, { NODE_ENV: 'production' })).catch((error) => error);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/^Building needs the development packages: npm ci --include=dev$/m);
  expect(failed.stderr).not.toContain('not found');
});

test('Features built with one release run unchanged on the next release, whose migrations come after theirs', async () => {
  await npm(clinic, 'run', 'new:feature', '--', 'rooms', '--owned');
  cpSync(join(ROOT, 'examples/appointments/src'), join(clinic, 'src'), { recursive: true });
  const list = join(clinic, 'src/features.ts');
  const listed = readFileSync(list, 'utf8').replace('FEATURES = [', 'FEATURES = [AppointmentsModule, ');
  const line = "import { AppointmentsModule } from './appointments/appointments.module.js';\n";
  // What a method is given by `@Res()` has a type there too.
  const sender = `import type { Response } from 'express';\n\nexport const send = (response: Response) => response.end();\n`;
  writeFileSync(list, line + listed);
  writeFileSync(join(clinic, 'src/appointments/send.ts'), sender);
  await npm(clinic, 'run', 'typecheck');
  await npm(clinic, 'run', 'build');
  const DATABASE_URL = await createDatabase();
  const program = [join(clinic, 'node_modules/petstore/dist/src/commands/petstore.js'), 'start'];
  const serves = async () => {
    const here = process.cwd();
    process.chdir(clinic);
    const service = await startService({ DATABASE_URL }, program).finally(() => process.chdir(here));
    const headers = { Authorization: `Bearer ${await createKey(service)}` };
    const paths = ['visits', 'rooms', 'appointments', 'pets'];
    const answers = await Promise.all(paths.map((path) => fetch(`${service.url}/v1/${path}`, { headers })));
    expect((await call(service, 'GET', '/health/ready')).status).toBe(200);
    expect(await service.stop()).toBe(0);
    return answers.map(({ status }) => status);
  };
  expect(await serves()).toEqual([200, 200, 200, 200]);

  // The next release: another version, and a migration from before the features' own.
  const next = join(folder, 'next');
  cpSync(join(clinic, 'node_modules/petstore'), next, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(next, 'package.json'), 'utf8'));
  writeFileSync(join(next, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
  writeFileSync(
    join(next, 'dist/src/migrations/1790000000000-next.js'),
    `export class Next1790000000000 {
      async up(runner) { await runner.query('CREATE TABLE of_next (id bigint)'); }
      async down() {}
    }`,
  );
  const later = await pack(next, join(clinic, 'vendor'));
  await npm(clinic, 'install', '--ignore-scripts', `./vendor/${basename(later)}`);
  const { dependencies } = JSON.parse(readFileSync(join(clinic, 'package.json'), 'utf8'));
  expect(dependencies.petstore).toBe('file:vendor/petstore-99.0.0.tgz');
  expect(await serves()).toEqual([200, 200, 200, 200]);
  expect(await query(DATABASE_URL, "SELECT to_regclass('of_next')::text AS made")).toEqual([
    { made: 'of_next' },
  ]);
});
