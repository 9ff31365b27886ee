import fc from 'fast-check';
import { lengthInCodePoints } from '../src/platform/api/formats.js';
import { type Answer, call, createKey, expectError } from '../src/testing/client.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { query, type Service, startService } from '../src/testing/service.js';
import { CHARACTER } from './support/character.js';
import { eventually } from './support/npm.js';

/** With a catalogue of its own, in the last millisecond before `getPet` is removed. */
let service: Service;
let key: string;

beforeAll(async () => {
  const TIMES = '2030-12-04T23:59:59.999Z,2030-12-05T00:00:00.000Z';
  service = await startService({ TIMES }, ['--import=./test/support/at-time.js', 'dist/src/main.js']);
  key = await createKey(service);
});
afterAll(() => service.stop());

const create = (body: unknown) => call(service, 'POST', '/v1/pets', { key, body });
const list = (search = '') => call(service, 'GET', `/v1/pets${search}`, { key });
const get = (id: number | string | bigint) => call(service, 'GET', `/v1/pets/${id}`, { key });
const idsOf = ({ body }: Answer) => (body as { id: number }[]).map(({ id }) => id);
const walkIds = async (search: string, between?: (page: Answer) => Promise<unknown>) =>
  (await walk<{ id: number }>(service, `/v1/pets${search}`, { key }, between)).map(({ id }) => id);

// First, while there are no other animals.
describe('GET /pets', () => {
  let statuses: Map<number, string | null>;
  const of = ({ status, categoryId, ids }: { status?: string; categoryId?: number; ids?: number[] }) =>
    [...statuses].flatMap(([id, one]) =>
      (!status || one === status) &&
      (!categoryId || 1 + (id % 10) === categoryId) &&
      (!ids || ids.includes(id))
        ? [id]
        : [],
    );

  beforeAll(async () => {
    const rows = await query<{ id: string; status: string | null }>(
      service.databaseUrl,
      `INSERT INTO pets (name, category_id, status)
       SELECT 'Pet ' || n, 1 + n % 10, (ARRAY['available', 'pending', 'sold', NULL])[1 + n * 7 % 4]
       FROM generate_series(1, 130) n RETURNING id, status`,
    );
    statuses = new Map(rows.map(({ id, status }) => [Number(id), status]));
  });

  test('answers with the first 20, in ascending order of id, as a bare array', async () => {
    const page = await list();
    expect(page.status).toBe(200);
    expect(idsOf(page)).toEqual([...statuses.keys()].slice(0, 20));
  });

  test('takes a limit of 1 to 100, and no other number', async () => {
    for (const limit of [1, 99, 100]) expect(idsOf(await list(`?limit=${limit}`))).toHaveLength(limit);
    for (const limit of ['0', '101', '', '007', '%2B5', '1e2', '1.0', '%205', '1&limit=2'])
      expectError(await list(`?limit=${limit}`), 400, 'validation_failed');
  });

  test('returns the animals with up to 100 requested ids, each once, and ignores unknown ids', async () => {
    expect(idsOf(await list('?ids=5,3,3,99999,-1,4'))).toEqual([3, 4, 5]);
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(await walkIds(`?ids=${hundred.join(',')}&limit=30`)).toEqual(hundred);
    expectError(await list(`?ids=${[...hundred, 101].join(',')}`), 400, 'validation_failed');
  });

  test('has no animals of an unknown category, and no Link', async () => {
    for (const id of ['987654', '0', '9223372036854775807', '-9223372036854775808']) {
      const page = await list(`?categoryId=${id}`);
      expect([page.status, page.text, page.headers.get('link')]).toEqual([200, '[]', null]);
    }
  });

  test('links to the next page with every filter kept, except from the last', async () => {
    const search = { status: 'sold', categoryId: '3', order: 'desc', ids: '2,12,22,42,62', limit: '2' };
    const page = await list(`?${new URLSearchParams(search).toString()}`);
    const next = nextOf(page)!;
    expect(next.origin + next.pathname).toBe(`${service.url}/v1/pets`);
    expect(Object.fromEntries(next.searchParams)).toEqual({ ...search, cursor: expect.any(String) });
    expect((await list('?limit=100&ids=1,2')).headers.get('link')).toBeNull();
    expect((await list('?limit=2&ids=1,2')).headers.get('link')).toBeNull();
  });

  test('shows every animal exactly once, whatever the limit, the filters and the order', async () => {
    const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const asked = fc.record({
      limit: fc.integer({ min: 9, max: 100 }),
      status: optional(fc.constantFrom('available', 'pending', 'sold')),
      categoryId: optional(fc.integer({ min: 1, max: 11 })),
      ids: optional(fc.uniqueArray(fc.integer({ min: 1, max: 140 }), { minLength: 1, maxLength: 100 })),
      order: optional(fc.constantFrom('asc', 'desc')),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ limit, order, ...filter }) => {
        const given = Object.entries({ limit, order, ...filter }).filter(([, value]) => value !== undefined);
        const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
        const wanted = of(filter);
        const inOrder = order === 'desc' ? wanted.toReversed() : wanted;
        expect(await walkIds(`?${search.toString()}`)).toEqual(inOrder);
      }),
      { numRuns: 40 },
    );
  });

  describe('has cursors', () => {
    const LISTS = [
      ...['', 'status=sold', 'status=available', 'ids=1,2,3,4', 'categoryId=3'],
      ...['categoryId=3&status=sold', 'order=desc', 'order=desc&status=sold'],
    ];
    const cursorOf = async (search: string) =>
      nextOf(await list(`?${search}&limit=1`))!.searchParams.get('cursor')!;

    /** The first part of each list's cursors since 2.0. */
    const MARKS = [
      ...['iNpV9eW0-lBN', '6YdYFYDsYz-S', 'cvI6378hQ5jp', '5e5FdCKCQ4KE', 'Ylu7Npa3bWgj'],
      ...['-xSiyEC5N5FK', 'p-kwqVHOeVBl', 'b5vtLDNb_0Gg'],
    ];

    test('that are good for their own filters and order, with any limit, and in instances of other releases', async () => {
      const cursors = await Promise.all(LISTS.map(cursorOf));
      const marks = cursors.map((cursor) => Buffer.from(cursor, 'base64url').toString().split(':')[0]);
      expect(marks).toEqual(MARKS);
      for (const [i, search] of LISTS.entries()) {
        for (const [j, cursor] of cursors.entries()) {
          const page = await list(`?${search}&limit=100&cursor=${cursor}`);
          if (i === j) expect(idsOf(page)).toEqual((await walkIds(`?${search}&limit=100`)).slice(1, 101));
          else expectError(page, 400, 'invalid_cursor');
        }
      }
    });

    test('that do not depend on how the filters and the order are written, and are none of another list', async () => {
      const ids = await cursorOf('ids=1,2,3,4');
      expect(idsOf(await list(`?ids=4,3,2,2,1&cursor=${ids}`))).toEqual([2, 3, 4]);
      const cursor = await cursorOf('');
      expect(idsOf(await list(`?limit=2&order=asc&cursor=${cursor}`))).toEqual([2, 3]);
      const elsewhere = await call(service, 'GET', `/v1/categories?cursor=${cursor}`, { key });
      expectError(elsewhere, 400, 'invalid_cursor');
    });

    test.each(['abc', '', 'YWZ0ZXI6', 'YWZ0ZXI6MDA3', 'MjA', '%00', '9'.repeat(5000)])(
      'of which %s is none',
      async (cursor) => {
        expectError(await list(`?cursor=${cursor}`), 400, 'invalid_cursor');
      },
    );
  });

  test('neither repeats nor misses an animal that was there all along while others come and go', async () => {
    const before = [...statuses.keys()];
    const seen = await walkIds('?limit=10', async (page) => {
      await create({ name: 'New', categoryId: 1 });
      for (const sql of [
        `DELETE FROM pets WHERE id = (SELECT min(id) FROM pets WHERE name = 'New')`,
        `UPDATE pets SET name = name || '.' WHERE id = ${idsOf(page).at(-1)}`,
        `INSERT INTO pets (name, category_id) VALUES ('New', 1)`,
      ])
        await query(service.databaseUrl, sql);
    });
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
  });
});

describe('POST /pets', () => {
  test('answers 201 with the animal and its address', async () => {
    const { status, body, headers } = await create({ name: 'Luna', categoryId: 2, status: 'available' });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), name: 'Luna', categoryId: 2, status: 'available' });
    expect(headers.get('location')).toBe(`${service.url}/v1/pets/${body.id}`);
    const found = await get(body.id);
    expect([found.status, found.body]).toEqual([200, body]);
  });

  test.each(['available', 'pending', 'sold', undefined])('accepts the status %s', async (status) => {
    const { body, text } = await create({ name: 'Rex', categoryId: 1, status });
    expect([body.status, text.includes('status')]).toEqual([status, status !== undefined]);
  });

  test('never uses an id that the client supplies, and ignores properties that it does not know', async () => {
    const sent = { id: 7_000_000, name: 'Rex', categoryId: 1, colour: 'red', ['__proto__']: 1 };
    const { status, body } = await create(sent);
    expect(status).toBe(201);
    expect(body.id).toBeLessThan(7_000_000);
    expect(Object.keys(body)).toEqual(['id', 'name', 'categoryId']);
  });

  test('names every bad field and why', async () => {
    const message = expectError(await create({ name: 5, status: 'lost' }), 400, 'validation_failed');
    const reasons =
      /name must be text.*categoryId is required.*status must be one of available, pending, sold/;
    expect(message).toMatch(reasons);
  });

  test('answers 400 category_not_found for a category that does not exist', async () => {
    for (const id of ['987654', '9223372036854775807', '-9223372036854775808'])
      expectError(await create(`{"name":"Rex","categoryId":${id}}`), 400, 'category_not_found');
  });

  test('stores every name as it was sent', async () => {
    const name = fc
      .string({ unit: CHARACTER, minLength: 1, maxLength: 255 })
      .filter((text) => !text.includes('\0') && /\S/.test(text) && lengthInCodePoints(text) <= 255);
    await fc.assert(
      fc.asyncProperty(name, async (text) => {
        const created = await create({ name: text, categoryId: 1 });
        expect(created.body.name).toBe(text);
        expect((await get(created.body.id)).body.name).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});

describe('Identifiers', () => {
  const addCategory = (id: string | bigint) =>
    query(
      service.databaseUrl,
      `INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $1::text || '!') ON CONFLICT DO NOTHING`,
      [id],
    );

  test('are exact on the whole range of int64, in and out', async () => {
    const edges = [
      ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 53n) - 1n],
    ];
    const int64 = fc
      .oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.constantFrom(...edges))
      .filter((id) => id < 1n || id > 1_000_000n);
    await fc.assert(
      fc.asyncProperty(int64, async (id) => {
        await addCategory(id);
        const created = await create(`{"name":"Rex","categoryId":${id}}`);
        expect(created.text).toContain(`"categoryId":${id}}`);
        const category = await call(service, 'GET', `/v1/categories/${id}`, { key });
        expect(category.text).toBe(`{"id":${id},"name":"${id}!"}`);
        await query(
          service.databaseUrl,
          `INSERT INTO pets (id, name, category_id) OVERRIDING SYSTEM VALUE VALUES ($1, 'Big', $1) ON CONFLICT DO NOTHING`,
          [id],
        );
        expect((await get(id)).text).toBe(`{"id":${id},"name":"Big","categoryId":${id}}`);
        expect((await list(`?ids=${id}`)).text).toBe(`[{"id":${id},"name":"Big","categoryId":${id}}]`);
        await query(service.databaseUrl, `DELETE FROM pets WHERE name = 'Big'`);
      }),
      { numRuns: 30, examples: edges.map((id) => [id]) },
    );
  });

  test.each([
    ['1e18', '1000000000000000000'],
    ['9007199254740993.0', '9007199254740993'],
    ['-9.223372036854775808E+18', '-9223372036854775808'],
    ['12e3', '12000'],
  ])('are exact however they are written: %s', async (written, id) => {
    await addCategory(id);
    expect((await create(`{"name":"Rex","categoryId":${written}}`)).text).toContain(`"categoryId":${id}}`);
  });

  test.each(['9223372036854775808e0', '9.223372036854775808e18', '9007199254740993.5', '1e-1'])(
    'are not %s',
    async (written) => {
      const answer = await create(`{"name":"Rex","categoryId":${written}}`);
      expectError(answer, 400, 'validation_failed');
    },
  );

  test('that the service assigns end at 2^53 − 1; after that it answers 503', async () => {
    const add = () => create({ name: 'Rex', categoryId: 1 });
    await query(service.databaseUrl, 'ALTER TABLE pets ALTER COLUMN id RESTART WITH 9007199254740991');
    expect((await add()).body.id).toBe(Number.MAX_SAFE_INTEGER);
    expectError(await add(), 503, 'service_unavailable');
  });
});

describe('GET /pets/{petId}', () => {
  test.each(['9223372036854775808', '1.0', '007', '%205', '٣'])(
    'answers 400 for %s, which is not an int64',
    async (id) => {
      expectError(await get(id), 400, 'validation_failed');
    },
  );

  test('says that it is deprecated, since when, until when, and what replaces it', async () => {
    const help = `, <${service.url}/guides/errors#pet_not_found>; rel="help"`;
    for (const { status, headers } of [await get(1), await get(0)]) {
      expect(headers.get('deprecation')).toBe(`@${Date.UTC(2026, 10, 21) / 1000}`);
      expect(headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      expect(headers.get('link')).toBe(`</v1/pets>; rel="successor-version"${status === 404 ? help : ''}`);
    }
  });

  test('works until 5 December 2030 and answers 410 from that instant on', async () => {
    expect((await get(1)).status).toBe(200);
    service.process.kill('SIGUSR2');
    await eventually(async () => (await get(1)).status !== 200);
    const removed = await get(1);
    expectError(removed, 410, 'operation_removed');
    expect(removed.headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
    expectError(await call(service, 'GET', '/v1/pets/1'), 401, 'missing_api_key');
  });
});
