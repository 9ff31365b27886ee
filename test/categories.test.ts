import { call, createKey, expectError } from '../src/testing/client.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { type Service, startService } from '../src/testing/service.js';

interface Category {
  id: number;
  name: string;
}

const SEEDED = 'Cats, Dogs, Birds, Fish, Rabbits, Hamsters, Guinea pigs, Mice, Turtles, Lizards'
  .split(', ')
  .map((name, i) => ({ id: i + 1, name }));

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

const create = (body: unknown) => call(service, 'POST', '/v1/categories', { key, body });
const list = (search = '') => call(service, 'GET', `/v1/categories${search}`, { key });
const get = (id: number | string) => call(service, 'GET', `/v1/categories/${id}`, { key });
const countOf = async (name: string) =>
  (await walk<Category>(service, '/v1/categories', { key })).filter((one) => one.name === name).length;

test('A fresh database holds ten categories with the ids 1 to 10, and gives the id 11 to the next', async () => {
  const fresh = await startService();
  const options = { key: await createKey(fresh) };
  const page = await call(fresh, 'GET', '/v1/categories', options);
  expect([page.status, page.headers.get('link')]).toEqual([200, null]);
  expect(page.body).toEqual(SEEDED);
  const next = await call(fresh, 'POST', '/v1/categories', { ...options, body: { name: 'Ferrets' } });
  expect(next.body).toEqual({ id: 11, name: 'Ferrets' });
  await fresh.stop();
});

describe('POST /categories', () => {
  test('answers 201 with exactly id and name, and the address', async () => {
    const { status, body, headers } = await create({ name: 'Parrots' });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), name: 'Parrots' });
    expect(headers.get('location')).toBe(`${service.url}/v1/categories/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
  });

  test('never uses an id that the client supplies, and ignores properties that it does not know', async () => {
    const { status, body } = await create({ id: 5_000_000, name: 'Geckos', colour: 'green' });
    expect(status).toBe(201);
    expect(body.id).toBeLessThan(5_000_000);
    expect(Object.keys(body)).toEqual(['id', 'name']);
  });

  test.each([
    ['one character', '𝕏'],
    ['255 characters that are emoji', '🐈'.repeat(255)],
    ['leading and trailing white space', '  Snails\t'],
    ['combining characters', 'Che\u0301vres'],
    ['the same letters composed', 'Ch\u00e9vres'],
  ])('stores a name of %s as it was sent', async (_what, name) => {
    const { status, body } = await create({ name });
    expect(status).toBe(201);
    expect((await get(body.id)).body).toEqual({ id: body.id, name });
  });

  test.each([
    ['no name', {}],
    ['an empty name', { name: '' }],
    ['a name of white space', { name: ' \n\u00a0' }],
    ['a name of 256 characters', { name: '🐈'.repeat(256) }],
    ['a name that is null', { name: null }],
    ['a name that is a number', { name: 7 }],
    ['a name in an array', { name: ['Cats'] }],
    ['a name with NUL', { name: 'Ca\0ts' }],
    ['a name with a lone surrogate', '{"name":"Cats\\udc00"}'],
    ['an array', [{ name: 'Cats' }]],
    ['null', 'null'],
  ])('refuses %s', async (_what, body) => {
    const message = expectError(await create(body), 400, 'validation_failed');
    expect(message).toMatch(/^(?:name (?:is required|must be)|The body must be a JSON object)/);
  });

  test('refuses the name of another category', async () => {
    expectError(await create({ name: 'Cats' }), 409, 'category_exists');
    expect(await countOf('Cats')).toBe(1);
  });

  test('accepts one of many simultaneous categories with one name', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => create({ name: 'Newts' })));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(29);
    for (const answer of refused) expectError(answer, 409, 'category_exists');
    expect(await countOf('Newts')).toBe(1);
  });

  test('returns a category that an animal can be in at once', async () => {
    const { body: category } = await create({ name: 'Axolotls' });
    const pet = await call(service, 'POST', '/v1/pets', {
      key,
      body: { name: 'Xo', categoryId: category.id },
    });
    expect([pet.status, pet.body.categoryId]).toEqual([201, category.id]);
  });
});

describe('GET /categories/{categoryId}', () => {
  test('answers with the category', async () => {
    const { status, text } = await get(2);
    expect([status, text]).toEqual([200, '{"id":2,"name":"Dogs"}']);
  });

  test.each(['0', '-1', '987654321', '9223372036854775807'])('answers 404 for %s', async (id) => {
    expectError(await get(id), 404, 'category_not_found');
  });

  test.each(['9223372036854775808', 'Cats', '1.0', '01', '+1', '1e1'])(
    'answers 400 for %s, which is not an int64',
    async (id) => {
      expectError(await get(id), 400, 'validation_failed');
    },
  );
});

describe('GET /categories', () => {
  test('shows the categories of all accounts to each', async () => {
    const { body } = await create({ name: 'Common' });
    const other = await call(service, 'GET', `/v1/categories/${body.id}`, { key: await createKey(service) });
    expect(other.body).toEqual(body);
  });

  test('links to the next page, except from the last', async () => {
    const first = await list('?limit=3');
    expect(first.body).toEqual(SEEDED.slice(0, 3));
    const next = nextOf(first)!;
    expect(next.origin + next.pathname).toBe(`${service.url}/v1/categories`);
    expect([...next.searchParams.keys()]).toEqual(['limit', 'cursor']);
    expect((await list(next.search)).body).toEqual(SEEDED.slice(3, 6));
    expect((await list('?limit=100')).headers.get('link')).toBeNull();
  });

  test('shows every category exactly once in ascending order of id, whatever the limit', async () => {
    const all = (await list('?limit=100')).body as Category[];
    expect(all).toEqual(all.toSorted((a, b) => a.id - b.id));
    for (const limit of [1, 2, 7, all.length - 1, all.length]) {
      expect(await walk(service, `/v1/categories?limit=${limit}`, { key })).toEqual(all);
    }
  });

  test('has 20 on a page by default', async () => {
    for (let i = 0; i < 11; i++) await create({ name: `Kind ${i}` });
    const page = await list();
    expect(page.body).toHaveLength(20);
    expect(nextOf(page)).not.toBeNull();
  });
});
