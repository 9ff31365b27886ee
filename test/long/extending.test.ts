import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Checkout } from '../support/checkout.js';
import { expectToPass } from '../support/expect-to-pass.js';
import { ROOT } from '../support/npm.js';

/** Files of tests that hold for whatever a module adds. `npm run test:long` runs all of them; they take minutes. */
const OTHERS = [
  'platform/conventions',
  'migrations',
  'openapi',
  ...('isThorough' in globalThis
    ? ['contract', 'permissions', 'samples', 'clients', 'plans', 'fuzz', 'dto']
    : []),
];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1));
/** Migrations are named after the time that they were made at. */
const timeless = (text: string) => text.replace(/\d{13}/g, 'TIME');

/** A text without the lines that are there for some features; comments stay. */
const without = (text: string, names: string[]) => {
  const of = new RegExp(`^(?! *[/*]).*\\b(?:${names.join('|').replaceAll('-', '-?')})`, 'i');
  const lines = text.split('\n').filter((line) => !of.test(line));
  return lines.join('\n');
};

const USAGE =
  'Usage: npm run new:feature <plural> [-- [--fields <fields>] [--filter <name>] [--no-overlap <reference:from:until>] [--crud] [--put] [--owned] [--singular <word>] ' +
  "[--dry-run]], such as: npm run new:feature visits -- --fields 'petId:ref(pets) date:date price:money'";
/** Features with fields of every kind, the second one referring to the first. */
const OWNERS = [
  ...['firstName:text(30)', 'email?:email', 'homepage?:url', 'born?:date', 'tags:list(text(30))'],
  ...['address:object(street:text city:text(80) zip?:text(10))', 'labels?:map(text(50))'],
  'telephones:list(object(kind:text(10), no:text(20)))',
  'settings:json',
  // Words that SQL or TypeScript have a use for.
  'default:boolean class:text(20) order?:integer(0,9) references?:list(text) page?:integer(1,9)',
].join(' ');
const HISTORIES = [
  ...['petId:ref(pets)', 'ownerId:ref(owners)', 'date:date', 'startsAt?:time', 'price:money', 'paid:boolean'],
  ...['minutes:integer(5,240)', 'from:enum(planned,called-off,checked_in,2nd.try)', 'amounts?:list(money)'],
  ...['specialties:list(enum(surgery,dentistry))', 'days:list(date)', 'numbers:list(integer(1,9))'],
  ...['note?:text(1000)', 'token?:uuid'],
].join(' ');
/** With a code that no two have, days that no two have of the same owner, and what many list of many. */
const BOOKINGS =
  'ownerId:ref(owners) from:date until:date code:text(40,unique) petIds:list(ref(pets)) guestIds:list(ref(owners))';
/** With ids that clients give. */
const DESKS = 'petIds:list(ref(pets)) kind:enum(big,small) note?:text';
const FEATURES = [
  ['vets'],
  ['owners', '--crud', '--filter', 'default', '--fields', OWNERS],
  ['medical-history', '--crud', '--owned', '--fields', HISTORIES],
  ['bookings', '--crud', '--owned', '--no-overlap', 'ownerId:from:until', '--fields', BOOKINGS],
  ['desks', '--put', '--owned', '--crud', '--fields', DESKS],
  ['shelves', '--singular', 'shelf', '--put', '--fields', 'label:text(40,unique) note?:text'],
];
const MODULES = 'src/features.ts';

/** What is made by the generator, and by hand. */
const NAMES = [
  'vets',
  'owners',
  'medical-histories',
  'bookings',
  'desks',
  'shelves',
  'appointments',
  'kennel',
];
const isFree = !NAMES.some((name) => existsSync(join(ROOT, 'src', name)));
if (!isFree)
  console.warn('The examples are not added to a copy of this checkout, which has some of their names.');

let checkout: Checkout;
const generated: { code: number; output: string }[] = [];
/** The file that a feature adds lines to, before and after. */
let before: string;
let after: string;
const generate = async (...args: string[]) => checkout.node('schematics/main.ts', ...args);

beforeAll(async () => {
  checkout = Checkout.copy();
  before = checkout.read(MODULES);
  if (!isFree) return;
  generated.push(await generate(...FEATURES[0]!));
  after = checkout.read(MODULES);
  for (const args of FEATURES.slice(1)) generated.push(await generate(...args));
  addByHand('appointments', 'AppointmentsModule');
  addByHand('kennel', 'KennelModule');
});
afterAll(() => checkout.remove());

/** What writing a module by hand takes. */
function addByHand(name: string, module: string): void {
  for (const folder of ['src', 'test']) checkout.add(`examples/${name}/${folder}`, folder);
  checkout.insert(
    MODULES,
    '\n/** The features',
    `import { ${module} } from './${name}/${name}.module.js';\n`,
  );
  checkout.insert(MODULES, ']);', `  ${module},\n`);
}

describe('The guide for modules', () => {
  /** What the first page leads to, itself among them. */
  const pages = new Set([
    'extending.md',
    ...[...read('docs/extending.md').matchAll(/\]\(([\w-]+\.md)/g)].map(([, page]) => page!),
  ]);
  // Has code of those who are sent messages.
  pages.delete('messages.md');
  const listings = [...pages]
    .map((name) => `docs/${name}`)
    .flatMap((page) =>
      [...read(page).matchAll(/^```(?:ts|http)(.*)\n([^]*?)^```$/gm)].map(([, info, code]) => ({
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
    const migration = /create (src\/vets\/migrations\/\d+-vets\.ts)/.exec(generated[0]!.output)![1]!;
    for (const file of filesOf('examples/vets')) {
      const written = checkout.read(file.startsWith('src/vets/migrations/') ? migration : file);
      expect(timeless(written)).toBe(timeless(read(`examples/vets/${file}`)));
    }
  });

  test('takes the singular too, and names of several words', () => {
    expect(generated[2]!.output).toContain('create src/medical-histories/medical-history.entity.ts');
    expect(checkout.read('src/medical-histories/medical-history.entity.ts')).toContain(
      "@Entity('medical_histories')",
    );
    expect(checkout.read('src/medical-histories/medical-histories.errors.ts')).toContain(
      '  medical_history_not_found: {',
    );
  });

  test('adds its lines to the list of features, and changes nothing else', () => {
    const lines = ["import { VetsModule } from './vets/vets.module.js';", '  VetsModule,'];
    expect(after.split('\n')).toEqual(expect.arrayContaining(lines));
    expect(without(after, ['vets'])).toBe(before);
  });

  test('declares its permissions in its own folder', () => {
    expect(checkout.read('src/vets/vets.permissions.ts')).toContain(
      "  'vets:read': 'List and fetch vets.',\n  'vets:write': 'Add vets.',\n",
    );
  });

  test('gives each account rows of its own with --owned', () => {
    expect(checkout.read('src/medical-histories/medical-histories.service.ts')).toContain(
      'getRow({ id, accountId }',
    );
    expect(checkout.read('test/medical-histories.test.ts')).toContain('do not exist for another account');
  });

  test('gives each field a column that fits, and its list the indexes that it needs', () => {
    expect(new Set(generated.map(({ code }) => code))).toEqual(new Set([0]));
    const [, migration] = /create (src\/medical-histories\/migrations\/\S+-histories\.ts)/.exec(
      generated[2]!.output,
    )!;
    for (const column of [
      'pet_id bigint NOT NULL CONSTRAINT medical_histories_pet_id_fkey REFERENCES pets',
      'date date NOT NULL',
      'starts_at timestamptz(3)',
      'price numeric(12,2) NOT NULL CONSTRAINT medical_histories_price_check CHECK (price >= 0)',
      'paid boolean NOT NULL',
      'specialties text[] NOT NULL',
      'days jsonb NOT NULL',
      'token uuid',
    ])
      expect(checkout.read(migration!)).toContain(`\n        ${column}`);
    expect(checkout.read(migration!).match(/medical_histories_\w+_idx ON/g)).toEqual([
      'medical_histories_account_id_id_idx ON',
      'medical_histories_account_id_from_id_idx ON',
      'medical_histories_pet_id_idx ON',
      'medical_histories_owner_id_idx ON',
    ]);
  });

  // Which the linter lets it, below.
  test('lets a feature that was added refer to another one', () => {
    expect(checkout.read('src/medical-histories/medical-history.entity.ts')).toContain(
      "import { Owner } from '../owners/owner.entity.js';",
    );
  });

  test('gives what no two rows may have the same of a constraint, and a code', () => {
    const [, migration] = /create (src\/bookings\/migrations\/\S+-bookings\.ts)/.exec(generated[3]!.output)!;
    for (const constraint of [
      'CONSTRAINT bookings_code_account_id_key UNIQUE (code, account_id)',
      'CONSTRAINT bookings_from_until_check CHECK ("from" < until)',
      "CONSTRAINT bookings_overlap_excl EXCLUDE USING gist (numrange(owner_id, owner_id, '[]') WITH &&, " +
        'daterange("from", until) WITH &&)',
    ])
      expect(checkout.read(migration!)).toContain(`\n        ${constraint}`);
    const declared = checkout.read('src/bookings/bookings.errors.ts');
    for (const code of ['booking_exists', 'booking_ends_too_early', 'bookings_overlap'])
      expect(declared).toContain(`  ${code}: {`);
  });

  test('gives what many rows list of many a table of its own', () => {
    const [, migration] = /create (src\/bookings\/migrations\/\S+-bookings\.ts)/.exec(generated[3]!.output)!;
    for (const constraint of [
      'CONSTRAINT booking_guests_booking_id_fkey REFERENCES bookings ON DELETE CASCADE',
      'CONSTRAINT booking_guests_guest_id_fkey REFERENCES owners ON DELETE CASCADE',
      'CONSTRAINT booking_pets_pet_id_fkey REFERENCES pets,',
      'CONSTRAINT booking_pets_pkey PRIMARY KEY (booking_id, pet_id)',
    ])
      expect(checkout.read(migration!)).toContain(constraint);
    expect(checkout.read('src/bookings/booking-guest.entity.ts')).toContain("@Entity('booking_guests')");
  });

  test('lets clients give the ids with --put', () => {
    const controller = checkout.read('src/desks/desks.controller.ts');
    expect(controller).toContain("@Put(':deskId')");
    expect(controller).not.toContain('@Post');
    expect(controller).toMatch(
      /successes: \[\s*\{ status: 200, means: 'Replaced\.' \},\s*\{ status: 201, located: true \}/,
    );
    expect(checkout.read('src/desks/desk.entity.ts')).toContain("@PrimaryColumn('uuid'");
  });

  test('refuses what cannot be unique, and what cannot overlap', async () => {
    const wrong: [string, string[], string][] = [
      ['a?:text(unique)', [], 'a: what is unique is not optional here.'],
      [
        'a:text(5,unique)',
        [],
        'a: what is unique has 20 characters or more here, so that examples can differ.',
      ],
      ...['a', 'a:b:c', 'b:c:d', 'a:c:c', 'a:c:e'].map((days): [string, string[], string] => [
        'a:ref(pets) b:text c:date d:date e?:date',
        ['--no-overlap', days],
        `--no-overlap ${days} needs a reference and two days that are not optional, such as roomId:from:until.`,
      ]),
    ];
    const answers = wrong.map(([fields, args]) => generate('stays', ...args, '--fields', fields));
    expect(await Promise.all(answers)).toEqual(
      wrong.map(([, , message]) => ({ code: 2, output: `${message}\n` })),
    );
  });

  test('writes nothing with --dry-run, but says what it would', async () => {
    const { code, output } = await generate('stays', '--dry-run', '--fields', 'day:date');
    expect([code, output]).toEqual([0, expect.stringContaining('create src/stays/stay.entity.ts\n')]);
    expect(output).toContain('Nothing was written');
    expect(existsSync(join(checkout.path, 'src/stays'))).toBe(false);
  });

  test.each([
    ['day:year', 'year is no kind of field: take text, email, url, integer, boolean, date,'],
    ['day', '"day" is no field: write name:kind, such as price:money or note?:text(1000).'],
    ['Day:date', '"Day:date" is no field'],
    ['id:text', 'A field cannot be named id: a feature has a column of that name.'],
    ['toString:text', 'A field cannot be named toString: every object of JavaScript has it.'],
    ['xmin:text', 'A field cannot be named xmin: every table of PostgreSQL has it.'],
    ['a:text a:date', 'The field a is there twice.'],
    ['a:ref(nothing)', 'ref(nothing): there is no table nothing.'],
    ['a:text(0)', '0 must be an integer from 1 to 10000.'],
    ['a:enum()', 'enum() needs words: enum(planned,checked_in).'],
    ['a:enum(b_c,b-c)', 'enum(b_c,b-c): two of the words make the same name, BC.'],
    ['a:list(list(text))', 'A list is not of the kind list.'],
    ['a:ref(messages)', 'ref(messages): the ids there are no integers.'],
    ['a?:list(ref(pets))', 'a: a list of references is not optional, but may be empty.'],
    ['a:map(ref(pets))', 'A map is not of the kind ref.'],
    ['a:object(b:enum(c))', 'b: an object has no enum inside it.'],
  ])('refuses in one line the fields %s', async (fields, message) => {
    const { code, output } = await generate('stays', '--fields', fields);
    expect([code, output]).toEqual([2, expect.stringContaining(message)]);
    expect(output.trim().split('\n')).toHaveLength(1);
  });

  test('refuses a field whose constraints would have names that PostgreSQL cuts', async () => {
    const field = 'b'.repeat(30);
    const { code, output } = await generate('stays-of-animals-in-the-house', '--fields', `${field}:text`);
    expect([code, output]).toEqual([2, `${field} is too long: PostgreSQL cuts names after 63 bytes.\n`]);
  });

  test('refuses a filter that is no field, or of a kind without filters', async () => {
    const answers = ['b', 'a', 'a,a', 'order'].map((name) =>
      generate('stays', '--fields', 'a:text order:boolean', '--filter', name),
    );
    expect(await Promise.all(answers)).toEqual([
      { code: 2, output: 'There is no field b to filter by.\n' },
      { code: 2, output: 'There is no filter by a: take an enum, ref, boolean or date.\n' },
      { code: 2, output: 'A feature starts with one filter: each combination of more takes an index.\n' },
      { code: 2, output: 'There is no filter by order: every list has a parameter of that name.\n' },
    ]);
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
      [['references'], '"references" cannot be added: "references" is a word of SQL.'],
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
  let copy: Checkout;
  beforeEach(() => {
    copy = Checkout.copy(checkout.path);
  });
  afterEach(() => copy.remove());

  test('passes the linters, the compiler, its own tests, and those of every operation', async () => {
    // The migration that the example's module names is not the one that was generated.
    copy.removeFolder('src/vets');
    for (const example of ['vets', 'vets-v2']) copy.add(`examples/${example}`);
    await expectToPass(
      copy,
      [...NAMES, 'vets-v2'],
      OTHERS,
      '^/(?:vets|owners|medical-histories|bookings|desks|shelves|appointments|dogs|photos)',
    );
  }, 900_000);

  test('is what it was without their folders and tests, and their lines in the list', () => {
    for (const name of NAMES) {
      copy.removeFolder(`src/${name}`);
      for (const file of copy.find(`test/${name}*`)) copy.removeFile(file);
    }
    copy.write(MODULES, without(copy.read(MODULES), NAMES));
    expect(copy.read(MODULES)).toBe(before);
    expect(copy.differences()).toBe('');
  });
});
