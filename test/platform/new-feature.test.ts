import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { featureFiles, EXAMPLE_OPTIONS } from '../../schematics/feature.ts';
import { Checkout } from '../support/checkout.js';
import { ROOT } from '../support/npm.js';

const LIST = 'src/features.ts';
const { many, fields } = EXAMPLE_OPTIONS;
/** The examples that the command writes, each with what it is given. */
const EXAMPLES: [string, string[]][] = [
  ['vets', []],
  [many, ['--owned', '--crud', '--fields', fields!]],
];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
/** Migrations are named after the time at which they were made. */
const timeless = (text: string) => text.replaceAll(/\d{13}/g, 'TIME');
const filesOf = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1));

const isFree = EXAMPLES.every(([name]) => !existsSync(join(ROOT, 'src', name)));
/** The list of features with an example. */
const listed = isFree ? featureFiles(ROOT, { many: 'vets' }).get(LIST)! : read(LIST);
if (!isFree)
  console.warn('new:feature is not tried in a copy of this checkout, which has an example in src.');

(isFree ? describe : describe.skip)('npm run new:feature', () => {
  let checkout: Checkout;
  beforeAll(async () => {
    checkout = Checkout.copy();
    for (const [name, args] of EXAMPLES) {
      const { code, output } = await checkout.node('schematics/main.ts', name, ...args);
      expect([code, output]).toEqual([0, expect.stringContaining(`create test/${name}.test.ts\n`)]);
    }
  });
  afterAll(() => checkout.remove());

  test.each(EXAMPLES)('writes the files of examples/%s, and no other', (name) => {
    const made = checkout.find(`{src,test}/${name}{.test.ts,/**/*.*}`);
    const textOf = new Map(made.map((path) => [timeless(path), timeless(checkout.read(path))]));
    const files = filesOf(`examples/${name}`);
    expect([...textOf.keys()].toSorted()).toEqual(files.map(timeless).toSorted());
    for (const file of files)
      expect(textOf.get(timeless(file))).toBe(timeless(read(`examples/${name}/${file}`)));
  });

  test('writes nothing with --dry-run, but prints what it would write', async () => {
    const { code, output } = await checkout.node('schematics/main.ts', 'medical-histories', '--dry-run');
    expect([code, output]).toEqual([
      0,
      expect.stringContaining('create src/medical-histories/medical-history.dto.ts'),
    ]);
    expect(existsSync(join(checkout.path, 'src/medical-histories'))).toBe(false);
  });

  test.each([
    ['vets', '', '"vets" cannot be added: src/vets already exists.'],
    ['accounts', '', '"accounts" cannot be added: test/accounts.test.ts already exists.'],
    ['invitations', '', '"invitations" cannot be added: another feature has the table invitations.'],
    ['classes', '', '"class" cannot name a feature: it is a word of SQL, JavaScript or the platform.'],
    ['sheep', '', '"sheep" is not a regular plural: add --singular with the singular.'],
    ['stays', 'day', '"day" is not a field: write name:kind, such as price:money or note?:text(1000).'],
    [
      'stays',
      'day:year',
      'year is not a kind of field: use text, email, url, integer, boolean, date, time, money, uuid, enum, ref.',
    ],
    ['stays', 'a:enum(b_c,b-c)', 'enum(b_c,b-c) needs two or more distinct words: enum(planned,checked_in).'],
    ['stays', 'a:ref(nothing)', 'ref(nothing): there is no table nothing.'],
    [
      'stays',
      'a:ref(messages)',
      'ref(messages): it needs an IdColumn, the code message_not_found, and a named POST in a .http file.',
    ],
    [
      'stays-in-the-house-of-animals',
      `${'b'.repeat(30)}:text`,
      `${'b'.repeat(30)} is too long: PostgreSQL cuts names after 63 bytes.`,
    ],
  ])('refuses %s with the fields "%s" if they cannot be written', (name, list, reason) => {
    const write = () => featureFiles(checkout.path, { many: name, fields: list || undefined });
    expect(write).toThrow(new Error(reason));
  });
});

describe('The documentation', () => {
  const pages = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })];
  const listings = pages.flatMap((page) =>
    [...read(page).matchAll(/^```(?:ts|http)(.*)\n([^]*?)^```$/gm)].map(([, info, code]) => ({
      page,
      title: /^ title="([^"]+)"$/.exec(info!)?.[1],
      code: code!,
    })),
  );

  test.each(listings)('shows in $page what stands in $title', ({ title, code }) => {
    expect(title).toBeDefined();
    expect(`\n${title === LIST ? listed : read(title!)}`).toContain(`\n${code}`);
  });
});
