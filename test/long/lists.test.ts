import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc, { type Arbitrary } from 'fast-check';
import {
  And,
  Column,
  type DataSource,
  Entity,
  type FindOptionsWhere,
  In,
  Index,
  IsNull,
  LessThan,
  MoreThanOrEqual,
  PrimaryColumn,
} from 'typeorm';
import type { Direction } from '../../src/platform/api/paging.js';
import { between, Range, startingWith } from '../../src/platform/data/listing.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import type { Filter, PageOptions } from '../../src/platform/data/values.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { connect, type Sent } from '../support/database.js';
import { Planner } from '../support/plans.js';
import { createDatabase, query } from '../../src/testing/service.js';

const ROWS = 260;
const LARGE = 1_000_000;
const PAGE = 20;

/** What a list can be in the order of, and filtered by. */
class Row {
  @Column('bigint') owner!: string;
  @Column('text', { nullable: true }) state!: string | null;
  @Column({ type: 'text', collation: 'C' }) label!: string;
  @Column({ type: 'timestamptz', precision: 3 }) at!: Date;
  @Column('date') day!: string;
  @Column('integer') n!: number;

  @Column({
    type: 'varchar',
    length: 20,
    collation: 'C',
    transformer: { to: (text: string) => text, from: String },
  })
  read!: string;

  @Column('timestamptz') fine!: Date;
  @Column('text') plain!: string;
}

/** Its table has a name that statements use too. */
@Entity('search')
class Numbered extends Row {
  @PrimaryColumn('bigint') id!: string;
}

@Entity()
class Unique extends Row {
  @PrimaryColumn('uuid') id!: string;
}

/** One with many rows, and the indexes that its lists need. */
@Entity()
@Index(['at', 'id'])
@Index(['label', 'id'])
@Index(['owner', 'at', 'id'])
@Index(['owner', 'id'])
@Index(['state', 'id'])
@Index(['state', 'owner', 'at', 'id'])
class Large extends Row {
  @PrimaryColumn('bigint') id!: string;
}

type Kind = new () => Row & { id: string };
type Item = InstanceType<Kind>;
const KINDS: Kind[] = [Numbered, Unique];

let url: string;
let database: DataSource;
let sent: Sent[];
const stored = new Map<Kind, Item[]>();
const listOf = (kind: Kind) => new FastRepository<Item>(kind, database.manager);

const LABELS = [
  ...['', 'L', 'Luna', 'Luna 2', 'lu', 'Lv', 'Ä', '\u{10ffff}', '\ud7ff', '\ue000', 'a:b', '\n', "'"],
];
const DAYS = ['0001-01-01', '2026-02-28', '2026-03-01', '9999-12-31'];
const TIMES = [
  ...[0, 1, 2, 999].map((ms) => 1.8e12 + ms),
  Date.UTC(1969, 11, 31),
  Date.parse('0001-01-01T00:00:00Z'),
];
const STATES = ['open', 'shut'];
const OWNERS = ['1', '2', '-9223372036854775808'];
const NUMBERS = [-5, 0, 1, 2, 2_147_483_647];

beforeAll(async () => {
  url = await createDatabase();
  ({ database, sent } = await connect(url, { entities: [...KINDS, Large], synchronize: true }));
  const pick = <T>(values: readonly T[], i: number) => values[(i * 7919 + (i >> 3)) % values.length]!;
  for (const kind of KINDS) {
    const rows = Array.from({ length: ROWS }, (_, i) => ({
      id: kind === Unique ? randomUUID() : String((i - 20) * (i % 50 ? 1 : 1_000_003)),
      owner: pick(OWNERS, i),
      state: pick([...STATES, null], i + 1),
      label: pick(LABELS, i + 2),
      at: new Date(pick(TIMES, i + 3)),
      day: pick(DAYS, i + 4),
      n: pick(NUMBERS, i + 5),
      read: 'r',
      fine: new Date(),
      plain: 'p',
    }));
    await database.getRepository(kind).insert(rows);
    stored.set(kind, await database.getRepository(kind).find());
  }
}, 60_000);
afterAll(() => database.destroy());

type Sort = 'id' | 'label' | 'at' | 'day' | 'n';

interface List {
  kind: Kind;
  sort?: string;
  order?: Direction;
  filter: Filter<Item>;
}

/** Compares as PostgreSQL does: numbers, times, and texts by their bytes. */
function compare(a: unknown, b: unknown): number {
  if (typeof a !== 'string') return Number(a) - Number(b);
  const [one, other] = [a, b as string];
  if (/^-?\d{1,19}$/.test(one) && /^-?\d{1,19}$/.test(other)) return Number(BigInt(one) - BigInt(other));
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function expected({ kind, sort = 'id', order, filter }: List): Item[] {
  const isIn = (value: unknown, wanted: unknown): boolean => {
    if (wanted instanceof Range) {
      const { from, to } = wanted;
      return (
        (from === undefined || compare(value, from) >= 0) && (to === undefined || compare(value, to) < 0)
      );
    }
    if (Array.isArray(wanted)) return wanted.some((one) => isIn(value, one));
    return (
      wanted === undefined ||
      (wanted === null ? value === null : value !== null && compare(value, wanted) === 0)
    );
  };
  const found = stored
    .get(kind)!
    .filter((row) => Object.entries(filter).every(([name, wanted]) => isIn(row[name as Sort], wanted)));
  // Only a label looks like another kind of text, so ids are compared as what they are.
  const rows = found.toSorted((a, b) => compareBy(sort as Sort, a, b) || compareBy('id', a, b));
  return order === 'desc' ? rows.toReversed() : rows;
}

const compareBy = (name: Sort, a: Item, b: Item) => compare(a[name], b[name]);

function whereOf(filter: Filter<Item>): FindOptionsWhere<Item> {
  const operator = (wanted: unknown) => {
    if (Array.isArray(wanted)) return In(wanted);
    if (!(wanted instanceof Range)) return wanted ?? IsNull();
    const { from, to } = wanted;
    const ends = [
      ...(from === undefined ? [] : [MoreThanOrEqual(from)]),
      ...(to === undefined ? [] : [LessThan(to)]),
    ];
    return And(...ends);
  };
  return Object.fromEntries(Object.entries(filter).map(([name, wanted]) => [name, operator(wanted)]));
}

const optional = <T>(value: Arbitrary<T>) => fc.option(value, { nil: undefined });
const AT = TIMES.map((time) => new Date(time));
const VALUES = { id: ['0', '-3', '77'], label: LABELS, at: AT, day: DAYS, n: NUMBERS };
const subset = <T>(values: readonly T[]) => fc.array(fc.constantFrom(...values), { maxLength: 6 });

function rangeOf(kind: Kind, sort: Sort): Arbitrary<Range | undefined> {
  if (sort === 'id' && kind === Unique) return fc.constant(undefined);
  const end = optional(fc.constantFrom<unknown>(...VALUES[sort]));
  const ranges = fc.tuple(end, end).map(([from, to]) => between(from, to));
  return sort === 'label' ? fc.oneof(ranges, fc.constantFrom(...LABELS).map(startingWith)) : ranges;
}

const list = (kind: Kind): Arbitrary<List> =>
  optional(fc.constantFrom<Sort>('id', 'label', 'at', 'day', 'n')).chain((sort) =>
    fc
      .record({
        order: optional(fc.constantFrom<Direction>('asc', 'desc')),
        owner: optional(fc.constantFrom(...OWNERS)),
        state: optional(fc.option(fc.constantFrom(...STATES))),
        range: optional(rangeOf(kind, sort ?? 'id')),
        several: optional(
          fc.oneof(
            subset(OWNERS).map((owner) => ({ owner })),
            subset(STATES).map((state) => ({ state })),
            subset(stored.get(kind)!.map(({ id }) => id)).map((id) => ({ id })),
          ),
        ),
      })
      .map(({ order, owner, state, range, several }) => {
        const isTaken = several && 'id' in several && (sort ?? 'id') === 'id';
        const ranged = range && !isTaken ? { [sort ?? 'id']: range } : {};
        return { kind, sort, order, filter: { owner, state, ...several, ...ranged } };
      }),
  );

async function walk({ kind, sort, order, filter }: List, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await listOf(kind).page(filter, { limit, cursor, sort, order } as PageOptions<Item>);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) return items;
  }
}

describe.each(KINDS.map((kind) => [kind.name, kind] as const))('The lists of %s', (_name, kind) => {
  test.each([
    ['alone', 1, false],
    ['at once', 12, false],
    ['at once in a transaction', 4, true],
  ])('hold what sorting all rows finds, page by page: %s', async (_way, most, isTransaction) => {
    const one = fc.tuple(list(kind), fc.integer({ min: 1, max: 100 }));
    const lists = fc.array(one, { minLength: 1, maxLength: most });
    await fc.assert(
      fc.asyncProperty(lists, async (all) => {
        // Some of one shape, with equal and with other values.
        const others = all.map(([{ filter, ...rest }, limit]): [List, number] => {
          const owner = typeof filter.owner === 'string' ? { owner: OWNERS[1] } : {};
          return [{ ...rest, filter: { ...filter, ...owner } }, limit];
        });
        const asked = most === 1 ? all : [...all, ...others, ...all];
        const work = () => Promise.all(asked.map(([one, limit]) => walk(one, Math.max(limit, 9))));
        const found = await (isTransaction ? Transactions.of(database).run(work) : work());
        found.forEach((items, i) => {
          const wanted = expected(asked[i]![0]);
          // Jest takes ten times as long to compare them, and is good at saying how they differ.
          if (!isDeepStrictEqual(items, wanted)) expect(items).toEqual(wanted);
        });
      }),
      { numRuns: most === 1 ? 150 : 40 },
    );
  });
});

describe('A cursor', () => {
  const rows = () => listOf(Numbered);
  const cursorOf = async (filter: Filter<Item>, asked: Partial<PageOptions<Item>> = {}) =>
    (await rows().page(filter, { limit: 1, ...asked })).next!;

  test('is good for its own filters and order, with any limit', async () => {
    const lists: [Filter<Item>, Partial<PageOptions<Item>>][] = [
      [{}, {}],
      [{}, { order: 'desc' }],
      [{}, { sort: 'label' }],
      [{}, { sort: 'at' }],
      [{}, { sort: 'at', order: 'desc' }],
      [{ owner: '1' }, {}],
      [{ owner: '2' }, {}],
      [{ owner: '1', state: 'open' }, {}],
      [{ state: null }, {}],
      [{ state: ['open', 'shut'] }, {}],
      [{ at: between(new Date(0)) }, { sort: 'at' }],
      [{ at: between(undefined, new Date(2e12)) }, { sort: 'at' }],
      [{ label: startingWith('L') }, { sort: 'label' }],
    ];
    const cursors = await Promise.all(lists.map(([filter, asked]) => cursorOf(filter, asked)));
    for (const [i, [filter, asked]] of lists.entries()) {
      for (const [j, cursor] of cursors.entries()) {
        const page = rows().page(filter, { limit: 50, cursor, ...asked });
        if (i === j)
          expect((await page).items).toEqual(expected({ kind: Numbered, filter, ...asked }).slice(1, 51));
        else await expect(page).rejects.toMatchObject({ code: 'invalid_cursor' });
      }
    }
  });

  test.each([
    ['at', ['', 'x', '2026-01-01', '2026-02-30T00:00:00.000Z', '-271821-04-20T00:00:00.000Z']],
    ['day', ['', '2026-02-30', '2026-2-1', '2026-01-01T00:00:00.000Z']],
    ['n', ['', '1.0', '2147483648', 'NaN']],
    ['label', ['\0', undefined]],
    ['id', ['1']],
  ] as const)('with a forged value of %s is refused', async (sort, values) => {
    const [mark, id] = String(Buffer.from(await cursorOf({}, { sort }), 'base64url')).split(':');
    for (const value of values) {
      const text = [mark, id, ...(value === undefined ? [] : [value])].join(':');
      const page = rows().page({}, { limit: 1, cursor: Buffer.from(text).toString('base64url'), sort });
      await expect(page).rejects.toMatchObject({ code: 'invalid_cursor' });
    }
  });
});

describe('Pages of a query of a feature', () => {
  /** A rank that is no integer and that many rows share, by TypeORM's builder and by SQL, of the rows of some owners. */
  const RANK = 'sqrt(abs(one.n)::double precision) + 1::double precision / (3 + char_length(one.label))';
  const byBuilder = (kind: Kind, owner: string) =>
    listOf(kind)
      .createQueryBuilder('one')
      .select('one.id', 'id')
      .addSelect(RANK, 'rank')
      .addSelect('one.label', 'label')
      .where('one.owner = :owner', { owner });
  const bySql = (kind: Kind, owner: string) => ({
    sql: `SELECT one.id, ${RANK} AS rank, one.label FROM "${database.getMetadata(kind).tablePath}" AS one WHERE one.owner = $1`,
    parameters: [owner],
  });
  const rankOf = ({ n, label }: Item) => Math.sqrt(Math.abs(n)) + 1 / (3 + Array.from(label).length);
  const found = (kind: Kind, owner: string, order: Direction) => {
    const items = stored.get(kind)!.filter((one) => one.owner === owner);
    const sorted = items.toSorted(
      (a, b) => rankOf(a) - rankOf(b) || compare(a.label, b.label) || compare(a.id, b.id),
    );
    return order === 'asc' ? sorted : sorted.toReversed();
  };

  test.each(KINDS.map((kind) => [kind.name, kind] as const))(
    'of %s hold what it finds, once, in the order of what it selects, and with the columns of the entity',
    async (_name, kind) => {
      for (const write of [byBuilder, bySql])
        for (const order of ['asc', 'desc'] as const)
          for (const isTransaction of [false, true]) {
            const items: Item[] = [];
            const read = async () => {
              for (let cursor: string | undefined; ;) {
                const asked = { limit: 7, cursor, sort: ['rank', 'label'], order };
                const page = await listOf(kind).pageOf(write(kind, '1'), asked);
                items.push(...page.items);
                cursor = page.next;
                if (cursor === undefined) return;
              }
            };
            await (isTransaction ? Transactions.of(database).run(read) : read());
            expect(items).toEqual(found(kind, '1', order));
            expect(items[0]).toBeInstanceOf(kind);
          }
    },
  );

  test('have cursors that are valid only for the same words, query and order', async () => {
    const rows = listOf(Numbered);
    const asked = { limit: 3, sort: ['rank', 'label'] };
    const { next: cursor } = await rows.pageOf(byBuilder(Numbered, '1'), asked);
    const [mark, id, value] = String(Buffer.from(cursor!, 'base64url')).split(/:(.*?):(.*)/s);
    const forged = (...parts: string[]) => Buffer.from(parts.join(':')).toString('base64url');
    const own = (more: object) => rows.pageOf(byBuilder(Numbered, '1'), { ...asked, cursor, ...more });
    expect((await own({ limit: 9 })).items).toHaveLength(9);
    const values = [
      ...['["x","L"]', '["1","\\u0000"]', '[null,"L"]'].map((text) => forged(mark!, id!, text)),
      cursor!.slice(1),
    ];
    const others = [
      () => rows.pageOf(byBuilder(Numbered, '2'), { ...asked, cursor }),
      () => rows.pageOf(byBuilder(Numbered, '1').andWhere('one.n > 0'), { ...asked, cursor }),
      () => own({ order: 'desc' }),
      () => own({ sort: ['label', 'rank'] }),
      ...[forged(mark!, 'x', value!), ...values].map((other) => () => own({ cursor: other })),
    ];
    for (const other of others) await expect(other()).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  test('need a value of every sort column in each row', async () => {
    const query = listOf(Numbered).createQueryBuilder('one').select('one.id', 'id').addSelect('NULL', 'rank');
    await expect(listOf(Numbered).pageOf(query, { limit: 2, sort: ['rank'] })).rejects.toThrow(
      'A search must return a value of "search"."rank" in every row',
    );
  });
});

test.each([
  [{ n: between(1) }, {}, 'A list of Numbered has a range of n, so it must be sorted by n'],
  [
    { n: [1], owner: ['1'] },
    {},
    'A list of Numbered can be filtered by several values of one property only, not of both n and owner',
  ],
  [{}, { sort: 'state' }, 'Numbered.state can be null'],
  [{}, { sort: 'fine' }, 'Numbered.fine is finer than a millisecond'],
  [{}, { sort: 'read' }, 'Numbered.read has a transformer'],
  [{}, { sort: 'colour' }, 'Numbered has no column colour'],
  [
    { plain: startingWith('p') },
    { sort: 'plain' },
    "Numbered.plain needs the collation 'C' for a filter by prefix",
  ],
])('A list by %j and %j is refused', async (filter, asked, reason) => {
  const page = listOf(Numbered).page(filter, { limit: 1, ...asked } as PageOptions<Item>);
  await expect(page).rejects.toThrow(new TypeError(reason).message);
});

describe('A list of a large table', () => {
  const [FROM, TO] = [new Date('2026-01-05T00:00:00Z'), new Date('2026-01-12T00:00:00Z')];
  const LISTS: [Filter<Item>, Partial<PageOptions<Item>>][] = [
    [{}, {}],
    [{}, { sort: 'at' }],
    [{}, { sort: 'label' }],
    [{ at: between(FROM, TO) }, { sort: 'at' }],
    [{ at: between(FROM) }, { sort: 'at' }],
    [{ at: between(undefined, TO) }, { sort: 'at' }],
    [{ label: startingWith('Luna 2') }, { sort: 'label' }],
    [{ id: between('500', '20000') }, {}],
    [{ owner: '7' }, {}],
    [{ owner: '7' }, { sort: 'at' }],
    [{ owner: '7', at: between(FROM, TO) }, { sort: 'at' }],
    [{ owner: ['3', '7', '9'] }, {}],
    [{ owner: ['3', '7', '9'] }, { sort: 'at' }],
    [{ state: 'rare' }, {}],
    [{ state: null }, {}],
    [{ state: ['rare', 'open'] }, {}],
    [{ state: 'open', owner: '7' }, { sort: 'at' }],
    [{ state: 'open', owner: ['7', '8'] }, { sort: 'at' }],
    [{ state: null, owner: '7' }, { sort: 'at' }],
    [{ id: ['5', '500', '5000'], owner: '7' }, { sort: 'at' }],
  ];

  let planner: Planner;
  beforeAll(async () => {
    await query(
      url,
      `INSERT INTO large (id, owner, state, label, at, day, n, read, fine, plain)
       SELECT i, i % 10, CASE WHEN i % 9999 = 1 THEN 'rare' WHEN i % 3 > 0 THEN 'open' END, 'Luna ' || i,
         '2026-01-01'::timestamptz + i * interval '1 minute', '2026-01-01', i, '', now(), ''
       FROM generate_series(1, ${LARGE}) AS i`,
    );
    await query(url, 'VACUUM ANALYZE large');
    planner = await Planner.connect(url, ['large']);
  }, 600_000);
  afterAll(() => planner.end());

  /** The statements of a list's first page, of one in the middle and of the last; undefined if there is but one. */
  async function depths(
    filter: Filter<Item>,
    asking: Partial<PageOptions<Item>>,
  ): Promise<Sent[] | undefined> {
    const { sort = 'id', order } = asking;
    const rows = listOf(Large);
    const where = whereOf(filter);
    const total = await rows.countBy(where);
    if (total < 3 * PAGE) return undefined;
    const { next } = await rows.page(filter, { limit: 1, ...asking });
    const [mark] = Buffer.from(next!, 'base64url').toString().split(':');
    const statements: Sent[] = [];
    for (const skip of [0, total >> 1, total - PAGE]) {
      const options = { where, order: { [sort]: order, id: order }, skip: skip - 1, take: 1 };
      const [before] = skip === 0 ? [] : await rows.find(options);
      const sorted: unknown = before?.[sort as Sort];
      const value = sort === 'id' ? '' : `:${sorted instanceof Date ? sorted.toISOString() : String(sorted)}`;
      const cursor = before && Buffer.from(`${mark}:${before.id}${value}`).toString('base64url');
      sent.length = 0;
      const page = await rows.page(filter, { limit: PAGE, cursor, ...asking });
      expect([page.items.length, page.next === undefined]).toEqual([PAGE, skip === total - PAGE]);
      statements.push(...sent);
    }
    return statements;
  }

  test('costs as much in the middle and at the end as at the beginning', async () => {
    const table: { buffers: number[]; list: string }[] = [];
    for (const [filter, more] of LISTS) {
      for (const order of ['asc', 'desc'] as const) {
        const statements = await depths(filter, { ...more, order });
        for (const mode of statements ? (['force_generic_plan', 'force_custom_plan'] as const) : []) {
          const buffers: number[] = [];
          for (const statement of statements!) buffers.push(await planner.buffersOf(statement, mode));
          table.push({ buffers, list: JSON.stringify({ filter, ...more, order, mode }) });
        }
      }
    }
    console.log(table.map(({ buffers, list: of }) => `${buffers.join(', ')}: ${of}`).join('\n'));
    // A branch of an index more, or one more row that lies elsewhere; never more than rows, however many there are.
    const most = ({ buffers: [first] }: { buffers: number[] }) => Math.min(2 * first! + 4, 3 * PAGE);
    const costly = table.filter((one) => Math.max(...one.buffers) > most(one));
    expect(costly).toEqual([]);
    expect(table.length).toBeGreaterThan(60);
  }, 600_000);
});
