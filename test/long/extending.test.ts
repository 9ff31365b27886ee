import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryFiles } from '../../schematics/repository.ts';
import { createDatabase } from '../../src/testing/service.js';
import { Checkout } from '../support/checkout.js';
import { expectToPass } from '../support/expect-to-pass.js';
import { newFolder, removeFolders, ROOT, Run, runNode } from '../support/npm.js';

/** Files of tests that hold for whatever a module adds. */
const OTHERS = [
  ...['contract', 'conventions', 'fuzz', 'migrations', 'plans'].map((name) => `platform/${name}`),
  ...['clients', 'openapi', 'permissions'],
];
const MODULES = 'src/features.ts';

/** A copy of each example, one with a name of several words. */
const GENERATED = [['vets'], ['medical-histories', '--owned']];
const NAMES = [...GENERATED.map(([name]) => name!), 'kennel'];

let checkout: Checkout;
let before: string;
beforeAll(async () => {
  checkout = Checkout.copy();
  before = checkout.read(MODULES);
  for (const args of GENERATED)
    expect(await checkout.node('schematics/main.ts', ...args)).toMatchObject({ code: 0 });
  // What writing a module by hand takes.
  for (const folder of ['src', 'test']) checkout.add(`examples/kennel/${folder}`, folder);
  list(checkout, 'Kennel', './kennel/kennel.module.js');
});
afterAll(() => checkout.remove());

test('The service is what it was without their folders and tests, and their lines in the list', () => {
  const copy = Checkout.copy(checkout.path);
  for (const name of NAMES) {
    copy.removeFolder(`src/${name}`);
    copy.removeFile(`test/${name}.test.ts`);
  }
  const lines = [...NAMES.map((name) => `import .*/${name}/.*`), '  (?:Vets|MedicalHistories|Kennel)Module,'];
  copy.write(MODULES, copy.read(MODULES).replaceAll(new RegExp(`^(?:${lines.join('|')})\\n`, 'gm'), ''));
  expect(copy.read(MODULES)).toBe(before);
  expect(copy.differences()).toBe('');
  copy.remove();
});

test('The files of new:feature, and the kennel, pass the linters, the compiler, their own tests, and the tests of every operation', async () => {
  const paths = '^/(?:vets|medical-histories|dogs|photos|v2)';
  await expectToPass(checkout, NAMES, OTHERS, paths);
});

/** A file of 2.0 with the changes that docs/versioning.md names. */
const upgraded = (text: string) =>
  text
    .replaceAll(/@(Get|Post|Patch|Delete)\([^]*?@Operation\(\{\n/g, (start, method: string) =>
      start.concat(`    needs: 'appointments:${method === 'Get' ? 'read' : 'write'}',\n`),
    )
    .replace(/^(?=import)/, text.includes('@Tag(') ? "import { ApiTags } from '@nestjs/swagger';\n" : '')
    .replace(/\n {2}Tag,|, Tag\b/, '')
    .replace(/@Tag\('appointments', .*\)/, "@ApiTags('appointments')")
    .replaceAll("violation('appointments", "violation(Appointment, 'appointments")
    .replace(/reply\.created\((.*)\);/, '$1;')
    .replace(/(@Body\(\) body: New.*\n) +@Reply\(\).*\n/, '$1');

/** A file of 1.1, which also imports what it did from where that is now. */
const readdressed = (text: string) =>
  upgraded(text)
    .replaceAll(/'\.\.\/platform\/.*'/g, "'petstore/platform'")
    .replaceAll(/'\.\.\/(?:auth|pets)\/.*'/g, "'petstore/product'")
    .replaceAll(/'\.\/support\/.*'/g, "'petstore/testing'");

/** A checkout that lists the appointments, with the files of a release as they are after these changes. */
function withAppointments(version: string, change: (text: string) => string): { of: Checkout; old: string } {
  const of = Checkout.copy();
  list(of, 'Appointments', './appointments/appointments.module.js');
  const archive = join(ROOT, `released/appointments-${version}.tar.gz`);
  execFileSync('tar', ['-xzf', archive, '-C', join(of.path, 'released')]);
  // Its module, errors and permissions as they are written now.
  of.add('examples/appointments/src', 'src');
  const old = 'released/appointments/';
  for (const path of of.find(`${old}{src/*/*.{dto,entity,controller,service},test/*.test}.ts`))
    of.write(path.slice(old.length), change(of.read(path)));
  return { of, old };
}

/** Adds a module to the list of features, as its author does. */
function list(of: Checkout, name: string, file: string): void {
  of.insert(MODULES, '\n/** The features', `import { ${name}Module } from '${file}';\n`);
  of.insert(MODULES, '];', `  ${name}Module,\n`);
}

test('A feature of 2.0 passes its own test with the changes that docs/versioning.md names, and no others', async () => {
  const { of } = withAppointments('2.0.0', upgraded);
  await expectToPass(of, ['appointments'], [], '^/appointments');
  of.remove();
});

test('A feature of 1.1 passes its own test with the changes that CHANGELOG.md names besides, and no others', async () => {
  const { of, old } = withAppointments('1.1.0', readdressed);
  const migration = 'migrations/1800000000001-appointments.ts';
  of.write(`src/appointments/${migration}`, of.read(`${old}src/${migration}`));
  await expectToPass(of, ['appointments'], [], '^/appointments');
  of.remove();
});

describe('nest generate, and the scripts of nest new, work as a Nest engineer knows them', () => {
  const NEST = 'node_modules/@nestjs/cli/bin/nest.js';
  const HABITS = ['start:dev', 'start:debug', 'start:prod', 'test:watch', 'test:cov'];
  const REFUSED = /^petstore: No permission is named for OwlsController_create, .*@Public\(\)\. .*\.\n$/;
  const IMPORTS = `import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from 'petstore/platform';
`;
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

  /** The name of a folder with what globs, patterns, URLs, code and shells could take for theirs. */
  const ODD = "a [b] c++ O'Brien! räum #1 100% $x";
  const TEST = `import { sharedService } from 'petstore/testing';
test('runs', () => expect(sharedService().url).toMatch('http'));
`;

  function newRepository(): string {
    const folder = join(newFolder(), ODD);
    for (const [path, text] of repositoryFiles('clinic', manifest)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    mkdirSync(join(folder, 'node_modules'));
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    symlinkSync(ROOT, join(folder, 'node_modules/petstore'));
    return folder;
  }

  let own: Checkout;
  beforeAll(() => (own = Checkout.copy(ROOT, ODD)));
  afterAll(async () => {
    own.remove();
    await removeFolders();
  });

  test.each([
    ['in this checkout', () => own.path, 'dist/src/main.js'],
    ['in a repository of its own', newRepository, 'dist/main.js'],
  ])(
    '%s, in any folder: a module, a controller and a service are built, started and tested; a resource is refused in a line',
    async (_where, make, main) => {
      const cwd = make();
      const DATABASE_URL = await createDatabase('TEMPLATE migrated');
      const node = (...args: string[]) => runNode(args, { cwd, env: { DATABASE_URL, PORT: '0' } });
      const scripts = Object.keys(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')).scripts);
      expect(scripts).toEqual(expect.arrayContaining(HABITS));
      for (const kind of ['module', 'controller', 'service'])
        expect(await node(NEST, 'generate', kind, 'cats')).toMatchObject({ code: 0 });
      const controller = join(cwd, 'src/cats/cats.controller.ts');
      const open = readFileSync(controller, 'utf8')
        .replace('{ Controller }', '{ Controller, Get }')
        .replace('@Controller', '@Public()\n@ApiExcludeController()\n@Controller')
        .replace('{}', "{\n  @Get()\n  list() {\n    return ['Tom'];\n  }\n}");
      writeFileSync(controller, `${IMPORTS}${open}`);
      // A team that adds @nestjs/testing may write them.
      writeFileSync(
        join(cwd, 'src/cats/cats.service.spec.ts'),
        "import { Test } from '@nestjs/testing';\nTest;\n",
      );
      expect(await new Run('npm', ['run', 'build'], {}, cwd).end).toBe(0);
      const run = new Run(process.execPath, [main], { DATABASE_URL }, cwd);
      const { api } = await run.ready();
      expect(await (await fetch(`${api}/cats`)).json()).toEqual(['Tom']);
      await run.stop();
      writeFileSync(join(cwd, 'test/one.test.ts'), TEST);
      copyFileSync(join(ROOT, 'openapi.json'), join(cwd, 'openapi.json'));
      const NODE_OPTIONS = '--experimental-vm-modules';
      expect(await new Run('npx', ['jest', 'test/one.test.ts'], { NODE_OPTIONS }, cwd).end).toBe(0);

      expect(await node(NEST, 'generate', 'resource', 'owls', '--type', 'rest', '--crud')).toMatchObject({
        code: 0,
      });
      expect(await node(NEST, 'build')).toMatchObject({ code: 0 });
      const refused = await node(main);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(REFUSED) });
    },
  );
});
