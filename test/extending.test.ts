import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Checkout } from './support/checkout.js';
import { ROOT } from './support/npm.js';

/** Files of tests that hold for whatever a module adds. */
const OTHERS = ['contract', 'house', 'permissions', 'migrations', 'samples', 'clients', 'plans', 'fuzz'];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1));
/** Migrations are named after the time that they were made at. */
const timeless = (text: string) => text.replace(/\d{13}/g, 'TIME');

const USAGE =
  'Usage: npm run new:feature <plural> [-- [--owned] [--singular <word>]], such as: npm run new:feature vets';
const MODULES = 'src/app.module.ts';
const CODES = 'src/platform/api/api-error.ts';
const REQUESTS = 'examples/petstore.http';
const TYPES = 'examples/typescript/schema.d.ts';
const PERMISSIONS = 'src/platform/api/permissions.ts';
const REGISTERS = [MODULES, CODES, PERMISSIONS, REQUESTS];

const isFree = !['vets', 'medical-histories', 'appointments'].some((name) =>
  existsSync(join(ROOT, 'src', name)),
);
if (!isFree)
  console.warn('The examples are not added to a copy of this checkout, which has some of their names.');

let checkout: Checkout;
const generated: { code: number; output: string }[] = [];
/** The files that a feature adds lines to, before and after. */
let before: string[];
let after: string[];
const generate = async (...args: string[]) => checkout.node('schematics/main.ts', ...args);

beforeAll(async () => {
  checkout = Checkout.copy();
  before = REGISTERS.map((path) => checkout.read(path));
  if (!isFree) return;
  for (const args of [['vets'], ['medical-history', '--owned']]) generated.push(await generate(...args));
  after = REGISTERS.map((path) => checkout.read(path));
  addAppointments();
});
afterAll(() => checkout.remove());

/** What writing a module by hand takes. */
function addAppointments(): void {
  for (const folder of ['src', 'test']) checkout.add(`examples/appointments/${folder}`, folder);
  const path = './appointments/appointments.module.js';
  checkout.insert(MODULES, 'import { AuthGuard }', `import { AppointmentsModule } from '${path}';\n`);
  checkout.insert(MODULES, '\n    HealthModule', '    AppointmentsModule,\n');
  checkout.insert(
    CODES,
    '  route_not_found:',
    "  appointment_not_found: { status: 404, meaning: 'The appointment cannot be found.' },\n",
  );
  checkout.insert(
    CODES,
    '  account_exists:',
    "  appointment_final: { status: 409, meaning: 'The appointment was kept or cancelled.' },\n",
  );
  checkout.insert(
    PERMISSIONS,
    '} as const',
    "  'appointments:read': 'List and fetch your appointments.',\n  'appointments:write': 'Add, change and delete your appointments.',\n",
  );
  checkout.insert(REQUESTS, '### Revoke the key', `${read('examples/appointments/requests.http')}\n`);
}

describe('docs/extending.md', () => {
  const listings = ['docs/extending.md', 'docs/versioning.md'].flatMap((page) =>
    [...read(page).matchAll(/^```ts(.*)\n([^]*?)^```$/gm)].map(([, info, code]) => ({
      page,
      info,
      code: code!,
    })),
  );
  const titleOf = (info?: string) => /^ title="([^"]+)"$/.exec(info ?? '')?.[1];

  test.each(listings)('shows in $page$info what stands in that file', ({ info, code }) => {
    const title = titleOf(info);
    expect(title).toBeDefined();
    // A line that a feature adds to a file is there only after `new:feature`.
    expect(`\n${read(title!)}\n${checkout.read(title!)}`).toContain(`\n${code}`);
  });

  test('shows every file of the example', () => {
    const shown = listings.map(({ info }) => titleOf(info));
    for (const file of filesOf('examples/vets')) expect(shown).toContain(`examples/vets/${file}`);
  });
});

(isFree ? describe : describe.skip)('npm run new:feature', () => {
  test('writes the example that the documentation shows', () => {
    expect(generated[0]).toMatchObject({ code: 0 });
    const migration = /create (src\/migrations\/\d+-vets\.ts)/.exec(generated[0]!.output)![1]!;
    for (const file of filesOf('examples/vets')) {
      const written = checkout.read(file.startsWith('src/migrations/') ? migration : file);
      expect(timeless(written)).toBe(timeless(read(`examples/vets/${file}`)));
    }
  });

  test('takes the singular too, and names of several words', () => {
    expect(generated[1]!.output).toContain('create src/medical-histories/medical-history.entity.ts');
    expect(checkout.read('src/medical-histories/medical-history.entity.ts')).toContain(
      "@Entity('medical_histories')",
    );
    expect(checkout.read('src/platform/api/api-error.ts')).toContain('  medical_history_not_found: {');
  });

  test('adds its lines to the modules, the error codes, the permissions and the requests, and changes nothing else', () => {
    const added = [
      ["import { VetsModule } from './vets/vets.module.js';", '    VetsModule,'],
      ["  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },"],
      ["  'vets:read': 'List and fetch vets.',", "  'vets:write': 'Add vets.',"],
      ['### Add a vet', 'POST {{base}}/vets', 'GET {{base}}/vets/{{newVet.response.body.id}}'],
    ];
    for (const [i, lines] of added.entries()) {
      expect(after[i]!.split('\n')).toEqual(expect.arrayContaining(lines));
      const kept = before[i]!.split('\n').filter((line) => !after[i]!.split('\n').includes(line));
      expect(kept).toEqual([]);
    }
    const rest = after.slice(0, 2).map((text) =>
      text
        .split('\n')
        .filter((line) => !/vet|medical/i.test(line))
        .join('\n'),
    );
    expect(rest).toEqual(before.slice(0, 2));
  });

  test('gives each account rows of its own with --owned', () => {
    expect(generated[1]).toMatchObject({ code: 0 });
    expect(checkout.read('src/medical-histories/medical-histories.service.ts')).toContain(
      'getRow({ id, accountId }',
    );
    expect(checkout.read('test/medical-histories.test.ts')).toContain('do not exist for another account');
  });

  test('refuses in one line what cannot be a feature, and ends with 2', async () => {
    const refused: [string[], string][] = [
      [['vets'], '"vets" cannot be added: src/vets is there.'],
      [['accounts'], '"accounts" cannot be added: the table accounts is that of src/auth/account.entity.ts.'],
      [['limits'], '"limits" cannot be added: LimitsModule is there.'],
      [['orders'], '"orders" cannot be added: the code order_not_found is there.'],
      [
        ['Big Vets'],
        '"Big Vets" is no name of a feature: take 2 to 40 small letters and digits, words joined by "-".',
      ],
      [['classes'], '"classes" cannot be added: "class" is a word of JavaScript.'],
      [
        ['tags'],
        '"tags" cannot be added: its class would hide the Tag that src/tags/tags.controller.ts imports.',
      ],
      [['news'], 'One and many "news" are the same word: add --singular and another one.'],
      [[], USAGE],
      [['vets', '--force'], USAGE],
    ];
    const answers = await Promise.all(refused.map(([args]) => generate(...args)));
    expect(answers).toEqual(refused.map(([, message]) => ({ code: 2, output: `${message}\n` })));
  });
});

(isFree ? describe : describe.skip)('A service with new features, one of them in two versions', () => {
  test('passes the linters, the compiler, its own tests, and those of every operation', async () => {
    checkout.add('examples/vets-v2');
    // As `nest build` does beside compiling.
    checkout.add('src/platform/docs/site/assets', 'dist/src/platform/docs/site/assets');
    checkout.add('docs/guides', 'dist/docs/guides');
    const own = ['vets', 'vets-v2', 'medical-histories', 'appointments'].map(
      (name) => `test/${name}.test.ts`,
    );
    const include = ['src', 'ormconfig.ts', ...own];
    checkout.write('tsconfig.all.json', JSON.stringify({ extends: './tsconfig.json', include }));
    const node = async (...args: string[]) => {
      const { code, output } = await checkout.node(...args);
      expect(code === 0 ? '' : output).toBe('');
      return output;
    };
    await node('node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', 'src', ...own);
    await node('node_modules/prettier/bin/prettier.cjs', '--check', 'src', ...own);
    expect(await checkout.depcruise()).toMatchObject({ code: 0 });
    await node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.all.json');
    await node('dist/src/platform/commands/openapi.js');
    await node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '--output', TYPES);
    // What is not new is fuzzed enough by this checkout's own run.
    checkout.env.FUZZ_RUNS = '0.25';
    const files = [...own, ...OTHERS.map((name) => `test/${name}.test.ts`)];
    const run = await node(
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...files,
    );
    expect(run).toContain(`\nTest Suites: ${files.length} passed, ${files.length} total\n`);
  }, 400_000);
});
