import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import {
  And,
  EntityManager,
  type EntityTarget,
  type FindOptionsWhere,
  In,
  MoreThan,
  type ObjectLiteral,
} from 'typeorm';
import { ApiKey } from '../src/auth/api-key.entity.js';
import { Category } from '../src/categories/category.entity.js';
import { type Filter, readSlice } from '../src/platform/data/pages.js';
import { Message, MessageStatus } from '../src/messages/message.entity.js';
import { Pet, PetStatus } from '../src/pets/pet.entity.js';
import { Order, OrderStatus } from '../src/store/order.entity.js';
import { type Compiled, connectCompiled } from './support/compiled.js';
import { query, type Service, startService } from './support/service.js';

const PETS = 240;
const ORDERS = 120;

let service: Service;
let compiled: Compiled;
beforeAll(async () => {
  service = await startService();
  compiled = await connectCompiled(service.databaseUrl);
  await query(
    service.databaseUrl,
    `INSERT INTO accounts (email, password_hash) VALUES ('a@example.com', '-'), ('b@example.com', '-')`,
  );
  await query(
    service.databaseUrl,
    `INSERT INTO pets (name, category_id, status) SELECT 'Luna ' || i, i % 10 + 1,
       (ARRAY['available', 'available', 'sold', NULL])[i % 4 + 1] FROM generate_series(1, ${PETS}) i`,
  );
  await query(
    service.databaseUrl,
    `INSERT INTO orders (account_id, pet_id, status) SELECT i % 2 + 1, i,
       (ARRAY['placed', 'approved', 'cancelled', 'delivered'])[i % 3 + 1] FROM generate_series(1, ${ORDERS}) i`,
  );
});
afterAll(async () => {
  await compiled.database.destroy();
  await service.stop();
});

type Sought = [EntityTarget<ObjectLiteral>, FindOptionsWhere<ObjectLiteral>];

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

const sought: fc.Arbitrary<Sought> = fc.oneof(
  id.map((value): Sought => [Pet, { id: value }]),
  id.map((value): Sought => [Category, { id: value }]),
  fc.tuple(id, account).map(([value, accountId]): Sought => [Order, { id: value, accountId }]),
  fc.tuple(id, name).map(([value, text]): Sought => [Pet, { id: value, name: text }]),
  fc.integer({ min: 1, max: PETS }).map((value): Sought => [Pet, { id: value }]),
  // Anything but one row by plain values is left to TypeORM.
  fc.array(id, { minLength: 1, maxLength: 3 }).map((ids): Sought => [Order, { id: In(ids), accountId: '7' }]),
);

describe('A row that is looked up', () => {
  test('is the one that TypeORM finds, however many are looked up at once', async () => {
    const { database, plain, sent } = compiled;
    await fc.assert(
      fc.asyncProperty(fc.array(sought, { minLength: 1, maxLength: 30 }), async (all) => {
        const found = await Promise.all(all.map(([type, where]) => database.manager.findOneBy(type, where)));
        const expected = await Promise.all(all.map(([type, where]) => plain.findOneBy(type, where)));
        expect(found).toStrictEqual(expected);
      }),
      { numRuns: 60 },
    );
    expect(sent.some(({ text: sql }) => /FROM "pets".*= ANY\(\$1\)/.test(sql))).toBe(true);
  });

  test('in a transaction is read on its connection, with what it has written', async () => {
    await fc.assert(
      fc.asyncProperty(sought, name, async ([type, where], text) => {
        await compiled.database
          .transaction(async (transaction) => {
            await transaction.update(Pet, { id: '7' }, { name: text });
            expect(await transaction.findOneBy(Pet, { id: '7' })).toMatchObject({ name: text });
            expect(await compiled.database.manager.findOneBy(Pet, { id: '7' })).toMatchObject({
              name: 'Luna 7',
            });
            const expected = await transaction.find(type, { where, take: 1 });
            expect(await transaction.findOneBy(type, where)).toStrictEqual(expected[0] ?? null);
            throw new RangeError('undone');
          })
          .catch((error: unknown) => expect(error).toBeInstanceOf(RangeError));
      }),
      { numRuns: 25 },
    );
  });

  test('is the same when looked up by bytes, UUIDs and times', async () => {
    const { manager } = compiled.database;
    const message = await seedMessage();
    const hash = randomBytes(32);
    const apiKey = manager.create(ApiKey, { accountId: '1', name: 'k', hash, expiresAt: new Date(1e12) });
    await manager.insert(ApiKey, apiKey);
    for (const [type, where] of [
      [Message, { id: message.id }],
      [Message, { id: message.id, accountId: '1' }],
      [ApiKey, { hash }],
      [ApiKey, { expiresAt: new Date(1e12) }],
      [ApiKey, { hash: randomBytes(32) }],
    ] as Sought[]) {
      expect(await manager.findOneBy(type, where)).toStrictEqual(await compiled.plain.findOneBy(type, where));
    }
  });
});

async function seedMessage(): Promise<Message> {
  const { manager } = compiled.database;
  const values = {
    id: '0198f2a4-0000-7000-8000-000000000001',
    accountId: '1',
    message: 'm',
    status: MessageStatus.Queued,
  };
  await manager.insert(Message, values);
  return (await compiled.plain.findOneBy(Message, { id: values.id }))!;
}

interface Asked<Entity extends { id: string }> {
  type: new () => Entity;
  filter: Filter<Entity>;
  limit: number;
  after?: string;
}

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const limit = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(1, 9, 10, 11, 20, 99, 100));
const ids = fc.array(id, { minLength: 1, maxLength: 100 });
const page = fc.oneof(
  fc.record({
    type: fc.constant(Pet),
    filter: fc.record({ status: optional(status), ids: optional(ids) }),
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
) as fc.Arbitrary<Asked<Pet>>;

/** Pages of few shapes, so that many of one shape come together, with equal and with different values. */
const pagesAtOnce = fc
  .tuple(
    fc.array(page, { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.nat(3), optional(id), optional(status)), { minLength: 1, maxLength: 40 }),
  )
  .map(([shapes, picks]) =>
    picks.map(([n, after, other]): Asked<Pet> => {
      const shape = shapes[n % shapes.length]!;
      const isPets = shape.type === Pet && shape.filter.status !== undefined && other !== undefined;
      const filter = isPets ? { ...shape.filter, status: other } : shape.filter;
      return { ...shape, filter, after: shape.after === undefined ? undefined : (after ?? shape.after) };
    }),
  );

async function pageByTypeOrm({ type, filter, limit: most, after }: Asked<Pet>) {
  const { ids: among, ...equal } = filter;
  const bounds = [...(among ? [In([...among])] : []), ...(after === undefined ? [] : [MoreThan(after)])];
  const given = Object.entries(equal).filter(([, value]) => value !== undefined);
  const where = { ...Object.fromEntries(given), ...(bounds.length > 0 && { id: And(...bounds) }) };
  const rows = await compiled.plain.find(type, { where, order: { id: 'ASC' }, take: most + 1 });
  return { items: rows.slice(0, most), hasMore: rows.length > most };
}

describe('Pages', () => {
  test('that are requested at the same time hold the rows that TypeORM finds for each', async () => {
    const { database, sent } = compiled;
    await fc.assert(
      fc.asyncProperty(pagesAtOnce, async (all) => {
        const ask = ({ type, filter, limit: most, after }: Asked<Pet>) =>
          readSlice(database.getRepository(type), filter, most, after);
        const found = await Promise.all(all.map(ask));
        expect(found).toStrictEqual(await Promise.all(all.map(pageByTypeOrm)));
      }),
      { numRuns: 150 },
    );
    const several = sent.map(({ text }) => text).filter((sql) => sql.includes('CROSS JOIN LATERAL'));
    expect(new Set(several).size).toBeGreaterThan(5);
    expect(sent.some(({ text: sql }) => / = ANY\(\$1\).*LIMIT/.test(sql))).toBe(true);
  });

  test('in a transaction hold what it has written', async () => {
    await compiled.database
      .transaction(async (transaction) => {
        await transaction.update(Pet, { id: '3' }, { status: PetStatus.Pending });
        const pending = (manager: EntityManager) =>
          readSlice(manager.getRepository(Pet), { status: PetStatus.Pending }, 20);
        const none = { items: [], hasMore: false };
        expect(await pending(compiled.database.manager)).toEqual(none);
        expect(await pending(transaction)).toMatchObject({ items: [{ id: '3', status: 'pending' }] });
        expect(await pending(compiled.database.manager)).toEqual(none);
        throw new RangeError('undone');
      })
      .catch((error: unknown) => expect(error).toBeInstanceOf(RangeError));
  });
});

const newPet = fc.record({
  name,
  categoryId: fc.integer({ min: 1, max: 10 }).map(String),
  status: fc.option(status),
});

describe('Rows that are added', () => {
  test('alone or with others are each as they were given, under the id that was returned', async () => {
    const { database, plain, sent } = compiled;
    await fc.assert(
      fc.asyncProperty(fc.array(newPet, { minLength: 1, maxLength: 130 }), async (all) => {
        const pets = all.map((values) => database.manager.create(Pet, values));
        const results = await Promise.all(pets.map((pet) => database.manager.insert(Pet, pet)));
        const rows = await plain.findBy(Pet, { id: In(pets.map((pet) => pet.id)) });
        const stored = new Map(rows.map((row) => [row.id, row]));
        expect(stored.size).toBe(all.length);
        pets.forEach((pet, i) => {
          expect(stored.get(pet.id)).toStrictEqual(pet);
          expect(pet).toMatchObject(all[i]!);
          expect(results[i]!.identifiers).toEqual([{ id: pet.id }]);
          expect(results[i]!.generatedMaps).toEqual([{ id: pet.id }]);
        });
      }),
      { numRuns: 40 },
    );
    expect(sent.some(({ text: sql }) => /^INSERT INTO "pets".*unnest/.test(sql))).toBe(true);
  });

  test('with bytes and times keep them in a group', async () => {
    const { database, plain } = compiled;
    const keys = Array.from({ length: 20 }, (_, i) => ({
      accountId: String((i % 2) + 1),
      name: ODD[i % ODD.length]! + '!',
      hash: randomBytes(32),
      expiresAt: i % 3 ? new Date(1.9e12 + i * 1_001) : null,
    })).map((values) => database.manager.create(ApiKey, values));
    await Promise.all(keys.map((key) => database.manager.insert(ApiKey, key)));
    for (const key of keys) {
      expect(await plain.findOneBy(ApiKey, { id: key.id })).toStrictEqual(key);
      expect(Math.abs(Date.now() - key.createdAt.getTime())).toBeLessThan(60_000);
    }
  });

  test('are all added except one that is refused', async () => {
    const { database, plain } = compiled;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 29 }), fc.integer({ min: 0, max: 29 }), async (one, two) => {
        const pets = Array.from({ length: 30 }, (_, i) =>
          database.manager.create(Pet, {
            name: i === two ? '' : `Rex ${i}`,
            categoryId: i === one ? '999' : '1',
            status: null,
          }),
        );
        const settled = await Promise.allSettled(pets.map((pet) => database.manager.insert(Pet, pet)));
        const refused = settled.flatMap(({ status: outcome }, i) => (outcome === 'rejected' ? [i] : []));
        expect(refused).toEqual([...new Set([one, two])].toSorted((a, b) => a - b));
        const { reason } = settled[one] as PromiseRejectedResult;
        expect(reason.driverError.constraint).toBe(one === two ? 'pets_name_check' : 'pets_category_id_fkey');
        for (const [i, pet] of pets.entries()) {
          if (refused.includes(i)) expect(pet.id).toBeUndefined();
          else expect(await plain.findOneBy(Pet, { id: pet.id })).toStrictEqual(pet);
        }
      }),
      { numRuns: 10 },
    );
  });
});

test('Rows that are changed become what TypeORM would make them', async () => {
  const { database, plain } = compiled;
  const change = fc.record(
    { name, categoryId: fc.constantFrom('1', '5', '10'), status: fc.option(status) },
    { requiredKeys: ['name'] },
  );
  await fc.assert(
    fc.asyncProperty(
      change,
      fc.record({ id, categoryId: fc.constantFrom('1', '2', '3') }, { requiredKeys: ['id'] }),
      async (changes, criteria) => {
        const outcome = async (isPlain: boolean) => {
          const runner = database.createQueryRunner();
          await runner.startTransaction();
          try {
            const manager = isPlain ? new EntityManager(database, runner) : runner.manager;
            const { affected } = await manager.update(Pet, criteria, changes);
            return [affected, await manager.find(Pet, { where: { id: criteria.id } })];
          } finally {
            await runner.rollbackTransaction();
            await runner.release();
          }
        };
        expect(await outcome(false)).toStrictEqual(await outcome(true));
      },
    ),
    { numRuns: 60 },
  );
  const before = await plain.findOneByOrFail(Order, { id: '1' });
  await database.manager.update(Order, { id: '1' }, { status: before.status });
  const after = await plain.findOneByOrFail(Order, { id: '1' });
  expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
});
