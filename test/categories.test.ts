import { randomUUID } from 'node:crypto';
import { call, createKey, expectError } from '../src/testing/client.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { sharedService } from '../src/testing/service.js';

interface Category {
  id: number;
  name: string;
}

const SEEDED = 'Cats, Dogs, Birds, Fish, Rabbits, Hamsters, Guinea pigs, Mice, Turtles, Lizards'
  .split(', ')
  .map((name, i) => ({ id: i + 1, name }));

const service = sharedService();
let key: string;
beforeAll(async () => (key = await createKey(service)));

const create = (body: unknown) => call(service, 'POST', '/v1/categories', { key, body });
const list = (search = '') => call(service, 'GET', `/v1/categories${search}`, { key });
const get = (id: number | string, by = key) => call(service, 'GET', `/v1/categories/${id}`, { key: by });
/** No other test has a category of this name. */
const own = (name: string) => `${name} ${randomUUID()}`;

describe('POST /categories', () => {
  test('answers 201 with exactly id and name, and the address; all accounts see the category', async () => {
    const name = own('Parrots');
    const { status, body, headers } = await create({ id: 5_000_000, name, colour: 'green' });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), name });
    expect([body.id > 10, body.id < 5_000_000]).toEqual([true, true]);
    expect(headers.get('location')).toBe(`${service.url}/v1/categories/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
    expect((await get(body.id, await createKey(service))).body).toEqual(body);
    const pet = { name: 'Xo', categoryId: body.id };
    expect((await call(service, 'POST', '/v1/pets', { key, body: pet })).body).toMatchObject(pet);
  });

  test('accepts one of many simultaneous categories with one name', async () => {
    const name = own('Newts');
    const answers = await Promise.all(Array.from({ length: 30 }, () => create({ name })));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(29);
    for (const answer of refused) expectError(answer, 409, 'category_exists');
    const all = await walk<Category>(service, '/v1/categories?limit=100', { key });
    expect(all.filter((one) => one.name === name)).toHaveLength(1);
  });
});

test('GET /categories begins with the ten that a fresh database has, and links to the next page, except from the last', async () => {
  await create({ name: own('Next') });
  const first = await list('?limit=10');
  expect(first.body).toEqual(SEEDED);
  const next = nextOf(first)!;
  expect(next.origin + next.pathname).toBe(`${service.url}/v1/categories`);
  expect([...next.searchParams.keys()]).toEqual(['limit', 'cursor']);
});
