import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Checkout, type Ended } from './support/checkout.js';
import { ROOT } from './support/npm.js';

const TEST_RUN = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];
/** The features that are made here. A checkout that has them already is looked at without them. */
const FEATURES = ['vets', 'medical-histories', 'appointments'];
const TESTS = ['vets', 'vets-v2', 'medical-histories', 'appointments'];
/** The facts of the other files that a new operation comes under, but for those that wait for time-outs. */
const OTHERS = ['contract', 'migrations', 'house', 'samples', 'clients', 'plans', 'fuzz'];
const FACTS =
  '[Vv]et|[Mm]edical|[Aa]ppointment|as they stand|that the entities describe|^Every route|petstore.http|of every list|^Fresh statistics|waits two seconds';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1));
/** Migrations are named after the time that they were made at. */
const timeless = (text: string) => text.replace(/\d{13}/g, 'TIME');

const USAGE =
  'Usage: npm run new:feature <plural> [-- [--owned] [--singular <word>]], such as: npm run new:feature vets';
const REGISTERS = ['src/app.module.ts', 'src/platform/api/api-error.ts', 'examples/petstore.http'];

let checkout: Checkout;
const generated: Ended[] = [];
/** The files that a feature adds lines to, before and after. */
let before: string[];
let after: string[];
const generate = async (...args: string[]) => checkout.node('schematics/main.ts', ...args);

beforeAll(async () => {
  checkout = Checkout.copy();
  checkout.dropFeatures(...FEATURES);
  before = REGISTERS.map((path) => checkout.read(path));
  for (const args of [['vets'], ['medical-history', '--owned'], ['appointments', '--owned']])
    generated.push(await generate(...args));
  after = REGISTERS.map((path) => checkout.read(path));
  finishAppointments();
});
afterAll(() => checkout.remove());

/** Does to the appointments what the documentation does, after they were written. */
function finishAppointments(): void {
  checkout.removeFile(/create (src\/migrations\/\d+-appointments\.ts)/.exec(generated[2]!.output)![1]!);
  for (const folder of ['src', 'test']) checkout.add(`examples/appointments/${folder}`, folder);
  checkout.edit('src/platform/api/api-error.ts', (text) =>
    text.replace(
      '  account_exists:',
      "  appointment_final: { status: 409, meaning: 'The appointment was kept or cancelled.' },\n$&",
    ),
  );
  const requests = read('examples/appointments/requests.http');
  checkout.edit('examples/petstore.http', (text) =>
    text.replace(/^### Add an appointment\n[^]*(?=^### Revoke the key)/m, `${requests}\n`),
  );
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
    const texts = [read(title!), checkout.exists(title!) ? checkout.read(title!) : ''];
    expect(`\n${texts.join('\n')}`).toContain(`\n${code}`);
  });

  test('shows every file of the example', () => {
    const shown = listings.map(({ info }) => titleOf(info));
    for (const file of filesOf('examples/vets')) expect(shown).toContain(`examples/vets/${file}`);
  });
});

describe('npm run new:feature', () => {
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

  test('adds a line to the modules and to the error codes, and the requests, and changes nothing else', () => {
    const added = [
      ["  import('./vets/vets.module.js'),"],
      ["  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },"],
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
        .filter((line) => !/vet|medical|appointment/.test(line))
        .join('\n'),
    );
    expect(rest).toEqual(before.slice(0, 2));
  });

  test('gives each account rows of its own with --owned', () => {
    expect(generated[1]).toMatchObject({ code: 0 });
    expect(checkout.read('src/medical-histories/medical-histories.service.ts')).toContain(
      'findOneBy({ id, accountId })',
    );
    expect(checkout.read('test/medical-histories.test.ts')).toContain('do not exist for another account');
  });

  test('refuses in one line what cannot be a feature, and ends with 2', async () => {
    const refused: [string[], string][] = [
      [['vets'], '"vets" cannot be added: src/vets is there.'],
      [['accounts'], '"accounts" cannot be added: the table accounts is that of src/auth/account.entity.ts.'],
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
      [['transactions'], '"transactions" cannot be added: every service has the property transactions.'],
      [['news'], 'One and many "news" are the same word: add --singular and another one.'],
      [[], USAGE],
      [['vets', '--force'], USAGE],
    ];
    const answers = await Promise.all(refused.map(([args]) => generate(...args)));
    expect(answers).toEqual(refused.map(([, message]) => ({ code: 2, output: `${message}\n` })));
  });
});

describe('A service with new features, one of them in two versions', () => {
  test('passes the linters, the compiler, its own tests, and the facts that hold for every operation', async () => {
    checkout.add('examples/vets-v2');
    // As `nest build` does beside compiling.
    checkout.add('src/platform/docs/site/assets', 'dist/src/platform/docs/site/assets');
    const files = TESTS.map((name) => `test/${name}.test.ts`);
    const include = ['src', 'ormconfig.ts', ...files];
    checkout.write('tsconfig.all.json', JSON.stringify({ extends: './tsconfig.json', include }));
    const sources = ['src', 'test'].map((folder) => `${folder}/**/{vet,medical,appointment}*`);
    const lint = ['--type-aware', '--deny-warnings', 'src', ...files];
    const suites = [...files, ...OTHERS.map((name) => `test/${name}.test.ts`)];
    const passed = [
      await checkout.node('node_modules/oxlint/bin/oxlint', ...lint),
      await checkout.depcruise(),
      await checkout.node(
        'node_modules/prettier/bin/prettier.cjs',
        '--check',
        ...sources,
        'src/app.module.ts',
      ),
      await checkout.node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.all.json'),
      await checkout.node('dist/src/platform/commands/openapi.js'),
      await checkout.node(...TEST_RUN, ...suites, '-t', FACTS),
    ];
    for (const { code, output } of passed) expect(code === 0 ? '' : output).toBe('');
    const all = suites.length;
    expect(passed.at(-1)!.output).toContain(`\nTest Suites: ${all} passed, ${all} total\n`);
  }, 240_000);
});
