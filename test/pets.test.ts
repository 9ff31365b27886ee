import fc from 'fast-check';
import { lengthInCodePoints } from '../src/platform/api/formats.js';
import { type Answer, call, createKey, expectError } from '../src/testing/client.js';
import { CHARACTER } from './support/character.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { query, type Service, startService } from '../src/testing/service.js';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

/** Has the tests of a `describe` run on a service of their own. */
function alone(): void {
  let shared: [Service, string];
  beforeAll(async () => {
    shared = [service, key];
    service = await startService();
    key = await createKey(service);
  });
  afterAll(async () => {
    await service.stop();
    [service, key] = shared;
  });
}

const create = (body: unknown) => call(service, 'POST', '/v1/pets', { key, body });
const list = (search = '') => call(service, 'GET', `/v1/pets${search}`, { key });
const get = (id: number | string | bigint) => call(service, 'GET', `/v1/pets/${id}`, { key });
const idsOf = ({ body }: Answer) => (body as { id: number }[]).map(({ id }) => id);
const walkIds = async (search: string, between?: (page: Answer) => Promise<unknown>) =>
  (await walk<{ id: number }>(service, `/v1/pets${search}`, { key }, between)).map(({ id }) => id);

describe('POST /pets', () => {
  test('answers 201 with the animal and its address', async () => {
    const { status, body, headers } = await create({ name: 'Luna', categoryId: 2, status: 'available' });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), name: 'Luna', categoryId: 2, status: 'available' });
    expect(headers.get('location')).toBe(`${service.url}/v1/pets/${body.id}`);
  });

  test('leaves the status out if none was sent', async () => {
    const { status, text } = await create({ name: 'Rex', categoryId: 1 });
    expect(status).toBe(201);
    expect(text).not.toContain('status');
  });

  test.each(['available', 'pending', 'sold'])('accepts the status %s', async (status) => {
    expect((await create({ name: 'Rex', categoryId: 1, status })).body.status).toBe(status);
  });

  test('never uses an id that the client supplies, and ignores properties that it does not know', async () => {
    const { status, body } = await create({
      id: 7_000_000,
      name: 'Rex',
      categoryId: 1,
      colour: 'red',
      __proto__: 1,
    });
    expect(status).toBe(201);
    expect(body.id).toBeLessThan(7_000_000);
    expect(Object.keys(body)).toEqual(['id', 'name', 'categoryId']);
  });

  test('names every bad field and why', async () => {
    const message = expectError(await create({ name: 5, status: 'lost' }), 400, 'validation_failed');
    expect(message).toMatch(
      /name must be text.*categoryId is required.*status must be one of available, pending, sold/,
    );
  });

  test.each([
    ['no name', { categoryId: 1 }],
    ['an empty name', { name: '', categoryId: 1 }],
    ['a name of white space', { name: ' \t\u2003', categoryId: 1 }],
    ['a name of 256 characters', { name: 'x'.repeat(256), categoryId: 1 }],
    ['a name that is null', { name: null, categoryId: 1 }],
    ['a name that is an object', { name: {}, categoryId: 1 }],
    ['a name with NUL', { name: 'a\0b', categoryId: 1 }],
    ['no category', { name: 'Rex' }],
    ['a category that is text', { name: 'Rex', categoryId: '1' }],
    ['a category that is a fraction', { name: 'Rex', categoryId: 1.5 }],
    ['a category that is true', { name: 'Rex', categoryId: true }],
    ['a category that is null', { name: 'Rex', categoryId: null }],
    ['a category in an array', { name: 'Rex', categoryId: [1] }],
    ['a status that is null', { name: 'Rex', categoryId: 1, status: null }],
    ['a status in capitals', { name: 'Rex', categoryId: 1, status: 'SOLD' }],
    ['a status in an array', { name: 'Rex', categoryId: 1, status: ['sold'] }],
    ['an array', [{ name: 'Rex', categoryId: 1 }]],
    ['a text', '"Rex"'],
    ['null', 'null'],
    ['a lone surrogate', '{"name":"\\ud800","categoryId":1}'],
    ['a category that is nearly an integer', '{"name":"Rex","categoryId":1.0000000000000000001}'],
    ['a category past int64', '{"name":"Rex","categoryId":9223372036854775808}'],
    ['a category of 1e400', '{"name":"Rex","categoryId":1e400}'],
  ])('refuses %s', async (_what, body) => {
    expectError(await create(body), 400, 'validation_failed');
  });

  test('answers 400 category_not_found for a category that does not exist', async () => {
    expectError(await create({ name: 'Rex', categoryId: 987_654 }), 400, 'category_not_found');
    expectError(await create('{"name":"Rex","categoryId":9223372036854775807}'), 400, 'category_not_found');
    expectError(await create('{"name":"Rex","categoryId":-9223372036854775808}'), 400, 'category_not_found');
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
      { numRuns: 100 },
    );
  });
});

describe('GET /pets/{petId}', () => {
  test('answers with the animal', async () => {
    const { body } = await create({ name: 'Luna', categoryId: 2, status: 'sold' });
    const found = await get(body.id);
    expect(found.status).toBe(200);
    expect(found.body).toEqual(body);
  });

  test.each(['0', '-1', '987654321', '9223372036854775807', '-9223372036854775808'])(
    'answers 404 for %s',
    async (id) => {
      expectError(await get(id), 404, 'pet_not_found');
    },
  );

  test.each([
    '9223372036854775808',
    '-9223372036854775809',
    'abc',
    '1.0',
    '1e2',
    '007',
    '+5',
    '0x10',
    '%205',
    '-0',
    '%zz',
    '%ff',
    '1%00',
    '٣',
  ])('answers 400 for %s, which is not an int64', async (id) => {
    expectError(await get(id), 400, 'validation_failed');
  });

  test('says that it is deprecated, since when, until when, and what replaces it', async () => {
    const { body } = await create({ name: 'Luna', categoryId: 2 });
    const help = `, <${service.url}/guides/errors#pet_not_found>; rel="help"`;
    for (const { status, headers } of [await get(body.id), await get(0)]) {
      expect(headers.get('deprecation')).toBe(`@${Date.UTC(2026, 10, 21) / 1000}`);
      expect(headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      expect(headers.get('link')).toBe(`</v1/pets>; rel="successor-version"${status === 404 ? help : ''}`);
    }
  });

  test('works until 5 December 2030 and answers 410 from that instant on', async () => {
    const path = `/v1/pets/${(await create({ name: 'Luna', categoryId: 2 })).body.id}`;
    const main = new URL('./support/at-time.js', import.meta.url).pathname;
    const at = async (time: string) => {
      const other = await startService({ DATABASE_URL: service.databaseUrl, START_TIME: time }, main);
      const answer = await call(other, 'GET', path, { key });
      const unauthorized = await call(other, 'GET', path);
      await other.stop();
      expectError(unauthorized, 401, 'missing_api_key');
      return answer;
    };
    expect((await at('2030-12-04T23:59:30Z')).status).toBe(200);
    const removed = await at('2030-12-05T00:00:00Z');
    expectError(removed, 410, 'operation_removed');
    expect(removed.headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
  });
});

describe('Identifiers', () => {
  alone();

  test('are exact on the whole range of int64, in and out', async () => {
    const int64 = fc
      .oneof(
        fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
        fc.constantFrom(
          2n ** 53n - 1n,
          2n ** 53n,
          2n ** 53n + 1n,
          2n ** 63n - 1n,
          -(2n ** 63n),
          -(2n ** 53n) - 1n,
        ),
      )
      .filter((id) => id < 1n || id > 1_000_000n);
    await fc.assert(
      fc.asyncProperty(int64, async (id) => {
        await query(
          service.databaseUrl,
          `INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $1::text || '!') ON CONFLICT DO NOTHING`,
          [id],
        );
        const created = await create(`{"name":"Rex","categoryId":${id}}`);
        expect(created.text).toContain(`"categoryId":${id}}`);
        expect((await call(service, 'GET', `/v1/categories/${id}`, { key })).text).toBe(
          `{"id":${id},"name":"${id}!"}`,
        );
        await query(
          service.databaseUrl,
          `INSERT INTO pets (id, name, category_id) OVERRIDING SYSTEM VALUE VALUES ($1, 'Big', $1) ON CONFLICT DO NOTHING`,
          [id],
        );
        expect((await get(id)).text).toBe(`{"id":${id},"name":"Big","categoryId":${id}}`);
        expect((await list(`?ids=${id}`)).text).toBe(`[{"id":${id},"name":"Big","categoryId":${id}}]`);
        await query(service.databaseUrl, `DELETE FROM pets WHERE name = 'Big'`);
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    ['1e18', '1000000000000000000'],
    ['9007199254740993.0', '9007199254740993'],
    ['-9.223372036854775808E+18', '-9223372036854775808'],
    ['123456789012345678e0', '123456789012345678'],
    ['12e3', '12000'],
  ])('are exact however they are written: %s', async (written, id) => {
    await query(
      service.databaseUrl,
      `INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $1::text || '!') ON CONFLICT DO NOTHING`,
      [id],
    );
    expect((await create(`{"name":"Rex","categoryId":${written}}`)).text).toContain(`"categoryId":${id}}`);
  });

  test.each(['9223372036854775808e0', '9.223372036854775808e18', '9007199254740993.5', '1e300', '1e-1'])(
    'are not %s',
    async (written) => {
      const answer = await create(`{"name":"Rex","categoryId":${written}}`);
      expectError(answer, 400, 'validation_failed');
    },
  );

  test('that the service assigns end at 2^53 − 1; after that it answers 503', async () => {
    const other = await startService();
    const otherKey = await createKey(other);
    const add = () =>
      call(other, 'POST', '/v1/pets', { key: otherKey, body: { name: 'Rex', categoryId: 1 } });
    await query(other.databaseUrl, 'ALTER TABLE pets ALTER COLUMN id RESTART WITH 9007199254740991');
    expect((await add()).body.id).toBe(Number.MAX_SAFE_INTEGER);
    expectError(await add(), 503, 'service_unavailable');
    await other.stop();
  });
});

describe('GET /pets', () => {
  alone();

  let statuses: Map<number, string | null>;
  /** The ids of the animals that a list holds. */
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

  test.each([1, 2, 99, 100])('accepts a limit of %i', async (limit) => {
    expect(idsOf(await list(`?limit=${limit}`))).toHaveLength(limit);
  });

  test.each([
    '0',
    '101',
    '-1',
    '',
    '007',
    '+5',
    '%2B5',
    '1e2',
    '0x10',
    '1.0',
    '%205',
    '5%20',
    'abc',
    'null',
    '9223372036854775808',
    '٣',
  ])('refuses limit=%s', async (limit) => {
    expectError(await list(`?limit=${limit}`), 400, 'validation_failed');
  });

  test.each([
    'limit=1&limit=2',
    'limit[]=1',
    'limit%5B%5D=1',
    'limit[a]=1',
    'limit[=1',
    'status[]=sold',
    'status=sold&status=sold',
    'categoryId=',
    'categoryId=007',
    'categoryId=a',
    'categoryId=1.0',
    'categoryId=9223372036854775808',
    'categoryId=1&categoryId=1',
    'categoryId[]=1',
    'order=',
    'order=up',
    'order=DESC',
    'order=asc&order=asc',
    'ids=1&ids=2',
    'ids[]=1',
    'cursor[]=a',
    'status=',
    'status=SOLD',
    'status=sold%20',
    'status=%ff',
    'ids=',
    'ids=1,',
    'ids=1,,2',
    'ids=a',
    'ids=007',
    'ids=1%202',
    'ids=9223372036854775808',
  ])('refuses ?%s', async (search) => {
    expectError(await list(`?${search}`), 400, 'validation_failed');
  });

  test('ignores parameters that it does not know', async () => {
    expect(
      idsOf(await list('?limit=3&colour=red&page=9&__proto__=1&=&%ff=%zz&constructor[limit]=1')),
    ).toHaveLength(3);
  });

  test.each(['available', 'pending', 'sold'])('filters by the status %s', async (status) => {
    const wanted = [...statuses].filter(([, one]) => one === status).map(([id]) => id);
    expect(await walkIds(`?status=${status}&limit=7`)).toEqual(wanted);
  });

  test('returns the animals with the requested ids, each once, and ignores unknown ids', async () => {
    expect(idsOf(await list('?ids=5,3,3,99999,-1,4'))).toEqual([3, 4, 5]);
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(await walkIds(`?ids=${hundred.join(',')}&limit=30`)).toEqual(hundred);
    expectError(await list(`?ids=${[...hundred, 101].join(',')}`), 400, 'validation_failed');
  });

  test('filters by a category, an unknown one having no animals', async () => {
    expect(await walkIds('?categoryId=3&limit=9')).toEqual(of({ categoryId: 3 }));
    for (const id of ['987654', '0', '-1', '9223372036854775807', '-9223372036854775808']) {
      const page = await list(`?categoryId=${id}`);
      expect([page.status, page.text]).toEqual([200, '[]']);
    }
  });

  test('comes in the order of ids that was asked for', async () => {
    const all = [...statuses.keys()];
    expect(await walkIds('?order=asc')).toEqual(all);
    expect(await walkIds('?order=desc&limit=9')).toEqual(all.toReversed());
    expect(idsOf(await list('?order=desc&limit=3'))).toEqual(all.slice(-3).toReversed());
  });

  test('is empty if nothing matches, without a Link', async () => {
    const page = await list('?ids=99999');
    expect([page.status, page.text, page.headers.get('link')]).toEqual([200, '[]', null]);
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

  test.each(['abc', '', 'YWZ0ZXI6', 'YWZ0ZXI6MDA3', 'YWZ0ZXI6MjA=', 'MjA', '%00', '9'.repeat(5000)])(
    'answers 400 invalid_cursor for the cursor %s',
    async (cursor) => {
      expectError(await list(`?cursor=${cursor}`), 400, 'invalid_cursor');
    },
  );

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
      '',
      'status=sold',
      'status=available',
      'ids=1,2,3,4,5',
      'ids=1,2,3,4',
      'status=sold&ids=1,2,3,4,5,6,7,8,9',
      'categoryId=3',
      'categoryId=2',
      'categoryId=3&status=sold',
      'categoryId=3&ids=2,12,22',
      'order=desc',
      'order=desc&status=sold',
    ];
    const cursorOf = async (search: string) =>
      nextOf(await list(`?${search}&limit=1`))!.searchParams.get('cursor')!;
    const bare = (id: number) => Buffer.from(`after:${id}`).toString('base64url');
    test('that are good for their own filters and order, with any limit', async () => {
      const cursors = await Promise.all(LISTS.map(cursorOf));
      for (const [i, search] of LISTS.entries()) {
        for (const [j, cursor] of cursors.entries()) {
          const page = await list(`?${search}&limit=100&cursor=${cursor}`);
          if (i === j) expect(idsOf(page)).toEqual((await walkIds(`?${search}&limit=100`)).slice(1, 101));
          else expectError(page, 400, 'invalid_cursor');
        }
      }
    });

    test('that are not those of another list', async () => {
      expectError(
        await call(service, 'GET', `/v1/categories?cursor=${await cursorOf('')}`, { key }),
        400,
        'invalid_cursor',
      );
    });

    test('that are good for the same ids in another order', async () => {
      expect(idsOf(await list(`?ids=4,3,2,2,1&cursor=${await cursorOf('ids=1,2,3,4')}`))).toEqual([2, 3, 4]);
    });

    test('whose order may also be said by its name', async () => {
      expect(idsOf(await list(`?limit=5&order=asc&cursor=${await cursorOf('')}`))).toEqual(
        [...statuses.keys()].slice(1, 6),
      );
    });

    test('of 1.0.0 and 1.1.0 that say nothing but an id, which are good for any filters of 1.0.0, and for no other list', async () => {
      expect(idsOf(await list(`?limit=2&cursor=${bare(5)}`))).toEqual([6, 7]);
      expect(await walkIds(`?limit=100&status=sold&cursor=${bare(50)}`)).toEqual(
        of({ status: 'sold' }).filter((id) => id > 50),
      );
      expect(idsOf(await list(`?ids=1,2,3,4&cursor=${bare(2)}`))).toEqual([3, 4]);
      for (const other of ['order=desc', 'categoryId=3', 'categoryId=3&status=sold'])
        expectError(await list(`?${other}&cursor=${bare(5)}`), 400, 'invalid_cursor');
    });
  });

  test('neither repeats nor misses an animal that was there all along while others come and go', async () => {
    const store = await startService();
    const access = { key: await createKey(store) };
    const rows = await query<{ id: string }>(
      store.databaseUrl,
      `INSERT INTO pets (name, category_id) SELECT 'Pet ' || n, 1 FROM generate_series(1, 95) n RETURNING id`,
    );
    const before = rows.map(({ id }) => Number(id));
    const walked = await walk<{ id: number }>(store, '/v1/pets?limit=10', access, async (page) => {
      await call(store, 'POST', '/v1/pets', { ...access, body: { name: 'New', categoryId: 1 } });
      for (const sql of [
        `DELETE FROM pets WHERE id = (SELECT min(id) FROM pets WHERE name = 'New')`,
        `UPDATE pets SET name = name || '.' WHERE id = ${idsOf(page).at(-1)}`,
        `INSERT INTO pets (name, category_id) VALUES ('New', 1)`,
      ])
        await query(store.databaseUrl, sql);
    });
    await store.stop();
    const seen = walked.map(({ id }) => id);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
  });
});
