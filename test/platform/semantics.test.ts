import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { DataSource, type EntityManager, Like, type ObjectLiteral, type Repository } from 'typeorm';
import QueryStream from 'pg-query-stream';
import { Config } from '../../src/config.js';
import '../../src/features.js';
import type { Page } from '../../src/platform/api/paging.js';
import type { Put } from '../../src/platform/api/reply.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import { commandOptions } from '../../src/platform/database/connection-options.js';
import { DeadlineClient } from '../../src/platform/database/deadline-client.js';
import { whyNotPrepared } from '../../src/platform/data/typeorm-rows.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { call, createAccount, createKey } from '../../src/testing/client.js';
import { connect, type Sent } from '../support/database.js';
import * as kinds from '../support/kinds.js';
import { eventually, runNode } from '../support/npm.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

/** Whatever a team writes in TypeORM's terms means what TypeORM documents, also 50 times at once. */
const MANY = 50;
const FEW = 8;

type Item = ObjectLiteral & { label: string };

interface Kind {
  entity: new () => Item;
  /** Values besides the label. */
  values?: (i: number) => ObjectLiteral;
  /** Why it is left to TypeORM; undefined where it is not. */
  reason?: string;
  /** Whether it has a single key, by which its rows can be put in order. */
  pages?: boolean;
}

const parent = { id: '1' };
let nextId = 0;
const KINDS: Kind[] = [
  { entity: kinds.Identity, values: (i) => ({ state: i % 2 ? 'open' : null }) },
  { entity: kinds.Serial },
  { entity: kinds.Uuid },
  { entity: kinds.Given, values: () => ({ id: randomUUID() }) },
  {
    entity: kinds.Composite,
    values: () => ({ left: '9007199254740993', right: randomUUID() }),
    pages: false,
  },
  { entity: kinds.OtherSchema },
  {
    entity: kinds.Types,
    values: (i) => ({
      price: `${i}.5`,
      day: '2026-02-28',
      hour: '09:30:00',
      json: { i, nested: ["O'Brien", null, { a: 'ä"\\' }] },
      loose: i % 2 ? [1, 'two'] : null,
      ratio: i / 3,
      code: 'abc',
      local: new Date(Date.UTC(2026, 1, 28, 12, 0, i)),
      bytes: Buffer.from([0, 255, i]),
    }),
  },
  {
    entity: kinds.Lists,
    values: (i) => ({ tags: ['a,b', `{"${i}"}`, ''], numbers: i % 2 ? ['1', '2'] : null }),
  },
  { entity: kinds.Dated, values: (i) => ({ secret: `s${i}` }) },
  { entity: kinds.SoftDeleted },
  { entity: kinds.Transformed },
  {
    entity: kinds.Instances,
    values: (i) => ({ price: new kinds.Money(i), labels: i % 2 ? new Map([['a', `${i}`]]) : null }),
  },
  {
    entity: kinds.Clashing,
    values: (i) => ({ page: `p${i % 3}`, limit: 'l', n: i % 2, ids: 'i', list: `'"$1` }),
  },
  { entity: kinds.Related, values: () => ({ parentId: '1' }) },
  { entity: kinds.Initialized },
  { entity: kinds.Signed, values: () => ({ id: String(nextId++ - 400) }) },
  { entity: kinds.Versioned, reason: 'the column version is a version' },
  { entity: kinds.Embedded, values: (i) => ({ address: { city: `c${i}` } }), reason: 'address is embedded' },
  { entity: kinds.Eager, values: () => ({ parent }), reason: 'the relation parent is eager' },
  {
    entity: kinds.Lazy,
    values: () => ({ parent: Promise.resolve(parent) }),
    reason: 'the relation parent is lazy',
  },
  { entity: kinds.Listening, reason: 'note listens to it' },
  { entity: kinds.Inherited, reason: 'it is part of a hierarchy' },
  { entity: kinds.Enumerated, values: () => ({ size: 'small' }), reason: 'the column size is of type enum' },
  { entity: kinds.Audited, reason: 'Audit subscribes to it' },
];

let database: DataSource;
let databaseUrl: string;
let transactions: Transactions;
let sent: Sent[];

beforeAll(async () => {
  databaseUrl = await createDatabase();
  await query(databaseUrl, 'CREATE SCHEMA other');
  // A table of that name on the search path must not be written instead.
  const entities = Object.values(kinds).filter((one) => one !== kinds.Audit && one !== kinds.Money);
  ({ database, sent } = await connect(databaseUrl, {
    entities,
    subscribers: [kinds.Audit],
    synchronize: true,
  }));
  transactions = Transactions.of(database);
  await database.getRepository(kinds.Identity).insert({ label: 'parent', state: null });
}, 60_000);
afterAll(() => database.destroy());

test('JSON in a column is read with every digit of its integers, as it was written, alone or at once', async () => {
  const types = new FastRepository<kinds.Types>(kinds.Types, database.manager);
  const { values = () => ({}) } = KINDS.find(({ entity }) => entity === kinds.Types)!;
  const json = { a: JSON.rawJSON('9223372036854775807'), b: [JSON.rawJSON('-9007199254740993'), 1e300, 0.1] };
  const text = '{"a":9223372036854775807,"b":[-9007199254740993,1e+300,0.1]}';
  const added = await Promise.all(
    [0, 1, 2].map((i) => types.addRow({ label: 'exact', ...values(i), json, loose: json })),
  );
  const found = await Promise.all(added.map(({ id }) => types.getRow({ id }, 'pet_not_found')));
  await types.changeRow({ id: added[0]!.id }, 'pet_not_found', (row) => (row.ratio = 7));
  const { items } = await types.page({ label: 'exact' }, { limit: 3 });
  for (const row of [...added, ...found, ...items])
    expect([JSON.stringify(row.json), JSON.stringify(row.loose)]).toEqual([text, text]);
  // TypeORM's own reading, which the others are compared with, rounds.
  await types.delete({ label: 'exact' });
});

const cases = KINDS.map((kind) => [kind.entity.name, kind] as const);

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

let nextKey = 1_000_000;
/** A key that no row has. */
function newKey({ metadata }: Repository<Item>): ObjectLiteral {
  const keys = metadata.primaryColumns.map(({ propertyName, type }) => {
    if (type === 'uuid' || type === 'text') return [propertyName, randomUUID()];
    return [propertyName, type === 'bigint' ? String(nextKey++) : nextKey++];
  });
  return Object.fromEntries(keys);
}

/** What a row is for a test: its properties, and those that a relation loads. */
async function seen(item: ObjectLiteral | null): Promise<unknown> {
  if (item === null) return null;
  const loaded = 'parent' in item ? { parent: await (item.parent as unknown) } : {};
  return { is: item.constructor.name, ...item, ...loaded, __parent__: undefined, __has_parent__: undefined };
}

const sight = (items: readonly ObjectLiteral[]) => Promise.all(items.map(seen));

describe.each(cases)('%s', (name, { entity, values = () => ({}), reason, pages = true }) => {
  let fast: FastRepository<Item>;
  let plain: Repository<Item>;
  const keyOf = (item: Item) => plain.metadata.getEntityIdMap(item)!;
  const make = (label: string) => (i: number) => ({ label: `${label} ${i}`, ...values(i) });
  const byTypeOrm = (item: Item) => plain.findOneBy(keyOf(item));

  beforeAll(async () => {
    plain = database.getRepository<Item>(entity);
    fast = new FastRepository<Item>(entity, database.manager);
    // More than one page.
    for (let i = 0; i < MANY; i++) await fast.addRow(make(`${name} before`)(i));
  });

  test(reason ? `is left to TypeORM, since ${reason}` : 'is served by prepared statements', () => {
    expect(whyNotPrepared(plain.metadata)).toBe(reason);
  });

  test.each(WAYS)(
    'is added as it was given, under a key of its own: %s',
    async (way, isAtOnce, isTransaction) => {
      const made = make(`${name} ${way}`);
      const added = await run(isTransaction, () => all(isAtOnce, (i) => fast.addRow(made(i) as Item)));
      expect(added.map(({ label }) => label)).toEqual(added.map((_item, i) => made(i).label));
      expect(new Set(added.map((item) => JSON.stringify(keyOf(item)))).size).toBe(added.length);
      expect(await sight(added)).toEqual(await sight((await Promise.all(added.map(byTypeOrm))) as Item[]));
      const rows = await run(isTransaction, () =>
        fast.addRows([0, 1, 2].map((i) => made(i) as Item)).catch(String),
      );
      // A key that is given is taken by then.
      const isTaken = typeof rows === 'string';
      if (!isTaken) expect(rows.map(({ label }) => label)).toEqual([0, 1, 2].map((i) => made(i).label));
    },
  );

  test('is added, changed and set by works that write one row each, alone and many at once', async () => {
    const others = new FastRepository(kinds.Serial, database.manager);
    for (const isAtOnce of [false, true]) {
      const made = make(`${name} works ${isAtOnce}`);
      // Which kinds of works can do with one statement, the first of each shows.
      const works = async <T>(kind: string, each: Each<T>): Promise<T[]> => {
        sent.length = 0;
        const done = await all(isAtOnce, (i) => transactions.writesRow(`${name} ${kind}`, () => each(i)));
        const statements = sent.filter(({ text }) => text.startsWith('WITH gate')).length;
        const isOneForMany = isAtOnce && !reason && entity !== kinds.Lists;
        if (isOneForMany) expect(statements).toBeLessThan(MANY / 4);
        return done;
      };
      const added = await works('add', (i) => fast.addRow(made(i) as Item));
      expect(added.map(({ label }) => label)).toEqual(added.map((_item, i) => made(i).label));
      expect(await sight(added)).toEqual(await sight((await Promise.all(added.map(byTypeOrm))) as Item[]));
      const changed = await works('change', (i) =>
        fast.changeRow(keyOf(added[i]!), 'pet_not_found', (row) => (row.label += '+')),
      );
      expect(changed.map(({ label }) => label)).toEqual(changed.map((_item, i) => `${made(i).label}+`));
      expect(await sight(changed)).toEqual(
        await sight((await Promise.all(changed.map(byTypeOrm))) as Item[]),
      );
      const along = await works('set', async (i) => {
        await fast.setRow(keyOf(added[i]!), { label: `set ${i}` });
        return others.addRow({ label: `${name} ${i}` }, () =>
          others.addRowsAtCommit({ label: `along ${i}` }),
        );
      });
      expect(along.map(({ label }) => label)).toEqual(along.map((_item, i) => `${name} ${i}`));
      const set = (await Promise.all(added.map(byTypeOrm))) as Item[];
      expect(set.map(({ label }) => label)).toEqual(set.map((_item, i) => `set ${i}`));
      expect(await others.countBy({ label: Like('along %') })).toBe(added.length);
      await others.delete({ label: Like('along %') });
    }
  });

  test.each(WAYS)('is found as TypeORM finds it: %s', async (way, isAtOnce, isTransaction) => {
    const made = make(`${name} found ${way}`);
    const rows = await all(isAtOnce, (i) => fast.addRow(made(i) as Item));
    const find: Each<Item | null> = (i) => fast.findRow(keyOf(rows[i]!));
    const found = await run(isTransaction, () => all(isAtOnce, find));
    expect(await sight(found as Item[])).toEqual(
      await sight((await Promise.all(rows.map(byTypeOrm))) as Item[]),
    );
    // An item belongs to its caller.
    found[0]!.label = 'changed';
    expect((await find(0))!.label).toBe(made(0).label);
    await plain.delete(keyOf(rows[0]!));
    expect(await find(0)).toBeNull();
    await expect(fast.getRow(keyOf(rows[0]!) as never, 'pet_not_found')).rejects.toMatchObject({
      code: 'pet_not_found',
    });
  });

  test.each(WAYS)('is changed once by each of many: %s', async (way, isAtOnce, isTransaction) => {
    const row = await fast.addRow(make(`${name} changed ${way}`)(0));
    const before = row.label.length;
    // TypeORM's own way to change a row takes a lock and three statements, so a few do.
    const few = Array.from({ length: 8 });
    const change = async () => {
      await fast.changeRow(keyOf(row), 'pet_not_found', (found) => (found.label += '+'));
    };
    await run(isTransaction, async () => {
      if (isAtOnce && !isTransaction) await Promise.all(few.map(change));
      else for (let i = 0; i < few.length; i++) await change();
    });
    const after = (await byTypeOrm(row))!;
    expect(after.label.length).toBe(before + few.length);
    const [updated] = await fast.updateRows({ ...keyOf(row) }, { label: 'updated' });
    expect(updated!.label).toBe('updated');
    expect((await byTypeOrm(row))!.label).toBe('updated');
  });

  // PostgreSQL assigns the key of the first kind, always.
  (entity === kinds.Identity ? test.skip.each(WAYS) : test.each(WAYS))(
    'is put under a key that the caller gives, and added once: %s',
    async (way, isAtOnce, isTransaction) => {
      const key = newKey(plain);
      const put: Each<Put<Item>> = (i) =>
        fast.putRow(key, { ...values(i), ...key, label: `put ${way} ${i}` }, 'pet_not_found');
      const every = await run(isTransaction, () => all(isAtOnce, put));
      expect(every.filter(({ isCreated }) => isCreated)).toHaveLength(1);
      expect(new Set(every.map(({ row }) => row.label)).size).toBe(every.length);
      for (const { row } of every) expect(keyOf(row)).toEqual(keyOf(every[0]!.row));
      const last = await run(isTransaction, () => put(0));
      expect([last.isCreated, await seen(last.row)]).toEqual([false, await seen(await byTypeOrm(last.row))]);
      // What is there has another label.
      const other = run(isTransaction, () =>
        fast.putRow({ ...key, label: 'other' }, { ...values(0), ...key }, 'pet_not_found'),
      );
      await expect(other).rejects.toMatchObject({ code: 'pet_not_found' });
      expect((await byTypeOrm(last.row))!.label).toBe(last.row.label);
    },
  );

  test('has what is stored where a change sets undefined, or nothing', async () => {
    const row = await fast.addRow(make(`${name} undefined`)(1));
    const unset = Object.fromEntries(Object.keys(row).map((property) => [property, undefined]));
    const { label, ...others } = unset;
    const [updated] = await fast.updateRows({ ...keyOf(row) }, { ...others, label: 'set' });
    expect(await seen(updated!)).toEqual(await seen(await byTypeOrm(row)));
    expect(updated!.label).toBe('set');
    const [same] = await fast.updateRows({ ...keyOf(row) }, { ...others, label });
    expect(await seen(same!)).toEqual(await seen(await byTypeOrm(row)));
    const { id: _id, left: _left, right: _right, ...loose } = unset;
    for (const changes of [{ ...loose, label: 'changed' }, loose]) {
      const changed = await fast.changeRow(keyOf(row), 'pet_not_found', (found) => {
        for (const property of Object.keys(loose)) delete (found as ObjectLiteral)[property];
        Object.assign(found, changes);
      });
      expect(await seen(changed)).toEqual(await seen(await byTypeOrm(row)));
      expect(changed.label).toBe('changed');
    }
  });

  (pages ? test.each(WAYS) : test.skip.each(WAYS))(
    'comes in pages that hold what TypeORM finds: %s',
    async (_way, isAtOnce, isTransaction) => {
      const rows = fast as unknown as FastRepository<Item & { id: string }>;
      const walk: Each<Item[]> = async (i) => {
        const items: Item[] = [];
        let page: Page<Item & { id: string }> | undefined;
        // A transaction has two seconds for all of its statements, which go over one connection.
        const limit = isTransaction && isAtOnce ? 47 + (i % 2) * 40 : 7 + (i % 3) * 40;
        do {
          page = await rows.page({}, { limit, cursor: page?.next });
          items.push(...page.items);
        } while (page.next);
        return items;
      };
      const walks = await run(isTransaction, () =>
        isAtOnce ? all(true, walk) : walk(0).then((one) => [one]),
      );
      const expected = await sight(await plain.find({ order: { id: 'ASC' } }));
      for (const items of walks) {
        const found = await sight(items);
        // Jest takes ten times as long to compare them, and is good at saying how they differ.
        if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
      }
      // A service may set what it likes on its items.
      walks[0]![0]!.label = 'mine alone';
      for (const items of walks.slice(1)) expect(items[0]!.label).not.toBe('mine alone');
    },
  );

  test("is the same to TypeORM's own methods as to a repository of TypeORM's", async () => {
    const made = make(`${name} own`);
    const saved = await all(true, async (i) => {
      const item = fast.create(made(i) as Item);
      await fast.insert(item);
      return item;
    });
    expect(saved.map(({ label }) => label)).toEqual(saved.map((_item, i) => made(i).label));
    const found = await all(true, (i) => fast.findOneBy(keyOf(saved[i]!)));
    const expected = (await Promise.all(saved.map(byTypeOrm))) as Item[];
    expect(await sight(found as Item[])).toEqual(await sight(expected));
    expect(
      Object.getOwnPropertyNames(FastRepository.prototype).filter(
        (one) => one in Object.getPrototypeOf(FastRepository.prototype),
      ),
    ).toEqual(['constructor']);
  });
});

describe('Filters', () => {
  const clashing = () => new FastRepository(kinds.Clashing, database.manager);
  const identity = () => new FastRepository(kinds.Identity, database.manager);
  const rowsOf = (entity: unknown) => {
    const { values } = KINDS.find((kind) => kind.entity === entity)!;
    return Array.from({ length: MANY }, (_, i) => ({ label: `filtered ${i}`, ...values!(i) }));
  };

  beforeAll(async () => {
    await clashing().addRows(rowsOf(kinds.Clashing));
    await identity().addRows(rowsOf(kinds.Identity));
  });

  test('by properties whose names statements use themselves hold the same rows alone and at once', async () => {
    const filters = [{ page: 'p1' }, { n: 1 }, { ids: 'i', list: `'"$1` }, { limit: 'l', page: 'p2', n: 0 }];
    const ask = (filter: object) => clashing().page(filter, { limit: 100 });
    const alone: kinds.Clashing[][] = [];
    for (const filter of filters) alone.push((await ask(filter)).items);
    const together = await Promise.all(
      filters.flatMap((filter) => Array.from({ length: 20 }, () => ask(filter))),
    );
    together.forEach(({ items }, i) => expect(items).toEqual(alone[Math.floor(i / 20)]));
    const rows = database.getRepository(kinds.Clashing);
    const order = { id: 'ASC' } as const;
    expect(alone).toEqual(await Promise.all(filters.map((where) => rows.find({ where, order, take: 100 }))));
    expect(alone.map(({ length }) => length > 0)).toEqual([true, true, true, true]);
  });

  test('by no value hold the rows without one, alone and at once', async () => {
    const rows = await database.getRepository(kinds.Identity).find({ order: { id: 'ASC' } });
    const expected = rows.filter(({ state }) => state === null).slice(0, 100);
    expect(expected.length).toBeGreaterThan(20);
    const asked = Array.from({ length: MANY }, () => identity().page({ state: null }, { limit: 100 }));
    for (const page of await Promise.all(asked)) expect(page.items).toEqual(expected);
  });

  test('by a list of ids hold those that there are', async () => {
    const rows = await identity().addRows([1, 2, 3].map((n) => ({ label: `listed ${n}`, state: null })));
    const [one, two, three] = rows.map(({ id }) => id);
    const ids = [one!, three!, '999999999', two!];
    const page = await identity().page({ id: ids, state: undefined }, { limit: 2 });
    expect(page.items.map(({ id }) => id)).toEqual([one, two]);
    const rest = await identity().page({ id: ids }, { limit: 2, cursor: page.next });
    expect(rest.items.map(({ id }) => id)).toEqual([three]);
    expect(rest.next).toBeUndefined();
  });

  test('and look-ups refuse a value that is missing, where TypeORM would find any row', async () => {
    for (const where of [{}, { id: undefined }, { id: null }]) {
      await expect(identity().findRow(where as object)).rejects.toThrow('No value to look for');
      await expect(identity().updateRows(where as object, { label: 'all' })).rejects.toThrow(
        'No value to look for',
      );
    }
    await expect(identity().findRow({ colour: 'red' } as object)).rejects.toThrow(
      'Identity has no column colour',
    );
  });
});

test.each([
  [
    'a list in the order of numbers',
    kinds.Identity,
    ['x', 'after:007', 'after:9223372036854775808', 'after:'],
  ],
  ['a list in the order of smaller numbers', kinds.Serial, ['after:2147483648', 'after:1.0']],
  ['a list in the order of UUIDs', kinds.Uuid, ['after:1', 'after:0198F2A4-0000-7000-8000-000000000001']],
])('%s refuses a cursor that it did not write', async (_what, entity, texts) => {
  const rows = new FastRepository<{ id: string }>(entity, database.manager);
  for (const text of texts) {
    const cursor = Buffer.from(text).toString('base64url');
    await expect(rows.page({}, { limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_cursor' });
  }
});

test('A subscriber hears of every row that a fast method adds', async () => {
  const rows = new FastRepository(kinds.Audited, database.manager);
  const [alone, together] = [1, 2].map((round) =>
    Array.from({ length: MANY }, (_, i) => `heard of ${round}.${i}`),
  );
  await Promise.all(alone!.map((label) => rows.addRow({ label })));
  await rows.addRows(together!.map((label) => ({ label })));
  const told = kinds.Audit.told.filter((label) => label.startsWith('heard of '));
  expect(told.toSorted()).toEqual([...alone!, ...together!].toSorted());
});

test('A subscriber that comes later is told from then on', async () => {
  const rows = new FastRepository(kinds.Uuid, database.manager);
  const told: string[] = [];
  const late = {
    listenTo: () => kinds.Uuid,
    afterInsert: ({ entity }: { entity: kinds.Uuid }) => void told.push(entity.label),
  };
  await rows.addRow({ label: 'before' });
  database.subscribers.push(late);
  await rows.addRow({ label: 'after' });
  database.subscribers.pop();
  expect(told).toEqual(['after']);
});

test('A repository of a transaction works in it, and so do all in `Transactions.run`', async () => {
  const rows = new FastRepository(kinds.Identity, database.manager);
  const count = () => database.getRepository(kinds.Identity).countBy({ label: 'undone' });
  const undone = new RangeError('undone');
  for (const work of [
    () =>
      database.transaction(async (own) => {
        await own.withRepository(rows).addRow({ label: 'undone', state: null });
        expect(await own.countBy(kinds.Identity, { label: 'undone' })).toBe(1);
        throw undone;
      }),
    () =>
      transactions.run(async () => {
        await rows.addRow({ label: 'undone', state: null });
        expect(await rows.findRow({ label: 'undone' })).not.toBeNull();
        throw undone;
      }),
  ]) {
    await expect(work()).rejects.toBe(undone);
    expect(await count()).toBe(0);
  }
});

test('A property with a relation is written as TypeORM writes it', async () => {
  const rows = new FastRepository(kinds.Related, database.manager);
  const { id } = await rows.addRow({ label: 'by relation', parent: { id: '1' } as kinds.Identity });
  expect(await rows.findRow({ id })).toMatchObject({ parentId: '1' });
});

describe('What one caller does', () => {
  const types = () => new FastRepository(kinds.Types, database.manager);
  const made = KINDS.find(({ entity }) => entity === kinds.Types)!.values!;
  const add = () => types().addRow({ label: 'shared', ...made(1) });

  test('to a value of its row is seen by no other', async () => {
    const { id } = await add();
    const [one, other] = await Promise.all([types().findRow({ id }), types().findRow({ id })]);
    const pages = await Promise.all([
      types().page({ id: [id] }, { limit: 1 }),
      types().page({ id: [id] }, { limit: 1 }),
    ]);
    const [first, second] = pages.map(({ items }) => items[0]!);
    for (const row of [one!, first!]) {
      (row.json as { i: number }).i = 99;
      row.local.setFullYear(1999);
      row.bytes[0] = 7;
    }
    const stored = await database.getRepository(kinds.Types).findOneByOrFail({ id });
    expect(other).toStrictEqual(stored);
    expect(second).toStrictEqual(stored);
  });

  test('to an instance that a transformer has made is seen by no other, and is saved', async () => {
    const rows = new FastRepository(kinds.Instances, database.manager);
    const plain = database.getRepository(kinds.Instances);
    const { id } = await rows.addRow({
      label: 'instances',
      price: new kinds.Money(5),
      labels: new Map([['a', '1']]),
    });
    const [one, other] = await Promise.all([rows.findRow({ id }), rows.findRow({ id })]);
    one!.labels!.set('a', 'mine');
    expect([other!.price.cents, other!.labels!.get('a')]).toEqual([5, '1']);
    await rows.changeRow({ id }, 'pet_not_found', (row) => {
      row.price = new kinds.Money(7);
      row.labels!.set('b', '2');
    });
    const stored = await plain.findOneByOrFail({ id });
    expect([stored.price.cents, [...stored.labels!]]).toEqual([
      7,
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ]);
  });

  test('to a value of the row that it changes is saved', async () => {
    const { id } = await add();
    await types().changeRow({ id }, 'pet_not_found', (row) => {
      (row.json as { i: number }).i = 99;
      row.local.setUTCFullYear(1999);
      row.bytes[0] = 7;
    });
    const stored = await database.getRepository(kinds.Types).findOneByOrFail({ id });
    expect([(stored.json as { i: number }).i, stored.local.getUTCFullYear(), stored.bytes[0]]).toEqual([
      99, 1999, 7,
    ]);
  });

  test('wrong in a filter is its own failure', async () => {
    const rows = new FastRepository(kinds.Clashing, database.manager);
    const ask = (n: number) => rows.page({ n }, { limit: 5 });
    const [good, bad, other] = await Promise.allSettled([ask(1), ask(3e9), ask(0)]);
    expect([good.status, bad.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe("TypeORM's stream of rows", () => {
  const rows = () => database.getRepository(kinds.Signed);
  const all = async (manager = database.manager) => {
    const stream = await manager.createQueryBuilder(kinds.Signed, 's').orderBy('s.id').stream();
    const ids: string[] = [];
    for await (const row of stream) {
      ids.push((row as { s_id: string }).s_id);
      if (ids.length % 100 === 0) await sleep(5);
    }
    return ids;
  };
  let expected: string[];
  beforeAll(async () => {
    const many = Array.from({ length: 700 }, (_, i) => ({ id: String(4e6 + i), label: 'streamed' }));
    await rows().insert(many);
    expected = (await rows().find({ order: { id: 'ASC' } })).map(({ id }) => id);
  });

  test('holds all of them, for several at once and beside other statements', async () => {
    const fast = new FastRepository(kinds.Signed, database.manager);
    const streams = Array.from({ length: 12 }, () => all());
    const found = await Promise.all(expected.slice(0, 50).map((id) => fast.findRow({ id })));
    expect(found.map((row) => row!.id)).toEqual(expected.slice(0, 50));
    for (const ids of await Promise.all(streams)) expect(ids).toEqual(expected);
  });

  test('is one statement of its transaction, before and after others', async () => {
    const fast = new FastRepository(kinds.Signed, database.manager);
    const [before, during, after] = await transactions.run(async (manager) => {
      // Neither waits for the other.
      const added = [fast.addRow({ id: '5000000', label: 'before' }), all(manager)] as const;
      const [row, ids] = await Promise.all(added);
      const counts = await Promise.all([1, 2, 3].map(() => fast.findRow({ id: row.id })));
      return [row, ids, counts] as const;
    });
    expect(during).toEqual([...expected, before.id]);
    expect(after.map((row) => row!.label)).toEqual(['before', 'before', 'before']);
    await rows().delete({ id: before.id });
  });

  test('waits for a reader who pauses for longer than a server may be silent', async () => {
    const client = new DeadlineClient({ connectionString: databaseUrl, silenceMs: 100 });
    await client.connect();
    const stream = client.query(new QueryStream('SELECT n FROM generate_series(1, 500) n'));
    const read: number[] = [];
    for await (const { n } of stream as AsyncIterable<{ n: number }>) {
      if (read.push(n) === 100) await sleep(500);
    }
    expect(read.length).toBe(500);
    // From then on, silence counts again.
    await expect(client.query('SELECT pg_sleep(5)')).rejects.toThrow('fallen silent');
  });

  test('fails for what PostgreSQL refuses it for, and leaves the connection to others', async () => {
    const runner = database.createQueryRunner();
    const stream = await runner.stream('SELECT 1 / (3 - n) FROM generate_series(1, 5) n');
    await expect(stream.toArray()).rejects.toThrow('division by zero');
    expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await runner.release();
  });
});

test.each(['UTC', 'Asia/Kolkata', 'America/St_Johns'])(
  'Times are stored and read as TypeORM does where the time zone is %s',
  async (TZ) => {
    const script = fileURLToPath(new URL('../support/times-in-zone.js', import.meta.url));
    const { stdout, stderr } = await runNode([script], { env: { TZ, DATABASE_URL: await createDatabase() } });
    expect(stderr).toBe('');
    const all = JSON.parse(stdout) as { time: string; stored: string[]; read: string[]; isExact: boolean }[];
    expect(all.length).toBeGreaterThan(5);
    for (const { time, stored, read, isExact } of all) {
      const [plain, ...ours] = stored;
      expect([time, isExact, new Set(ours).size, new Set(read).size]).toEqual([time, true, 1, 1]);
      // `pg` by itself cuts off the seconds that offsets had before 1900.
      const isOdd = TZ !== 'UTC' && /^(?:18|00|-0)/.test(time);
      const localOf = (text: string) => (isOdd ? JSON.parse(text)[0].local : text);
      expect(localOf(ours[0]!)).toBe(localOf(plain!));
    }
  },
);

test('Rows that are not there are looked for together, too', async () => {
  sent.length = 0;
  const missing = Array.from({ length: MANY }, (_, i) => String(10 ** 12 + i));
  const rows = new FastRepository(kinds.Identity, database.manager);
  expect(await Promise.all(missing.map((id) => rows.findRow({ id })))).toEqual(missing.map(() => null));
  expect(sent.length).toBe(1);
});

test.each([
  [kinds.Composite, 'its key is not one column `id`'],
  [kinds.Named, 'its key is not one column `id`'],
])('A list of %p is refused, as its rows cannot be put in the order of their ids', async (entity, reason) => {
  const rows = new FastRepository<{ id: string }>(entity, database.manager);
  await expect(rows.page({}, { limit: 1 })).rejects.toThrow(reason);
});

test('Rows that were soft-deleted are neither found nor listed nor changed, alone or at once', async () => {
  const rows = new FastRepository(kinds.SoftDeleted, database.manager);
  const [kept, gone] = [await rows.addRow({ label: 'kept' }), await rows.addRow({ label: 'gone' })];
  await rows.softDelete({ id: gone.id });
  expect(await rows.findRow({ id: gone.id })).toBeNull();
  expect(await rows.findRow({ label: 'gone' })).toBeNull();
  const found = await Promise.all([gone, kept].map(({ id }) => rows.findRow({ id })));
  expect(found.map((row) => row?.label)).toEqual([undefined, 'kept']);
  const lists = [{ id: [gone.id, kept.id] }, { label: 'gone' }, { label: 'kept' }];
  const pages = await Promise.all(lists.map((filter) => rows.page(filter, { limit: 5 })));
  expect(pages.map(({ items }) => items.map(({ label }) => label))).toEqual([['kept'], [], ['kept']]);
  const changed = rows.changeRow({ id: gone.id }, 'pet_not_found', (row) => (row.label = 'back'));
  await expect(changed).rejects.toMatchObject({ code: 'pet_not_found' });
  expect(await rows.updateRows({ id: gone.id }, { label: 'back' })).toEqual([]);
  const put = rows.putRow({ id: gone.id }, { label: 'back' }, 'pet_not_found');
  await expect(put).rejects.toMatchObject({ code: 'pet_not_found' });
});

test('A row that is put is one statement, and keeps what it is not given', async () => {
  const rows = new FastRepository(kinds.Dated, database.manager);
  const id = '77000';
  const { row: before } = await rows.putRow({ id }, { label: 'dated', secret: 'kept' }, 'pet_not_found');
  // Times are of milliseconds.
  await database.query('SELECT pg_sleep(0.002)');
  sent.length = 0;
  const { row: after, isCreated } = await rows.putRow({ id }, { label: 'changed' }, 'pet_not_found');
  expect(sent).toEqual([
    { text: expect.stringMatching(/^INSERT INTO "dated" .* ON CONFLICT/), values: expect.anything() },
  ]);
  expect([isCreated, after.label, after.createdAt]).toEqual([false, 'changed', before.createdAt]);
  expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
  const [{ secret }] = await database.query('SELECT secret FROM dated WHERE id = $1', [id]);
  expect(secret).toBe('kept');
});

test('Rows that are put by transactions of one moment are each added once', async () => {
  const rows = new FastRepository(kinds.Given, database.manager);
  const ids = [randomUUID(), randomUUID()];
  const put = (i: number) =>
    transactions.run(() => rows.putRow({ id: ids[i % 2]! }, { label: `shared ${i}` }, 'pet_not_found'));
  const every = await Promise.all(Array.from({ length: 20 }, (_, i) => put(i)));
  expect(every.filter(({ isCreated }) => isCreated)).toHaveLength(2);
  const labels = (await rows.findBy({ label: Like('shared %') })).map(({ label }) => label);
  expect(labels).toHaveLength(2);
});

test('A row is put under all of its key, or not at all', async () => {
  const rows = new FastRepository(kinds.Composite, database.manager);
  await expect(rows.putRow({ left: '1' }, { label: 'half' }, 'pet_not_found')).rejects.toThrow(
    'No key of the row: right',
  );
});

describe('Rows that are updated', () => {
  test('are found by a list of values as by one', async () => {
    const rows = new FastRepository(kinds.Transformed, database.manager);
    await rows.addRows([{ label: 'list a' }, { label: 'list b' }]);
    const updated = await rows.updateRows({ label: ['list a', 'list b'] }, { label: 'list c' });
    expect(updated.map(({ label }) => label)).toEqual(['list c', 'list c']);
  });

  test('are never all, for want of a value, whoever serves them', async () => {
    const rows = new FastRepository(kinds.Versioned, database.manager);
    await expect(rows.updateRows({}, { label: 'all' })).rejects.toThrow('No value to look for');
  });
});

test('A row that a subscriber refuses after its insert is not stored', async () => {
  const rows = new FastRepository(kinds.Uuid, database.manager);
  const afterInsert = () => {
    throw new RangeError('refused');
  };
  database.subscribers.push({ listenTo: () => kinds.Uuid, afterInsert });
  await expect(rows.addRow({ label: 'refused' })).rejects.toThrow('refused');
  database.subscribers.pop();
  expect(await rows.findRow({ label: 'refused' })).toBeNull();
});

test('Rows that a trigger leaves out make their batch fail, and nobody gets the row of another', async () => {
  await database.query(`CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.label = 'skipped' THEN RETURN NULL; END IF; RETURN NEW; END $$`);
  await database.query('CREATE TRIGGER skip BEFORE INSERT ON serial FOR EACH ROW EXECUTE FUNCTION skip()');
  const rows = new FastRepository(kinds.Serial, database.manager);
  const labels = ['skipped', 'kept 1', 'kept 2'];
  const settled = await Promise.allSettled(labels.map((label) => rows.addRow({ label })));
  expect(settled.map((one) => (one.status === 'fulfilled' ? one.value.label : 'failed'))).toEqual([
    'failed',
    'kept 1',
    'kept 2',
  ]);
  await database.query('DROP TRIGGER skip ON serial');
});

describe('A transaction', () => {
  const rows = () => new FastRepository(kinds.Identity, database.manager);
  const stored = (label: string) => database.getRepository(kinds.Identity).countBy({ label });

  test('is undone whole by an error of a part, even if it goes on', async () => {
    const outer = transactions.run(async () => {
      await rows().addRow({ label: 'outer', state: null });
      await transactions.run(() => Promise.reject(new RangeError('part'))).catch(() => {});
    });
    await expect(outer).rejects.toThrow('part');
    expect(await stored('outer')).toBe(0);
  });

  test('of a query runner is joined by what a change calls', async () => {
    const { id } = await rows().addRow({ label: 'change', state: null });
    const undone = database.transaction(async (own) => {
      await own
        .withRepository(rows())
        .changeRow({ id }, 'pet_not_found', () => rows().addRow({ label: 'within', state: null }));
      throw new RangeError('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await stored('within')).toBe(0);
  });

  test('is begun for a change on a query runner without one', async () => {
    const { id } = await rows().addRow({ label: 'runner', state: null });
    const runners = [database.createQueryRunner(), database.createQueryRunner()];
    const change = (own: EntityManager) =>
      own.withRepository(rows()).changeRow({ id }, 'pet_not_found', (row) => (row.label += '+'));
    await Promise.all(runners.map(({ manager }) => change(manager)));
    await Promise.all(runners.map((runner) => runner.release()));
    expect((await rows().findRow({ id }))!.label).toBe('runner++');
  });

  const ignoring = async (own: EntityManager) => {
    await own.insert(kinds.Identity, { label: 'ignored', state: null });
    await own.query('SELECT 1 / 0').catch(() => {});
  };
  test.each<[how: string, work: () => Promise<unknown>]>([
    ['by itself', () => transactions.run(ignoring)],
    ['on a query runner', () => onRunner((own) => transactions.in(own, ignoring))],
    ["by TypeORM's own transaction", () => database.transaction(ignoring)],
    [
      'in a command of an operator',
      async () => {
        const config = Object.assign(new Config(), { DATABASE_URL: databaseUrl });
        const options = { ...commandOptions(config), entities: [kinds.Identity] };
        const command = await new DataSource(options).initialize();
        return Transactions.of(command)
          .run(ignoring)
          .finally(() => command.destroy());
      },
    ],
  ])('in which a failure was ignored fails: %s', async (_how, work) => {
    await expect(work()).rejects.toThrow('a failure of one of its statements was ignored');
    expect(await stored('ignored')).toBe(0);
  });

  async function onRunner<T>(work: (own: EntityManager) => Promise<T>): Promise<T> {
    const runner = database.createQueryRunner();
    return work(runner.manager).finally(() => runner.release());
  }
});

describe('A subscriber to transactions', () => {
  const MOMENTS = [
    ...(['beforeTransactionStart', 'afterTransactionStart'] as const),
    ...(['beforeTransactionCommit', 'afterTransactionCommit'] as const),
    ...(['beforeTransactionRollback', 'afterTransactionRollback'] as const),
  ];
  const told: string[] = [];
  let fails: string | undefined;
  let watched: DataSource;
  beforeAll(async () => {
    ({ database: watched } = await connect(databaseUrl, {
      entities: [kinds.Identity],
      applicationName: 'watched',
    }));
    const tell = (moment: string) => async () => {
      told.push(moment);
      if (moment === fails) throw new RangeError(`fails ${moment}`);
    };
    watched.subscribers.push(Object.fromEntries(MOMENTS.map((moment) => [moment, tell(moment)])));
  });
  afterAll(() => watched.destroy());

  const label = 'watched';
  const WORKS = {
    reads: (own: EntityManager) => own.countBy(kinds.Identity, { label }),
    writes: (own: EntityManager) => own.insert(kinds.Identity, { label, state: null }),
    fails: async (own: EntityManager) => {
      await own.insert(kinds.Identity, { label, state: null });
      await own.query('SELECT 1 / 0');
    },
  };
  const attempt = (what: keyof typeof WORKS) => {
    told.length = 0;
    const all = Transactions.of(watched);
    const work: (own: EntityManager) => Promise<unknown> = WORKS[what];
    return what === 'reads' ? all.runCounted(work) : all.run(work);
  };

  test('is told of each', async () => {
    const start = MOMENTS.slice(0, 2);
    await attempt('writes');
    expect(told).toEqual([...start, ...MOMENTS.slice(2, 4)]);
    await expect(attempt('fails')).rejects.toThrow('division by zero');
    expect(told).toEqual([...start, ...MOMENTS.slice(4)]);
    expect(await watched.getRepository(kinds.Identity).delete({ label })).toMatchObject({ affected: 1 });
  });

  test.each(MOMENTS)(
    'leaves no connection in a transaction, nor half of one, where it fails: %s',
    async (moment) => {
      const left = () =>
        query(
          databaseUrl,
          `SELECT state FROM pg_stat_activity WHERE application_name = 'watched' AND datname = current_database() AND state <> 'idle'`,
        );
      for (const what of ['reads', 'writes', 'fails'] as const) {
        fails = moment;
        const isStored = await attempt(what).then(
          () => what === 'writes',
          () => what === 'writes' && moment === 'afterTransactionCommit',
        );
        fails = undefined;
        await eventually(async () => (await left()).length === 0, 2_000);
        // What is written next, on any connection, is there for all.
        const next = Array.from({ length: 10 }, () =>
          watched.query(`INSERT INTO identity (label) VALUES ('watched')`),
        );
        await Promise.all(next);
        const rows = await query(databaseUrl, `DELETE FROM identity WHERE label = 'watched' RETURNING id`);
        expect([what, rows.length]).toEqual([what, isStored ? 11 : 10]);
      }
    },
  );

  test('is told of one with the isolation that its data source has', async () => {
    const { database: strict } = await connect(databaseUrl, { isolationLevel: 'SERIALIZABLE' });
    const [found] = await Transactions.of(strict).run((own) => own.query('SHOW transaction_isolation'));
    await strict.destroy();
    expect(found).toEqual({ transaction_isolation: 'serializable' });
  });
});

describe('A service with a subscriber to every entity', () => {
  const main = fileURLToPath(new URL('../support/audited.js', import.meta.url));
  let service: Service;
  let key: string;
  beforeAll(async () => {
    service = await startService({ LOG_LEVEL: 'info' }, main);
    key = await createKey(service, await createAccount(service));
  });
  afterAll(() => service.stop());

  test('says at the start which entities TypeORM serves', () => {
    for (const entity of ['Pet', 'Category', 'Order', 'Message', 'Account', 'ApiKey', 'IdempotencyKey']) {
      expect(service.output()).toContain(
        `${entity} is served by TypeORM's own statements: Audit subscribes to it`,
      );
    }
  });

  test('serves every write, alone and at once, and tells the subscriber of each', async () => {
    const post = async (path: string, body: unknown, headers = {}) => {
      const { status, body: made } = await call(service, 'POST', path, { key, body, headers });
      return [status, (made as { id: string }).id] as const;
    };
    const pet = { name: 'Luna', categoryId: 2, status: 'available' };
    const pets = await Promise.all(Array.from({ length: 20 }, () => post('/v1/pets', pet)));
    const orders = await Promise.all(pets.map(([, petId]) => post('/v1/store/orders', { petId })));
    const messages = await Promise.all(pets.map(() => post('/v1/messages', { message: 'hello' })));
    const keyed = await post('/v1/pets', pet, { 'Idempotency-Key': 'one' });
    expect(await post('/v1/pets', pet, { 'Idempotency-Key': 'one' })).toEqual(keyed);
    for (const [status] of [...pets, ...orders]) expect(status).toBe(201);
    for (const [status] of messages) expect(status).toBe(202);
    const moved = await call(service, 'PATCH', `/v1/store/orders/${orders[0]![1]}`, {
      key,
      body: { status: 'approved' },
    });
    expect(moved.status).toBe(200);
    const told = [...pets, keyed].map(([, id]) => `added Pet ${id}`);
    told.push(...pets.map(([, id]) => `changed Pet ${id}`), `changed Order ${orders[0]![1]}`);
    told.push(
      ...orders.map(([, id]) => `added Order ${id}`),
      ...messages.map(([, id]) => `added Message ${id}`),
    );
    for (const line of told) expect(service.output()).toContain(`${line}\n`);
  });
});
