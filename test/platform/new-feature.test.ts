import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Checkout } from '../support/checkout.js';
import { ROOT } from '../support/npm.js';

/** The examples, each with the options that copy it. */
const EXAMPLES: [string, string[]][] = [
  ['vets', []],
  ['appointments', ['--owned']],
];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
/** Migrations are named after the time at which they were made. */
const timeless = (text: string) => text.replaceAll(/\d{13}/g, 'TIME');

const isFree = EXAMPLES.every(([name]) => !existsSync(join(ROOT, 'src', name)));
if (!isFree)
  console.warn('new:feature is not tried in a copy of this checkout, which has an example in src.');

(isFree ? describe : describe.skip)('npm run new:feature', () => {
  let checkout: Checkout;
  beforeAll(() => (checkout = Checkout.copy()));
  afterAll(() => checkout.remove());

  const newFeature = (...args: string[]) => checkout.node('schematics/main.ts', ...args);
  const refused = (reason: string) => ({ code: 1, output: expect.stringMatching(`^${reason}.*\n$`) });

  test.each(EXAMPLES)('writes the files of examples/%s, and no other', async (name, options) => {
    expect(await newFeature(name, ...options)).toMatchObject({ code: 0 });
    const made = checkout.find(`{src,test}/${name}{.test.ts,/**/*.*}`);
    const textOf = new Map(made.map((path) => [timeless(path), timeless(checkout.read(path))]));
    const files = globSync('{src,test}/**/*.*', { cwd: join(ROOT, 'examples', name) });
    expect([...textOf.keys()].toSorted()).toEqual(files.map(timeless).toSorted());
    for (const file of files)
      expect(textOf.get(timeless(file))).toBe(timeless(read(`examples/${name}/${file}`)));
  });

  test('spells another name as each place needs it', async () => {
    expect(await newFeature('x-rays', '--owned')).toMatchObject({ code: 0 });
    const files = checkout.find('{src,test}/x-rays{.test.ts,/**/*.*}');
    const text = files.map((path) => checkout.read(path)).join('');
    for (const spelling of [
      ...["'x-rays:read'", 'CREATE TABLE x_rays (', 'x_ray_not_found', ':xRayId'],
      ...["summary: 'Add a new x ray'", 'readonly xRays:', 'class XRaysController'],
    ])
      expect(text).toContain(spelling);
    expect(text).not.toMatch(/appointment/i);
  });

  test.each([
    ['vets', '"vets" cannot be added: there is already src/vets\\.'],
    ['accounts', '"accounts" cannot be added: there is already test/accounts\\.test\\.ts\\.'],
    ['invitations', '"invitations" cannot be added: there is already the table invitations\\.'],
    ['error-codes', '"error-codes" cannot be added: there is already ErrorCode in openapi\\.json\\.'],
    ['pages', '"pages" cannot be added: its class would hide another Page\\.'],
    ['promises', '"promises" cannot name a feature: SQL, JavaScript or the service needs this word\\.'],
    ['references', '"references" cannot name a feature: SQL, JavaScript or the service needs this word\\.'],
    ['arguments', '"arguments" cannot name a feature: SQL, JavaScript or the service needs this word\\.'],
    ['sheep', '"sheep" has no singular of its own: add one, such as --singular sheep-item\\.'],
    [
      'Owls',
      '"Owls" cannot name a feature: use 2 to 36 lower-case letters and digits, words joined by "-"\\.',
    ],
    ['owls --fields name:text', 'Usage: npm run new:feature <plural> '],
  ])('refuses %s in one line', async (name, reason) => {
    const list = checkout.read('src/features.ts');
    expect(await newFeature(...name.split(' '))).toEqual(refused(reason));
    expect(checkout.read('src/features.ts')).toBe(list);
  });

  test.each(
    Object.entries<(at: Checkout) => unknown>({
      'There is no src/features\\.ts here': (at) => at.removeFile('src/features.ts'),
      'src/features\\.ts has no list FEATURES\\.': (at) =>
        at.write('src/features.ts', 'export const OTHERS = [];\n'),
      '(?:ENOTDIR|EEXIST): ': (at) => (at.removeFolder('test'), at.write('test', '')),
    }),
  )('leaves nothing behind where it says %s', async (reason, spoil) => {
    const spoilt = Checkout.copy();
    spoil(spoilt);
    expect(await spoilt.node('schematics/main.ts', 'owls')).toEqual(refused(reason));
    expect(spoilt.find('**/*owls*')).toEqual([]);
    if (spoilt.find('src/features.ts').length > 0)
      expect(spoilt.read('src/features.ts')).not.toContain('Owls');
    spoilt.remove();
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
    expect(`\n${read(title!)}`).toContain(`\n${code}`);
  });
});
