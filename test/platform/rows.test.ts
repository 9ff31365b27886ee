import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import {
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  Index,
  Like,
  type ObjectLiteral,
  PrimaryGeneratedColumn,
} from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import { belonging, insert, setting } from '../../src/platform/data/insert.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { AccountClosing } from '../../src/platform/safeguards/account-closing.js';
import { connect, type Sent } from '../support/database.js';
import * as kinds from '../support/kinds.js';
import { runNode } from '../support/npm.js';
import { isThorough } from '../support/thorough.js';
import { createDatabase } from '../../src/testing/service.js';

// What a team writes in TypeORM's terms means what TypeORM documents, also many times at once.
const MANY = isThorough ? 50 : 12;
const FEW = 8;
/** At night every kind of entity; else the one that has columns of most types. */
const KINDS = kinds.KINDS.slice(0, isThorough ? undefined : 1);
const RUNS = isThorough ? 150 : 15;

@Entity()
class Owned {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' }) id!: string;

  @Index()
  @Column('bigint')
  accountId!: string;

  @DeleteDateColumn({ type: 'timestamptz' }) deletedAt!: Date | null;
}

/** A row that needs no value. */
@Entity()
class Ticket {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
}

type Item = ObjectLiteral & { label: string };

let database: DataSource;
let transactions: Transactions;
let sent: Sent[];

beforeAll(async () => {
  const databaseUrl = await createDatabase('TEMPLATE template0');
  ({ database, sent } = await connect(databaseUrl, {
    entities: [...kinds.KINDS.map(({ entity }) => entity), kinds.Defaulted, Owned, Ticket],
  }));
  await database.synchronize();
  transactions = Transactions.of(database);
  await database.getRepository(kinds.Identity).insert({ label: 'parent', state: null });
});
afterAll(() => database.destroy());

/** The fast repository of an entity, and TypeORM's own. */
const fast = <Entity extends ObjectLiteral>(type: new () => Entity) =>
  new FastRepository(type, database.manager);
const plain = <Entity extends ObjectLiteral>(type: new () => Entity) => database.getRepository(type);

/** How calls come: one after the other, or all at once; on connections of their own, or in one transaction. */
const WAYS = [
  ['alone', false, false],
  ['at once', true, false],
  ['alone in a transaction', false, true],
  ['at once in a transaction', true, true],
] as const;

type Each<T> = (i: number) => Promise<T>;

async function all<T>(isAtOnce: boolean, each: Each<T>): Promise<T[]> {
  const numbers = Array.from({ length: isAtOnce ? MANY : FEW }, (_, i) => i);
  if (isAtOnce) return Promise.all(numbers.map(each));
  const results: T[] = [];
  for (const i of numbers) results.push(await each(i));
  return results;
}

async function run<T>(isTransaction: boolean, work: () => Promise<T>): Promise<T> {
  return isTransaction ? transactions.run(work) : work();
}

/** What a row is for a test: its class and its properties. */
const seen = (item: ObjectLiteral | null) => item && { is: item.constructor.name, ...item };
const sight = (items: readonly (ObjectLiteral | null)[]) => items.map(seen);

describe.each(KINDS.map((kind) => [kind.entity.name, kind] as const))('%s', (name, { entity, values }) => {
  const rows = () => fast(entity);
  const keyOf = (item: Item) => plain(entity).metadata.getEntityIdMap(item)!;
  const make = (label: string) => (i: number) => ({ label: `${label} ${i}`, ...values(i) });
  const byTypeOrm = (item: Item) => plain(entity).findOneBy(keyOf(item));

  test.each(WAYS)(
    'is added as it was given, under a key of its own: %s',
    async (way, isAtOnce, isTransaction) => {
      const made = make(`${name} ${way}`);
      const added = await run(isTransaction, () => all(isAtOnce, (i) => rows().addRow(made(i))));
      expect(added.map(({ label }) => label)).toEqual(added.map((_item, i) => made(i).label));
      expect(new Set(added.map((item) => JSON.stringify(keyOf(item)))).size).toBe(added.length);
      expect(sight(added)).toEqual(sight(await Promise.all(added.map(byTypeOrm))));
      const several = await run(isTransaction, () => rows().addRows([0, 1, 2].map(made)));
      expect(several.map(({ label }) => label)).toEqual([0, 1, 2].map((i) => made(i).label));
    },
  );

  test.each(WAYS)('is found as TypeORM finds it: %s', async (way, isAtOnce, isTransaction) => {
    const made = make(`${name} found ${way}`);
    const there = await all(isAtOnce, (i) => rows().addRow(made(i)));
    const find: Each<Item | null> = (i) => rows().findRow(keyOf(there[i]!));
    const found = await run(isTransaction, () => all(isAtOnce, find));
    expect(sight(found)).toEqual(sight(await Promise.all(there.map(byTypeOrm))));
    // An item belongs to its caller.
    found[0]!.label = 'changed';
    expect((await find(0))!.label).toBe(made(0).label);
    await plain(entity).delete(keyOf(there[0]!));
    expect(await find(0)).toBeNull();
    await expect(rows().getRow(keyOf(there[0]!) as never, 'pet_not_found')).rejects.toMatchObject({
      code: 'pet_not_found',
    });
  });

  test.each(WAYS)('is changed once by each of many: %s', async (way, isAtOnce, isTransaction) => {
    const row = await rows().addRow(make(`${name} changed ${way}`)(0));
    const change = () => rows().changeRow(keyOf(row), 'pet_not_found', (found) => void (found.label += '+'));
    await run(isTransaction, async () => {
      if (isAtOnce && !isTransaction) await Promise.all(Array.from({ length: FEW }, change));
      else for (let i = 0; i < FEW; i++) await change();
    });
    expect((await byTypeOrm(row))!.label).toBe(row.label + '+'.repeat(FEW));
    const [updated] = await rows().updateRows({ ...keyOf(row) }, { label: 'updated' });
    expect(updated!.label).toBe('updated');
    expect((await byTypeOrm(row))!.label).toBe('updated');
  });
});

/** Texts that an array literal or SQL could misread. */
const ODD = [
  ...['NULL', 'null', '', '{}', '{a,b}', 'a,b', '"', '\\', '\\"', "'", "'; DROP TABLE types --", '$1'],
  ...[':name', '\n', 'e\u0301', '\u2028'],
];
const text = fc
  .oneof(
    fc.constantFrom(...ODD),
    fc.string({ unit: fc.constantFrom(...'"\\,{}\'NUL$: \t'.split('')), maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
  )
  .map((one) => one.replaceAll('\0', ''));
/** Any JSON; what has more digits than a double is below. */
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((one): unknown => JSON.parse(JSON.stringify(one).replaceAll('\\u0000', ''), exact));
const exact = (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isSafeInteger(value) ? String(value) : value;
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);

test('Rows that are added, alone or with others, are each as they were given: every digit, time and character', async () => {
  const types = fc.record({
    label: text,
    price: fc.integer({ min: -1e9, max: 1e9 }).map((cents) => (cents / 100).toFixed(2)),
    day: fc.constantFrom('0001-01-01', '2024-02-29', '9999-12-31'),
    hour: fc.constantFrom('00:00:00', '23:59:59', '09:30:00.123456'),
    json: json.filter((one) => one !== null),
    loose: json,
    // Without a negative zero, which `pg` sends as zero.
    ratio: fc.double({ noNaN: true }).map((number) => number + 0),
    code: fc.constantFrom('abc', '   ', '\'"\\'),
    isOpen: fc.boolean(),
    local: fc.constantFrom(
      ...['2026-02-28T12:00:00.123Z', '1969-12-31T12:59:59.999Z'].map((one) => new Date(one)),
    ),
    bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  });
  const given = fc.array(fc.tuple(types, int64), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(given, async (all) => {
      const added = await Promise.all(all.map(([values]) => fast(kinds.Types).addRow(values)));
      for (const [i, row] of added.entries()) {
        expect(row).toMatchObject(all[i]![0]);
        expect(await plain(kinds.Types).findOneBy({ id: row.id })).toStrictEqual(row);
        expect(await fast(kinds.Types).findRow({ id: row.id })).toStrictEqual(row);
      }
      const ids = new Map(all.map(([{ label }, id]) => [id, label]));
      const signed = await fast(kinds.Signed).addRows([...ids].map(([id, label]) => ({ id, label })));
      for (const row of signed) expect(row.label).toBe(ids.get(row.id));
      for (const id of ids.keys())
        expect(await plain(kinds.Signed).findOneBy({ id })).toEqual({ id, label: ids.get(id) });
      await plain(kinds.Signed).delete([...ids.keys()]);
    }),
    { numRuns: RUNS },
  );
});

describe('Rows that are asked for at the same time', () => {
  test('are looked for by one statement, or by one after that of the first, also where there are none', async () => {
    sent.length = 0;
    const missing = Array.from({ length: FEW }, (_, i) => String(10 ** 12 + i));
    const found = await Promise.all(missing.map((id) => fast(kinds.Identity).findRow({ id })));
    expect(found).toEqual(missing.map(() => null));
    expect([1, 2]).toContain(sent.length);
  });

  test('are separate objects for each caller: no caller sees the changes of another', async () => {
    const types = fast(kinds.Types);
    const { id } = await types.addRow({ label: 'shared', ...kinds.valuesOf(kinds.Types)(1) });
    const [one, other] = await Promise.all([types.findRow({ id }), types.findRow({ id })]);
    const pages = await Promise.all([1, 2].map(() => types.page({ id: [id] }, { limit: 1 })));
    const [first, second] = pages.map(({ items }) => items[0]!);
    for (const row of [one!, first!]) {
      (row.json as { i: number }).i = 99;
      row.local.setFullYear(1999);
      row.bytes[0] = 7;
    }
    const stored = await plain(kinds.Types).findOneByOrFail({ id });
    expect([other, second]).toStrictEqual([stored, stored]);
  });

  test('fail alone, each for its own reason', async () => {
    const ask = (n: number) => fast(kinds.Clashing).page({ n }, { limit: 5 });
    const outcomes = await Promise.allSettled([ask(1), ask(3e9), ask(0)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

test('Rows that are added at the same time are all added except those that are refused, which cost no connection', async () => {
  const { master: pool } = database.driver as PostgresDriver;
  const removed = jest.fn();
  pool.on('remove', removed);
  const add = (i: number) =>
    fast(kinds.Related).addRow({ label: `added ${i}`, parentId: i % 4 ? '1' : '999999999' });
  const settled = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => add(i)));
  for (const [i, outcome] of settled.entries())
    expect(outcome).toMatchObject(
      i % 4
        ? { status: 'fulfilled', value: { label: `added ${i}` } }
        : { status: 'rejected', reason: { driverError: { code: '23503' } } },
    );
  expect(await plain(kinds.Related).countBy({ label: Like('added %') })).toBe(22);
  expect(removed).not.toHaveBeenCalled();
});

test('JSON in a column is read with every digit of its integers, as it was written, alone or at once', async () => {
  const types = fast(kinds.Types);
  const json = { a: JSON.rawJSON('9223372036854775807'), b: [JSON.rawJSON('-9007199254740993'), 1e300, 0.1] };
  const digits = '{"a":9223372036854775807,"b":[-9007199254740993,1e+300,0.1]}';
  const row = { label: 'exact', ...kinds.valuesOf(kinds.Types)(0), json, loose: json };
  const added = await Promise.all([0, 1, 2].map(() => types.addRow(row)));
  const found = await Promise.all(added.map(({ id }) => types.getRow({ id }, 'pet_not_found')));
  await types.changeRow({ id: added[0]!.id }, 'pet_not_found', (one) => (one.ratio = 7));
  const { items } = await types.page({ label: 'exact' }, { limit: 3 });
  for (const one of [...added, ...found, ...items])
    expect([JSON.stringify(one.json), JSON.stringify(one.loose)]).toEqual([digits, digits]);
  // TypeORM's own reading, which the others are compared with, rounds.
  await types.delete({ label: 'exact' });
});

describe('Filters', () => {
  test('and look-ups refuse a value that is missing, where TypeORM would find any row', async () => {
    const rows = fast(kinds.Identity);
    for (const where of [{}, { id: undefined }, { id: null }]) {
      const asked = [
        () => rows.findRow(where as object),
        () => rows.updateRows(where as object, { label: 'x' }),
      ];
      for (const ask of asked) await expect(ask()).rejects.toThrow('The condition has no value for ');
    }
    await expect(rows.findRow({ colour: 'red' } as object)).rejects.toThrow('Identity has no column colour');
  });

  test("for null differ from those for the text 'null'", async () => {
    const rows = fast(kinds.Identity);
    const label = 'spelled';
    await rows.addRows([null, 'null', null, 'null'].map((state) => ({ label, state })));
    for (const [state, other] of [
      [null, 'null'],
      ['null', null],
    ]) {
      const { next: cursor } = await rows.page({ label, state }, { limit: 1 });
      expect((await rows.page({ label, state }, { limit: 1, cursor })).items).toMatchObject([{ state }]);
      const mixed = rows.page({ label, state: other }, { limit: 1, cursor });
      await expect(mixed).rejects.toMatchObject({ code: 'invalid_cursor' });
    }
    const among = await rows.page({ label, state: ['null', null] as string[] }, { limit: 5 });
    expect(among.items).toMatchObject([{ state: 'null' }, { state: 'null' }]);
  });
});

test('Rows that were soft-deleted are neither found nor listed nor changed, alone or at once', async () => {
  const rows = fast(kinds.SoftDeleted);
  const [kept, gone] = [await rows.addRow({ label: 'kept' }), await rows.addRow({ label: 'gone' })];
  await rows.softDelete({ id: gone.id });
  expect(await rows.findRow({ label: 'gone' })).toBeNull();
  const found = await Promise.all([gone, kept].map(({ id }) => rows.findRow({ id })));
  expect(found.map((row) => row?.label)).toEqual([undefined, 'kept']);
  const lists = [{ id: [gone.id, kept.id] }, { label: 'gone' }, { label: 'kept' }];
  const pages = await Promise.all(lists.map((filter) => rows.page(filter, { limit: 5 })));
  expect(pages.map(({ items }) => items.map(({ label }) => label))).toEqual([['kept'], [], ['kept']]);
  const changed = rows.changeRow({ id: gone.id }, 'pet_not_found', (row) => (row.label = 'back'));
  await expect(changed).rejects.toMatchObject({ code: 'pet_not_found' });
  expect(await rows.updateRows({ id: gone.id }, { label: 'back' })).toEqual([]);
});

test('Rows that were soft-deleted are erased with the account that they belong to', async () => {
  const rows = fast(Owned);
  const [gone] = await rows.addRows([{ accountId: '7' }, { accountId: '7' }, { accountId: '8' }]);
  await rows.softDelete({ id: gone!.id });
  const closing = new AccountClosing(transactions);
  closing.erases(Owned);
  await closing.run({ accountId: '7' });
  expect(await rows.find({ withDeleted: true })).toMatchObject([{ accountId: '8' }]);
});

test('Rows with more values than one statement can have are added, all or none', async () => {
  const [rows, count] = [fast(kinds.Types), 4_000];
  const label = 'one of many';
  const value = (i: number) => ({ label, ...kinds.valuesOf(kinds.Types)(i) });
  const many = Array.from({ length: count }, (_, i) => value(i));
  const broken = { ...value(count), id: '1', label: null as unknown as string };
  await expect(rows.addRows([...many, broken])).rejects.toThrow();
  expect(await rows.countBy({ label })).toBe(0);
  const added = await rows.addRows(many);
  expect(new Set(added.map(({ id }) => id)).size).toBe(count);
  await rows.delete({ label });
});

describe('A row that is changed', () => {
  test('has every value that its caller set in place', async () => {
    const { id } = await fast(kinds.Types).addRow({ label: 'place', ...kinds.valuesOf(kinds.Types)(1) });
    await fast(kinds.Types).changeRow({ id }, 'pet_not_found', (row) => {
      (row.json as { i: number }).i = 99;
      row.local.setUTCFullYear(1999);
      row.bytes[0] = 7;
    });
    const { json, local, bytes } = await plain(kinds.Types).findOneByOrFail({ id });
    expect([(json as { i: number }).i, local.getUTCFullYear(), bytes[0]]).toEqual([99, 1999, 7]);
  });

  test('keeps what it is not given, and its times say when', async () => {
    const [rows, id] = [fast(kinds.Dated), '77000'];
    const before = await rows.addRow({ id, label: 'dated', secret: 'kept' });
    // Times are of milliseconds.
    await database.query('SELECT pg_sleep(0.002)');
    const [after] = await rows.updateRows({ id }, { label: 'changed' });
    expect([after!.label, after!.createdAt]).toEqual(['changed', before.createdAt]);
    expect(after!.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
    const [{ secret }] = await database.query('SELECT secret FROM dated WHERE id = $1', [id]);
    expect(secret).toBe('kept');
  });
});

describe('A value that is undefined is not given', () => {
  const rows = () => fast(kinds.Defaulted);
  const byTypeOrm = (id: string) => plain(kinds.Defaulted).findOneByOrFail({ id });
  const withoutId = ({ id: _id, ...values }: ObjectLiteral) => values;
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const fields = {
    n: maybe(fc.integer({ min: -1e9, max: 1e9 })),
    note: maybe(fc.option(text)),
    state: maybe(fc.option(text)),
    json: maybe(fc.oneof(fc.record({ value: json }), fc.array(json, { maxLength: 3 }))),
    loose: maybe(fc.option(json)),
    tags: maybe(fc.array(text, { maxLength: 3 })),
    counts: maybe(fc.option(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { maxLength: 3 }))),
    price: maybe(fc.integer({ min: -1e9, max: 1e9 }).map((units) => (units / 1000).toFixed(3))),
  };
  const given = fc.record(fields, { requiredKeys: [] });

  test("row by row: rows added together are those that TypeORM's insert adds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 6 }), async (all) => {
        const made = all.map((values) => ({ label: 'given', ...values }));
        const added = await rows().addRows(made);
        const twins: string[] = [];
        for (const values of made) {
          const twin: object = plain(kinds.Defaulted).create(values);
          const { identifiers } = await plain(kinds.Defaulted).insert(twin);
          twins.push((identifiers[0] as { id: string }).id);
        }
        for (const [i, row] of added.entries()) {
          const stored = await byTypeOrm(row.id);
          expect(row).toStrictEqual(stored);
          expect(withoutId(stored)).toStrictEqual(withoutId(await byTypeOrm(twins[i]!)));
        }
      }),
      { numRuns: RUNS * 2 },
    );
    const two = await rows().addRows([
      { label: 'a', n: 1, state: 'x' },
      { label: 'b', n: undefined, state: undefined },
    ]);
    expect(two).toMatchObject([
      { n: 1, state: 'x' },
      { n: 7, state: 'initial' },
    ]);
  });

  test("rows changed together are those that TypeORM's update changes, and none are changed by nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 3 }), given, async (all, values) => {
        const made = all.map((one) => ({ label: 'to change', ...one }));
        const [ours, theirs] = [await rows().addRows(made), await rows().addRows(made)];
        const change = values as Partial<kinds.Defaulted>;
        const changed = await rows().updateRows({ id: ours.map(({ id }) => id) }, change);
        if (Object.values(values).some((value) => value !== undefined))
          for (const { id } of theirs) await plain(kinds.Defaulted).update({ id }, change as object);
        expect(changed).toHaveLength(ours.length);
        for (const [i, { id }] of ours.entries()) {
          const stored = await byTypeOrm(id);
          expect(changed.find((row) => row.id === id)).toStrictEqual(stored);
          expect(withoutId(stored)).toStrictEqual(withoutId(await byTypeOrm(theirs[i]!.id)));
        }
      }),
      { numRuns: RUNS * 2 },
    );
    const row = await rows().addRow({ label: 'unchanged' });
    expect(await rows().updateRows({ id: row.id }, { note: undefined })).toStrictEqual([row]);
  });

  test('in a requirement of an insert, which then only locks its row', async () => {
    const row = await rows().addRow({ label: 'required' });
    const missing = () => Promise.reject(new RangeError('missing'));
    const adding = (id: string) =>
      insert(rows(), { label: 'requiring', note: undefined }).requiring(
        setting(rows(), { id }, { note: undefined }, missing),
      );
    expect(await adding(row.id).run()).toMatchObject({ label: 'requiring', note: 'none' });
    await expect(adding('0').run()).rejects.toThrow('missing');
  });
});

test('A row without any value is added alone, with what it requires and with what belongs to it', async () => {
  const tickets = new FastRepository(Ticket, database.manager);
  const owned = new FastRepository(Owned, database.manager);
  const { id } = await insert(tickets, {}).run();
  const required = setting(tickets, { id }, {}, () => Promise.reject(new RangeError('missing')));
  const adding = insert(tickets, {})
    .requiring(required)
    .with(belonging(owned, {}, { accountId: 'id' }));
  expect(await owned.findRow({ accountId: (await adding.run()).id })).not.toBeNull();
});

test("TypeORM's stream of rows is refused, and leaves its connection to others: RowStreams has its own", async () => {
  const runner = database.createQueryRunner();
  const stream = await runner.stream('SELECT 1');
  await expect(stream.toArray()).rejects.toThrow('pg-query-stream are not supported in pipeline mode');
  expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await runner.release();
});

test.each(isThorough ? ['UTC', 'Asia/Kolkata', 'America/St_Johns'] : ['America/St_Johns'])(
  'Times are stored and read as TypeORM does where the time zone is %s',
  async (TZ) => {
    const script = fileURLToPath(new URL('../support/times-in-zone.js', import.meta.url));
    const { stdout, stderr } = await runNode([script], { env: { TZ, DATABASE_URL: await createDatabase() } });
    expect(stderr).toBe('');
    const times = JSON.parse(stdout) as Record<
      'time' | 'stored' | 'storedByTypeOrm' | 'read' | 'readByTypeOrm',
      string
    >[];
    expect(times).toHaveLength(4);
    for (const { time, stored, storedByTypeOrm, read, readByTypeOrm } of times) {
      expect(stored).toBe(storedByTypeOrm);
      expect([read, readByTypeOrm]).toEqual([JSON.stringify([time, time]), read]);
    }
  },
);
