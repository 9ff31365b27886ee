import { expectError, TIMESTAMP } from './support/client.js';
import { Customer, type Order, STATUSES, times } from './support/customer.js';
import { nextOf, walk } from './support/paging.js';
import { query, type Service, startService } from './support/service.js';

let service: Service;
let ada: Customer;
let bob: Customer;

beforeAll(async () => {
  service = await startService();
  ada = await Customer.of(service);
  bob = await Customer.of(service);
});
afterAll(() => service.stop());

describe('POST /store/orders', () => {
  test('answers 201 with exactly the five fields and the address, and makes the animal pending', async () => {
    const petId = await ada.addPet('available');
    const { status, body, headers } = await ada.place(petId);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      petId,
      status: 'placed',
      createdAt: expect.stringMatching(TIMESTAMP),
      updatedAt: body.createdAt,
    });
    expect(Math.abs(Date.parse(body.createdAt) - Date.now())).toBeLessThan(5000);
    expect(headers.get('location')).toBe(`${service.url}/v1/store/orders/${body.id}`);
    expect((await ada.get(body.id)).body).toEqual(body);
    expect(await ada.petStatus(petId)).toBe('pending');
  });

  test('never uses what the service assigns, and ignores properties that it does not know', async () => {
    const petId = await ada.addPet('available');
    const createdAt = '2000-01-01T00:00:00.000Z';
    const { body } = await ada.post({ petId, id: 8_000_000, status: 'delivered', createdAt, accountId: 1 });
    expect(body.status).toBe('placed');
    expect(body.id).toBeLessThan(8_000_000);
    expect(body.createdAt).not.toBe(createdAt);
  });

  test.each(['pending', 'sold', undefined])('refuses an animal whose status is %s', async (status) => {
    const petId = await ada.addPet(status);
    expectError(await ada.place(petId), 409, 'pet_not_available');
    expect(await ada.petStatus(petId)).toBe(status);
  });

  test.each(['placed', 'approved', 'delivered'] as const)(
    'refuses an animal with an order that is %s, to any account',
    async (status) => {
      const { petId } = await ada.orderAt(status);
      expectError(await ada.place(petId), 409, 'pet_not_available');
      expectError(await bob.place(petId), 409, 'pet_not_available');
    },
  );

  test('accepts an animal again whose order was cancelled', async () => {
    const { id, petId } = await ada.orderAt('cancelled');
    const { status, body } = await bob.place(petId);
    expect([status, body.petId, body.id > id]).toEqual([201, petId, true]);
  });

  test.each(['987654321', '0', '-1', '9223372036854775807', '-9223372036854775808'])(
    'answers 400 pet_not_found for the animal %s, which does not exist',
    async (petId) => {
      expectError(await ada.post(`{"petId":${petId}}`), 400, 'pet_not_found');
    },
  );

  test('accepts an id beyond 2^53 with all its digits', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
       VALUES (9007199254740993, 'Big', 1, 'available')`,
    );
    expectError(await ada.post('{"petId":9007199254740992}'), 400, 'pet_not_found');
    const { status, text, body } = await ada.post('{"petId":9007199254740993}');
    expect([status, text]).toEqual([201, expect.stringContaining('"petId":9007199254740993,')]);
    expect((await ada.get(body.id)).text).toBe(text);
    expect((await ada.list('?limit=100')).text).toContain(text);
  });

  test.each([
    ['no animal', {}],
    ['null', { petId: null }],
    ['text', { petId: '1' }],
    ['a fraction', { petId: 1.5 }],
    ['true', { petId: true }],
    ['an array', { petId: [1] }],
    ['a number beyond int64', '{"petId":9223372036854775808}'],
    ['a list of orders', [{ petId: 1 }]],
  ])('refuses %s', async (_what, body) => {
    expectError(await ada.post(body), 400, 'validation_failed');
  });
});

describe('An order of another account', () => {
  test('is treated as missing, and stays as it is', async () => {
    const order = await bob.orderAt('placed');
    const theirs = await ada.get(order.id);
    expectError(theirs, 404, 'order_not_found');
    expect(theirs.text).toBe((await ada.get(987_654_321)).text);
    for (const status of STATUSES) expectError(await ada.move(order.id, status), 404, 'order_not_found');
    const listed = await walk<Order>(service, '/v1/store/orders', ada);
    expect(listed.map(({ id }) => id)).not.toContain(order.id);
    expect((await bob.get(order.id)).body).toEqual(order);
    expect(await bob.petStatus(order.petId)).toBe('pending');
  });
});

describe('An orderId', () => {
  test.each(['0', '-1', '987654321', '9223372036854775807'])('of %s is answered 404', async (id) => {
    expectError(await ada.get(id), 404, 'order_not_found');
    expectError(await ada.move(id, 'approved'), 404, 'order_not_found');
  });

  test.each(['9223372036854775808', 'x', '1.0', '007', '%201'])('of %s is answered 400', async (id) => {
    expectError(await ada.get(id), 400, 'validation_failed');
    expectError(await ada.move(id, 'approved'), 400, 'validation_failed');
  });
});

describe('GET /store/orders', () => {
  let eve: Customer;
  beforeEach(async () => {
    eve = await Customer.of(service);
  });

  test('answers with the orders of the account, in ascending order of id', async () => {
    expect((await eve.list()).text).toBe('[]');
    const orders = [await eve.orderAt('placed'), await eve.orderAt('delivered'), await eve.orderAt('placed')];
    await ada.orderAt('placed');
    const page = await eve.list();
    expect([page.status, page.headers.get('link')]).toEqual([200, null]);
    expect(page.body).toEqual(orders);
  });

  test.each(STATUSES)('filters by the status %s', async (wanted) => {
    const orders: Order[] = [];
    for (const status of [...STATUSES, ...STATUSES]) orders.push(await eve.orderAt(status));
    const { body } = await eve.list(`?status=${wanted}`);
    expect(body).toEqual(orders.filter(({ status }) => status === wanted));
  });

  test.each([
    'status=',
    'status=shipped',
    'status=PLACED',
    'status=placed&status=placed',
    'status[]=placed',
    'limit=0',
    'limit=101',
    'limit=1.0',
  ])('refuses ?%s', async (search) => {
    expectError(await eve.list(`?${search}`), 400, 'validation_failed');
  });

  test('keeps the filter from page to page', async () => {
    const wanted: Order[] = [];
    for (let i = 0; i < 5; i++) {
      wanted.push(await eve.orderAt('placed'));
      await eve.orderAt('cancelled');
    }
    const first = await eve.list('?status=placed&limit=2');
    const next = nextOf(first)!;
    expect(next.origin + next.pathname).toBe(`${service.url}/v1/store/orders`);
    expect(Object.fromEntries(next.searchParams)).toMatchObject({ status: 'placed', limit: '2' });
    expect(await walk(service, '/v1/store/orders?status=placed&limit=2', eve)).toEqual(wanted);
    expect((await eve.list('?status=placed&limit=5')).headers.get('link')).toBeNull();
  });

  test('neither repeats nor misses an order while others are placed and moved', async () => {
    const before = (await times(7, () => eve.orderAt('placed')))
      .map(({ id }) => id)
      .toSorted((a, b) => a - b);
    let page = 0;
    const seen = await walk<Order>(service, '/v1/store/orders?limit=2', eve, async () => {
      await eve.move(before[page++]!, 'approved');
      await eve.move(before[6]!, 'cancelled');
      await eve.orderAt('placed');
    });
    const ids = seen.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => before.includes(id))).toEqual(before);
  });
});
