import { randomUUID } from 'node:crypto';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { And, type FindOptionsOrder, In, IsNull, MoreThan, type ObjectLiteral } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { ApiKey } from '../../src/auth/api-key.entity.js';
import { Category } from '../../src/categories/category.entity.js';
import { Pet, PetStatus } from '../../src/pets/pet.entity.js';
import { ApiError } from '../../src/platform/api/api-error.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import type { Filter } from '../../src/platform/data/rows.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { Order, OrderStatus } from '../../src/store/order.entity.js';
import { connect, type Connected } from '../support/database.js';
import { query, type Service, startService } from '../../src/testing/service.js';

const PETS = 240;
const ORDERS = 120;

let service: Service;
let connected: Connected;
/** The fast repository of an entity, and TypeORM's own. */
const fast = <Entity extends ObjectLiteral>(type: new () => Entity) =>
  new FastRepository(type, connected.database.manager);
const plain = <Entity extends ObjectLiteral>(type: new () => Entity) =>
  connected.database.getRepository(type);

beforeAll(async () => {
  service = await startService();
  connected = await connect(service.databaseUrl);
  for (const sql of [
    `INSERT INTO accounts (email, password_hash) VALUES ('a@example.com', '-'), ('b@example.com', '-')`,
    `INSERT INTO pets (name, category_id, status) SELECT 'Luna ' || i, i % 10 + 1,
       (ARRAY['available', 'available', 'sold', NULL])[i % 4 + 1] FROM generate_series(1, ${PETS}) i`,
    `INSERT INTO orders (account_id, pet_id, status) SELECT i % 2 + 1, i,
       (ARRAY['placed', 'approved', 'cancelled', 'delivered'])[i % 3 + 1] FROM generate_series(1, ${ORDERS}) i`,
  ]) {
    await query(service.databaseUrl, sql);
  }
});
afterAll(async () => {
  await connected.database.destroy();
  await service.stop();
});

const id = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: PETS }).map(String) },
  fc.constantFrom('0', '-1', '999999', '9223372036854775807', '-9223372036854775808'),
);
const account = fc.constantFrom('1', '2', '3');
const status = fc.constantFrom(...Object.values(PetStatus));
const orderStatus = fc.constantFrom(...Object.values(OrderStatus));
/** Texts that an array literal or SQL could misread. */
const ODD = [
  'NULL',
  'null',
  '',
  '{}',
  '{a,b}',
  'a,b',
  '"',
  '\\',
  '\\"',
  "'",
  "'; DROP TABLE pets --",
  '$1',
  ':name',
  '\n',
];
const name = fc
  .oneof(
    fc.constantFrom(...ODD),
    fc.string({ unit: fc.constantFrom(...'"\\,{}\'NUL$: \t'.split('')), maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  )
  .map((text) => `${text.replaceAll('\0', '')}!`);

type Sought = [type: new () => { id: string }, where: object];
const sought: fc.Arbitrary<Sought> = fc.oneof(
  id.map((value): Sought => [Pet, { id: value }]),
  id.map((value): Sought => [Category, { id: value }]),
  fc.tuple(id, account).map(([value, accountId]): Sought => [Order, { id: value, accountId }]),
  fc.tuple(id, name).map(([value, text]): Sought => [Pet, { id: value, name: text }]),
);

test('Rows that are looked up are those that TypeORM finds, however many at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sought, { minLength: 1, maxLength: 30 }), async (all) => {
      const found = await Promise.all(all.map(([type, where]) => fast(type).findRow(where)));
      const expected = await Promise.all(all.map(([type, where]) => plain(type).findOneBy(where)));
      expect(found).toStrictEqual(expected);
    }),
    { numRuns: 60 },
  );
  expect(connected.sent.some(({ text: sql }) => /FROM "pets".*= ANY\(/.test(sql))).toBe(true);
});

interface Asked {
  type: new () => { id: string };
  filter: Filter<Pet>;
  limit: number;
  after?: string;
}

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const limit = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(1, 9, 10, 11, 20, 99, 100));
const ids = fc.array(id, { minLength: 1, maxLength: 100 });
const page = fc.oneof(
  fc.record({
    type: fc.constant(Pet),
    filter: fc.record({ status: optional(fc.option(status)), id: optional(ids) }),
    limit,
    after: optional(id),
  }),
  fc.record({
    type: fc.constant(Order),
    filter: fc.record({ accountId: account, status: optional(orderStatus) }),
    limit,
    after: optional(id),
  }),
  fc.record({ type: fc.constant(Category), filter: fc.constant({}), limit, after: optional(id) }),
) as fc.Arbitrary<Asked>;

/** Pages of few shapes, so that many of one shape come together, with equal and with different values. */
const pagesAtOnce = fc
  .tuple(
    fc.array(page, { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.nat(3), optional(id), optional(status)), { minLength: 1, maxLength: 40 }),
  )
  .map(([shapes, picks]) =>
    picks.map(([n, after, other]): Asked => {
      const shape = shapes[n % shapes.length]!;
      const isPets = shape.type === Pet && shape.filter.status && other !== undefined;
      const filter = isPets ? { ...shape.filter, status: other } : shape.filter;
      return { ...shape, filter, after: shape.after === undefined ? undefined : (after ?? shape.after) };
    }),
  );

/** Pages whose statements the property must have met, whatever else it draws: of each kind alone, and twice at once. */
const SURELY_ASKED = (
  [
    { type: Pet, filter: {}, limit: 10 },
    { type: Pet, filter: { status: PetStatus.Sold }, limit: 20 },
    { type: Pet, filter: { status: null }, limit: 20 },
    { type: Pet, filter: { id: ['3', '1', '2'] }, limit: 9 },
    { type: Pet, filter: { id: ['3', '1', '2'], status: PetStatus.Sold }, limit: 9 },
    { type: Order, filter: { accountId: '1' }, limit: 10 },
    { type: Order, filter: { accountId: '2', status: OrderStatus.Placed }, limit: 10 },
    { type: Category, filter: {}, limit: 1 },
  ] as Asked[]
).flatMap((asked): [Asked[]][] => [[[asked]], [[asked, { ...asked, after: '2' }, { ...asked, after: '1' }]]]);

async function pageByTypeOrm({ type, filter, limit: most, after }: Asked) {
  const { id: among, ...equal } = filter;
  const bounds = [...(among ? [In([among].flat())] : []), ...(after === undefined ? [] : [MoreThan(after)])];
  const given = Object.entries(equal).filter(([, value]) => value !== undefined);
  const where = given.map(([property, value]) => [property, value ?? IsNull()]);
  if (bounds.length > 0) where.push(['id', And(...bounds)]);
  const order = { id: 'ASC' } as FindOptionsOrder<{ id: string }>;
  const rows = await plain(type).find({ where: Object.fromEntries(where), order, take: most + 1 });
  return { items: rows.slice(0, most), hasMore: rows.length > most };
}

test('Pages that are requested at the same time hold the rows that TypeORM finds for each', async () => {
  const ask = async ({ type, filter, limit: most, after }: Asked) => {
    const cursor = after && Buffer.from(`after:${after}`).toString('base64url');
    const { items, next } = await fast(type).page(filter, { limit: most, cursor });
    return { items, hasMore: next !== undefined };
  };
  await fc.assert(
    fc.asyncProperty(pagesAtOnce, async (all) => {
      const found = await Promise.all(all.map(ask));
      expect(found).toStrictEqual(await Promise.all(all.map(pageByTypeOrm)));
    }),
    { numRuns: 150, examples: SURELY_ASKED },
  );
  const several = connected.sent.map(({ text }) => text).filter((sql) => sql.includes('CROSS JOIN LATERAL'));
  expect(new Set(several).size).toBeGreaterThan(5);
  expect(connected.sent.some(({ text: sql }) => / = ANY\(.*LIMIT/.test(sql))).toBe(true);
});

const newPet = fc.record({
  name,
  categoryId: fc.integer({ min: 1, max: 10 }).map(String),
  status: fc.option(status),
});

describe('Rows that are added', () => {
  test('alone or with others are each as they were given, under the id that was returned', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(newPet, { minLength: 1, maxLength: 130 }), async (all) => {
        const pets = await Promise.all(all.map((values) => fast(Pet).addRow(values)));
        const rows = await plain(Pet).findBy({ id: In(pets.map((pet) => pet.id)) });
        const stored = new Map(rows.map((row) => [row.id, row]));
        expect(stored.size).toBe(all.length);
        pets.forEach((pet, i) => {
          expect(stored.get(pet.id)).toStrictEqual(pet);
          expect(pet).toMatchObject(all[i]!);
        });
      }),
      { numRuns: 40 },
    );
    expect(
      connected.sent.some(({ text: sql }) => /INSERT INTO "pets"/.test(sql) && sql.includes('unnest')),
    ).toBe(true);
  });

  test('with bytes and times keep them in a batch', async () => {
    const given = Array.from({ length: 20 }, (_, i) => ({
      accountId: String((i % 2) + 1),
      name: `${ODD[i % ODD.length]!}!`,
      hash: randomBytes(32),
      expiresAt: i % 3 ? new Date(1.9e12 + i * 1_001) : null,
    }));
    const keys = await Promise.all(given.map((values) => fast(ApiKey).addRow(values)));
    for (const [i, key] of keys.entries()) {
      expect(key).toMatchObject(given[i]!);
      expect(await plain(ApiKey).findOneBy({ id: key.id })).toStrictEqual(key);
      expect(Math.abs(Date.now() - key.createdAt.getTime())).toBeLessThan(60_000);
      expect(await fast(ApiKey).findRow({ hash: key.hash })).toStrictEqual(key);
    }
  });

  test('are all added except those that are refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 29 }), fc.integer({ min: 0, max: 29 }), async (one, two) => {
        const given = Array.from({ length: 30 }, (_, i) => ({
          name: i === two ? '' : `Rex ${i}`,
          categoryId: i === one ? '999' : '1',
          status: null,
        }));
        const settled = await Promise.allSettled(given.map((values) => fast(Pet).addRow(values)));
        const refused = settled.flatMap(({ status: outcome }, i) => (outcome === 'rejected' ? [i] : []));
        expect(refused).toEqual([...new Set([one, two])].toSorted((a, b) => a - b));
        const { reason } = settled[one] as PromiseRejectedResult;
        // PostgreSQL tells one of two reasons.
        const constraints = ['pets_category_id_fkey', ...(one === two ? ['pets_name_check'] : [])];
        expect(constraints).toContain(reason.driverError.constraint);
        for (const outcome of settled) {
          if (outcome.status === 'rejected') continue;
          expect(await plain(Pet).findOneBy({ id: outcome.value.id })).toStrictEqual(outcome.value);
        }
      }),
      { numRuns: 10 },
    );
  });
});

test('Rows with missing references cost neither connections nor the other rows their statement', async () => {
  const { master: pool } = connected.database.driver as PostgresDriver;
  const removed = jest.fn();
  pool.on('remove', removed);
  const add = (i: number) =>
    fast(Pet).addRow({ name: `Rex ${i}`, categoryId: i % 4 === 0 ? String(1_000 + i) : '1', status: null });
  const all = () => Promise.allSettled(Array.from({ length: 40 }, (_, i) => add(i)));
  // The first time, a batch is refused; then others are looked through.
  await all();
  connected.sent.length = 0;
  const settled = await all();
  for (const [i, outcome] of settled.entries()) {
    expect(outcome.status).toBe(i % 4 === 0 ? 'rejected' : 'fulfilled');
    if (outcome.status === 'fulfilled') expect(outcome.value.name).toBe(`Rex ${i}`);
    else
      expect(outcome.reason.driverError).toMatchObject({
        code: '23503',
        constraint: 'pets_category_id_fkey',
      });
  }
  expect(connected.sent).toHaveLength(1);
  await expect(add(4)).rejects.toThrow('violates foreign key constraint "pets_category_id_fkey"');
  expect(removed).not.toHaveBeenCalled();
});

test('What a transaction has not waited for is refused, and not done outside of it', async () => {
  let late: Promise<unknown> | undefined;
  await Transactions.of(connected.database).run(async () => {
    late = sleep(100).then(() => fast(Category).addRow({ name: 'Late' }));
    late.catch(() => {});
    await fast(Category).addRow({ name: 'In time' });
  });
  await expect(late).rejects.toThrow('The transaction has ended before all of its work was done');
  expect(await plain(Category).countBy({ name: In(['Late', 'In time']) })).toBe(1);
});

test.each<[what: string, ask: (transactions: Transactions) => Promise<unknown>]>([
  ['rows for its end', () => fast(Category).addRowsAtCommit({ name: 'Late' })],
  ['a part', (transactions) => transactions.run(() => Promise.resolve())],
])('A transaction that has ended refuses %s', async (_what, ask) => {
  const transactions = Transactions.of(connected.database);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const late = await transactions.run(async () => ({ asked: ended.then(() => ask(transactions)) }));
  end();
  await expect(late.asked).rejects.toThrow('The transaction has ended before all of its work was done');
});

describe('What a transaction leaves to its end', () => {
  const transactions = () => Transactions.of(connected.database);
  const names = (...all: string[]) => plain(Category).countBy({ name: In(all) });

  test('is sent with the COMMIT, and all of it is undone if that fails', async () => {
    const both = (first: string, last: string) =>
      transactions().run(async () => {
        await fast(Category).addRowsAtCommit({ name: last });
        await fast(Category).addRow({ name: first });
        connected.sent.length = 0;
      });
    await both('Before', 'At the end');
    expect(connected.sent.map(({ text }) => text.split(' ')[0])).toEqual(['WITH', 'COMMIT']);
    await expect(both('Also before', 'At the end')).rejects.toThrow('categories_name_key');
    expect(await names('Before', 'At the end', 'Also before')).toBe(2);
  });

  test('is undone with the rest if it cannot even be sent', async () => {
    const work = transactions().run(async () => {
      await fast(Category).addRow({ name: 'Half' });
      await transactions().atCommit({}, [1], () => Promise.reject(new Error('not sent')));
    });
    await expect(work).rejects.toThrow('not sent');
    expect(await names('Half')).toBe(0);
  });

  test('is done in a transaction that TypeORM has begun', async () => {
    await connected.database.transaction((manager) =>
      transactions().in(manager, () => fast(Category).addRowsAtCommit({ name: "In TypeORM's" })),
    );
    expect(await names("In TypeORM's")).toBe(1);
  });
});

describe('Works of the same moment that each write one row', () => {
  const writesRow = <T>(work: () => Promise<T>) =>
    Transactions.of(connected.database).writesRow('test', work);
  const named = async (prefix: string) => {
    const rows = await plain(Category).find({ order: { name: 'ASC' } });
    return rows.map(({ name }) => name).filter((name) => name.startsWith(prefix));
  };
  const numbers = Array.from({ length: 20 }, (_none, i) => i);
  // The first one is done in a transaction.
  beforeAll(() => writesRow(() => fast(Category).addRow({ name: 'The first of its kind' })));

  const wordsOfSent = () => connected.sent.splice(0).map(({ text }) => /^\w+/.exec(text)![0]);
  const setAndAdd = (ids: readonly string[], name: string) =>
    Promise.all(
      ids.map((id, i) =>
        writesRow(async () => {
          await fast(Pet).setRow({ id }, { name: `Set ${i}` });
          return fast(Category).addRow({ name: `${name} ${i}` }, () =>
            fast(Category).addRowsAtCommit({ name: `${name} along ${i}` }),
          );
        }),
      ),
    );

  test('are sent together, as one statement, without a transaction of their own', async () => {
    connected.sent.length = 0;
    const ids = numbers.map((i) => String(20 + i));
    const rows = await setAndAdd(ids, 'Sent');
    expect(wordsOfSent()).toEqual(['SELECT', 'WITH']);
    expect(rows.map((row) => row.name)).toEqual(numbers.map((i) => `Sent ${i}`));
    expect(await named('Sent')).toHaveLength(40);
    const set = await plain(Pet).find({ where: { id: In(ids) }, order: { id: 'ASC' } });
    expect(set.map((pet) => pet.name)).toEqual(numbers.map((i) => `Set ${i}`));
  });

  test('are sent together as a statement each where several set the same row, of which one statement sets it once', async () => {
    const ids = numbers.map(() => '5');
    // PostgreSQL refuses them as one, and so shows that they belong apart.
    await setAndAdd(ids, 'Refused');
    connected.sent.length = 0;
    await setAndAdd(ids, 'Apart');
    expect(wordsOfSent()).toEqual(['SELECT', ...numbers.map(() => 'WITH')]);
    expect([...(await named('Refused')), ...(await named('Apart'))]).toHaveLength(80);
    expect((await fast(Pet).findRow({ id: '5' }))!.name).toBe('Set 19');
  });

  test.each<[what: string, fail: (name: string) => Promise<unknown>]>([
    ['fails before its row', () => Promise.reject(new ApiError('pet_not_found'))],
    ['is refused by PostgreSQL', () => fast(Category).addRow({ name: 'Dogs' })],
    [
      'is refused for what belongs to its row',
      (name) => fast(Category).addRow({ name }, () => fast(Category).addRowsAtCommit({ name: 'Dogs' })),
    ],
    [
      'sets a row that is not there',
      async (name) => {
        const isSet = await fast(Pet).setRow({ id: '999999' }, { name });
        if (!isSet) throw new ApiError('pet_not_found');
        await fast(Category).addRow({ name });
      },
    ],
    [
      'changes a row, and then objects to it',
      () =>
        fast(Category).changeRow({ id: '1' }, 'category_not_found', () => Promise.reject(new Error('no'))),
    ],
  ])('lose nothing but the one that %s', async (what, fail) => {
    // As one statement at first, and apart for a second after a refusal.
    await sleep(1_100);
    for (const how of ['as one', 'apart']) {
      const prefix = `${what}, ${how}`;
      const work = async (i: number) => {
        const name = `${prefix} ${i}`;
        if (i % 7 === 3) await fail(name);
        else await fast(Category).addRow({ name });
        return name;
      };
      const outcomes = await Promise.allSettled(numbers.map((i) => writesRow(() => work(i))));
      const done = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(done).toHaveLength(17);
      expect((await named(prefix)).toSorted()).toEqual(done.toSorted());
    }
  });

  test('change one row in turn', async () => {
    const [pet] = await fast(Pet).addRows([{ name: '-', categoryId: '1', status: null }]);
    const change = () =>
      writesRow(() => fast(Pet).changeRow({ id: pet!.id }, 'pet_not_found', (row) => (row.name += 'x')));
    await Promise.all(numbers.map(change));
    expect((await fast(Pet).findRow({ id: pet!.id }))!.name).toBe(`-${'x'.repeat(20)}`);
  });

  test('do all that they set, or nothing, whoever is overtaken', async () => {
    for (let round = 0; round < 5; round++) {
      const [row, other] = await fast(Pet).addRows(
        ['free', '-'].map((each) => ({ name: each, categoryId: '1', status: null })),
      );
      const take = (i: number) =>
        writesRow(() =>
          fast(Pet).changeRow({ id: row!.id }, 'pet_not_found', async (pet) => {
            if (pet.name !== 'free') throw new Error('taken');
            await fast(Pet).setRow({ id: other!.id }, { name: `taken by ${i}` });
            pet.name = `taken by ${i}`;
          }),
        );
      const outcomes = await Promise.allSettled(numbers.map(take));
      expect(outcomes.filter(({ status: one }) => one === 'fulfilled')).toHaveLength(1);
      const taken = (await fast(Pet).findRow({ id: row!.id }))!.name;
      expect((await fast(Pet).findRow({ id: other!.id }))!.name).toBe(taken);
    }
    const { id } = await fast(Pet).addRow({ name: 'untouched', categoryId: '1', status: null });
    await writesRow(async () => {
      const areSet = [
        await fast(Pet).setRow({ id }, { name: 'touched' }),
        await fast(Pet).setRow({ id: '999999' }, { name: 'nobody' }),
      ];
      if (areSet.includes(false)) throw new Error('not there');
      return fast(Category).addRow({ name: 'Not added' });
    }).catch(() => {});
    expect((await fast(Pet).findRow({ id }))!.name).toBe('untouched');
  });

  test('let one of them alone take a row that all want', async () => {
    const { id } = await fast(Pet).addRow({ name: 'free', categoryId: '1', status: null });
    const take = () =>
      writesRow(async () => {
        if (!(await fast(Pet).setRow({ id, name: 'free' }, { name: 'taken' })))
          throw new ApiError('pet_not_available');
        return fast(Category).addRow({ name: `Taken ${randomUUID()}` });
      });
    const outcomes = await Promise.allSettled(numbers.map(take));
    expect(outcomes.filter(({ status: one }) => one === 'fulfilled')).toHaveLength(1);
    expect(await named('Taken')).toHaveLength(1);
  });

  test('wait for nobody who holds a row of one of them', async () => {
    const { id: held } = await fast(Category).addRow({ name: 'Held' });
    const runner = connected.database.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT FROM categories WHERE id = $1 FOR UPDATE', [held]);
    const works = numbers.map((i) =>
      writesRow(async () => {
        if (i === 5) await fast(Category).setRow({ id: held }, { name: 'Free' });
        return fast(Category).addRow({ name: `Not held ${i}` });
      }),
    );
    const waits = works.splice(5, 1)[0]!;
    await Promise.all(works);
    await runner.rollbackTransaction();
    await runner.release();
    await waits;
    expect(await named('Not held')).toHaveLength(20);
    expect(await named('Free')).toHaveLength(1);
  });

  test('are undone where a trigger leaves out what belongs to their row, and only these', async () => {
    await query(
      service.databaseUrl,
      `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER leave_out BEFORE INSERT ON categories FOR EACH ROW
         WHEN (NEW.name LIKE 'Left out%') EXECUTE FUNCTION leave_out()`,
    );
    const all = numbers.map((i) =>
      writesRow(() =>
        fast(Category).addRow({ name: `With another ${i}` }, async () => {
          if (i === 7) await fast(Category).addRowsAtCommit({ name: 'Left out' });
        }),
      ),
    );
    const outcomes = await Promise.allSettled(all);
    await query(service.databaseUrl, 'DROP TRIGGER leave_out ON categories; DROP FUNCTION leave_out');
    expect(outcomes.filter(({ status: one }) => one === 'rejected')).toHaveLength(1);
    expect(await named('With another')).toHaveLength(19);
  });

  test('keep the context of each', async () => {
    const contexts = new AsyncLocalStorage<number>();
    const seen = await Promise.all(
      numbers.map((i) =>
        contexts.run(i, () =>
          writesRow(async () => {
            await fast(Category).addRow({ name: `In context ${i}` });
            return contexts.getStore();
          }),
        ),
      ),
    );
    expect(seen).toEqual(numbers);
  });

  test('are part of the transaction that is open around them', async () => {
    const work = Transactions.of(connected.database).run(async () => {
      await writesRow(() => fast(Category).addRow({ name: 'Undone with the others' }));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await named('Undone with the others')).toEqual([]);
  });
});

test('A transaction in which a failure was ignored fails, as PostgreSQL has undone it', async () => {
  const work = Transactions.of(connected.database).run(async () => {
    await fast(Category).addRow({ name: 'Lost' });
    await fast(Category)
      .addRow({ name: 'Lost' })
      .catch(() => {});
    return 'done';
  });
  await expect(work).rejects.toThrow('a failure of one of its statements was ignored');
  expect(await plain(Category).countBy({ name: 'Lost' })).toBe(0);
});

test('Rows that are changed become what TypeORM would make them', async () => {
  const change = fc.record(
    { name, categoryId: fc.constantFrom('1', '5', '10'), status: fc.option(status) },
    { requiredKeys: ['name'] },
  );
  const which = fc.record({ id, categoryId: fc.constantFrom('1', '2', '3') }, { requiredKeys: ['id'] });
  await fc.assert(
    fc.asyncProperty(change, which, async (changes, where) => {
      const outcome = async (isFast: boolean) => {
        const runner = connected.database.createQueryRunner();
        await runner.startTransaction();
        try {
          if (isFast) await runner.manager.withRepository(fast(Pet)).updateRows(where, changes);
          else await runner.manager.update(Pet, where, changes);
          return await runner.manager.findBy(Pet, { id: where.id });
        } finally {
          await runner.rollbackTransaction();
          await runner.release();
        }
      };
      expect(await outcome(true)).toStrictEqual(await outcome(false));
    }),
    { numRuns: 60 },
  );
  const before = await plain(Order).findOneByOrFail({ id: '1' });
  const [after] = await fast(Order).updateRows({ id: '1' }, { status: before.status });
  expect(after!.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
});
