import { call, createKey, expectError, query, type Service, startService, walk } from 'petstore/testing';
import { Client } from 'pg';
import { Customer } from './support/customer.js';
import { eventually } from './support/npm.js';

let service: Service;
let key: string;
let petId: number;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  petId = (await post('pets', { name: 'Leo', categoryId: 1 })).body.id;
});
afterAll(() => service.stop());

const post = (path: string, body: object) => call(service, 'POST', `/v1/${path}`, { key, body });
const get = (path: string) => call(service, 'GET', `/v1/${path}`, { key });
const list = <Item>(path: string) => walk<Item & { id: number }>(service, `/v1/${path}`, { key });

const OWNER = {
  firstName: 'George',
  lastName: 'Franklin',
  address: { street: '110 W. Liberty St.', city: 'Madison', zip: '53703' },
  telephone: '6085551023',
  email: 'george@example.com',
  tags: ['regular', 'cats'],
  newsletter: true,
};
const WAITING = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
const VISIT = { date: '2030-01-31', description: 'Rabies shot', price: '12.50', items: [] };
const createOwner = (fields: object = {}) => post('owners', { ...OWNER, ...fields });
const change = (id: number, body: object) => call(service, 'PATCH', `/v1/owners/${id}`, { key, body });
const remove = (id: number) => call(service, 'DELETE', `/v1/owners/${id}`, { key });

describe('An owner', () => {
  test('has an address of parts, tags and a newsletter', async () => {
    const { status, body } = await createOwner();
    expect([status, body]).toEqual([201, { id: expect.any(Number), ...OWNER }]);
    expect((await get(`owners/${body.id}`)).body).toEqual(body);
  });

  test.each([
    ['address.city is required', { address: { street: 'x' } }],
    ['address.zip must be four or five digits', { address: { ...OWNER.address, zip: 'x' } }],
    ['address must be an object', { address: 'Madison' }],
    ['tags[1] must be text of 1 to 30 characters', { tags: ['x', ''] }],
    ['tags must not have an item twice', { tags: ['x', 'x'] }],
    ['newsletter must be true or false', { newsletter: 'yes' }],
    ['telephone must be one to ten digits', { telephone: '+1' }],
  ])('is refused where %s', async (message, fields) => {
    expect(expectError(await createOwner(fields), 400, 'validation_failed')).toContain(message);
  });

  test('is found by the beginning of the last name, in the order of names', async () => {
    for (const lastName of ['Zz-Davis', 'Zz-Da', 'Zz-Black', 'Zz-Davi', 'zz-Davis'])
      await createOwner({ lastName });
    const names = async (search: string) =>
      (await list<typeof OWNER>(`owners?limit=2&lastName=${search}`)).map(({ lastName }) => lastName);
    expect(await names('Zz-Da')).toEqual(['Zz-Da', 'Zz-Davi', 'Zz-Davis']);
    expect(await names('Zz-')).toEqual(['Zz-Black', 'Zz-Da', 'Zz-Davi', 'Zz-Davis']);
    expect(await names('Zz-X')).toEqual([]);
  });

  test('loses the email to null, and nothing to what is left out', async () => {
    const { body } = await createOwner();
    const { email: _, ...rest } = body;
    expect((await change(body.id, { email: null })).body).toEqual(rest);
    const address = { street: '2335 Independence La.', city: 'Waunakee' };
    expect((await change(body.id, { address })).body).toEqual({ ...rest, address });
    expect((await get(`owners/${body.id}`)).body).toEqual({ ...rest, address });
    expectError(await change(body.id, { lastName: null }), 400, 'validation_failed');
    expectError(await change(0, { newsletter: false }), 404, 'owner_not_found');
  });

  test('is deleted, unless there are visits', async () => {
    const [{ body: leaving }, { body: staying }] = [await createOwner(), await createOwner()];
    const visits = `pets/${petId}/visits`;
    const { body: visit } = await post(visits, { ...VISIT, ownerId: staying.id });
    expect((await remove(leaving.id)).status).toBe(204);
    expectError(await remove(leaving.id), 404, 'owner_not_found');
    expectError(await remove(staying.id), 409, 'owner_has_visits');
    expectError(await get(`owners/${leaving.id}`), 404, 'owner_not_found');
    expect((await get(`owners/${staying.id}`)).body).toEqual(staying);
    const cancel = () => call(service, 'DELETE', `/v1/${visits}/${visit.id}`, { key });
    expect((await cancel()).status).toBe(204);
    expectError(await cancel(), 404, 'visit_not_found');
    expect((await remove(staying.id)).status).toBe(204);
  });
});

describe('A vet', () => {
  const specialty = async (name: string) => (await post('specialties', { name })).body;
  const vet = (specialtyIds: number[]) =>
    post('vets', { firstName: 'Helen', lastName: 'Leary', specialtyIds });

  test('has many specialties, each of which many vets have', async () => {
    const [surgery, dentistry] = [await specialty('surgery'), await specialty('dentistry')];
    const { status, body } = await vet([dentistry.id, surgery.id]);
    const helen = { firstName: 'Helen', lastName: 'Leary', specialties: [surgery, dentistry] };
    expect([status, body]).toEqual([201, { id: expect.any(Number), ...helen }]);
    const others = [(await vet([dentistry.id])).body, (await vet([])).body];
    expect(others.map(({ specialties }) => specialties)).toEqual([[dentistry], []]);
    expect((await list('vets?limit=2')).slice(-3)).toEqual([body, ...others]);
    expect((await get(`vets/${body.id}`)).body).toEqual(body);
    expect(await list('specialties')).toEqual(expect.arrayContaining([surgery, dentistry]));
  });

  test('is not added with a specialty that is not there', async () => {
    const before = await list('vets');
    expectError(await vet([0]), 400, 'specialty_not_found');
    expect(await list('vets')).toEqual(before);
    expectError(await vet([1, 1]), 400, 'validation_failed');
    expectError(await get('vets/0'), 404, 'vet_not_found');
    expectError(await get('specialties/0'), 404, 'specialty_not_found');
  });

  test('has specialties of different names', async () => {
    await specialty('radiology');
    expectError(await post('specialties', { name: 'radiology' }), 409, 'specialty_exists');
  });
});

describe('A visit', () => {
  let ownerId: number;
  const visit = (fields: object = {}, pet = petId) =>
    post(`pets/${pet}/visits`, { ownerId, ...VISIT, ...fields });

  beforeAll(async () => {
    ownerId = (await createOwner()).body.id;
  });

  test('costs what it and its items cost, to the cent', async () => {
    const items = [
      { name: 'Vaccine', price: '0.10' },
      { name: 'Chip', price: '99999.99' },
    ];
    const { status, body, headers } = await visit({ price: '0.2', items });
    const made = {
      id: expect.any(Number),
      petId,
      ownerId,
      ...VISIT,
      price: '0.20',
      items,
      total: '100000.29',
    };
    expect([status, body]).toEqual([201, made]);
    expect(headers.get('location')).toBe(`${service.url}/v1/pets/${petId}/visits/${body.id}`);
    expect((await get(`pets/${petId}/visits/${body.id}`)).body).toEqual(body);
  });

  test.each([
    ['price must be text with a number', { price: 12.5 }],
    ['price must be text with a number', { price: '12.505' }],
    ['date must be a day', { date: '2030-02-30' }],
    ['items[1].price is required', { items: [{ name: 'x', price: '1' }, { name: 'y' }] }],
  ])('is refused where %s', async (message, fields) => {
    expect(expectError(await visit(fields), 400, 'validation_failed')).toContain(message);
  });

  test('is in the list of its animal, the newest first, between two days', async () => {
    const { id } = (await post('pets', { name: 'Max', categoryId: 1 })).body;
    const days = ['2030-01-31', '2030-03-01', '2029-12-31', '2030-01-31'];
    for (const date of days) await visit({ date }, id);
    const listed = async (search = '') =>
      (await list<typeof VISIT>(`pets/${id}/visits?limit=2${search}`)).map(({ date }) => date);
    expect(await listed()).toEqual(days.toSorted().toReversed());
    expect(await listed('&from=2030-01-31&to=2030-03-01')).toEqual(['2030-01-31', '2030-01-31']);
    const other = (await visit()).body;
    expectError(await get(`pets/${id}/visits/${other.id}`), 404, 'visit_not_found');
    expectError(await get('pets/0/visits'), 404, 'pet_not_found');
  });

  test('needs an owner and an animal that are there, and that the animal is not sold', async () => {
    expectError(await visit({ ownerId: 0 }), 400, 'owner_not_found');
    expectError(await visit({}, 0), 404, 'pet_not_found');
    const customer = await Customer.of(service);
    const order = await customer.orderAt('delivered');
    expectError(await visit({}, order.petId), 409, 'pet_sold');
  });

  test('is not made while the animal is being sold', async () => {
    const client = new Client({ connectionString: service.databaseUrl });
    await client.connect();
    // Nobody waits for a lock for longer than a moment: on a busy machine, several times.
    await eventually(async () => {
      const { body: pet } = await post('pets', { name: 'Rex', categoryId: 1 });
      await client.query('BEGIN');
      await client.query('UPDATE pets SET status = $1 WHERE id = $2', ['sold', pet.id]);
      const asked = visit({}, pet.id);
      await eventually(async () => (await query(service.databaseUrl, WAITING)).length > 0);
      await client.query('COMMIT');
      const answer = await asked;
      if (answer.status === 503) return false;
      expectError(answer, 409, 'pet_sold');
      return true;
    });
    await client.end();
  });
});
