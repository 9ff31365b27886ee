import { type Answer, call, expectError, TIMESTAMP } from '../src/testing/client.js';
import { Customer, type Order, STATUSES, times } from './support/customer.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { query, type Service, startService } from '../src/testing/service.js';

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
    const eve = await Customer.of(service);
    expectError(await eve.post('{"petId":9007199254740992}'), 400, 'pet_not_found');
    const { status, text, body } = await eve.post('{"petId":9007199254740993}');
    expect([status, text]).toEqual([201, expect.stringContaining('"petId":9007199254740993,')]);
    expect((await eve.get(body.id)).text).toBe(text);
    expect((await eve.list()).text).toBe(`[${text}]`);
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

describe('The ETag of an order', () => {
  const tagOf = ({ headers }: Answer) => headers.get('etag')!;
  const match = (tag: string) => ({ 'If-Match': tag });
  const placed = async () => {
    const answer = await ada.place(await ada.addPet('available'));
    return { id: answer.body.id as number, tag: tagOf(answer) };
  };

  test('is strong, comes with every answer that is the order, and is another in each state', async () => {
    const { id, tag } = await placed();
    expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect(tagOf(await ada.get(id))).toBe(tag);
    const seen = new Set([tag]);
    for (const status of ['approved', 'delivered']) {
      const moved = await ada.move(id, status);
      expect(tagOf(await ada.get(id))).toBe(tagOf(moved));
      seen.add(tagOf(moved));
    }
    expect(seen.size).toBe(3);
    const head = await call(service, 'HEAD', `/v1/store/orders/${id}`, { key: ada.key });
    expect(seen.has(tagOf(head))).toBe(true);
    const known = await call(service, 'GET', `/v1/store/orders/${id}`, {
      key: ada.key,
      headers: { 'If-None-Match': tagOf(head) },
    });
    expect(known.status).toBe(200);
  });

  test('is another for each order, and comes neither with lists nor with failures', async () => {
    const [one, other] = [await placed(), await placed()];
    expect(one.tag).not.toBe(other.tag);
    for (const answer of [await ada.list(), await ada.get(0), await ada.move(one.id, 'delivered')])
      expect(tagOf(answer)).toBeNull();
  });

  test.each([
    ['itself', (tag: string) => tag],
    ['any', () => '*'],
    ['one of several', (tag: string) => `"x", ${tag},"a,b"`],
    ['one of a list with empty elements', (tag: string) => `,, \t"x" ,${tag} ,`],
  ])('lets a change pass whose If-Match names %s', async (_what, write) => {
    const { id, tag } = await placed();
    const { status, body } = await ada.move(id, 'approved', match(write(tag)));
    expect([status, body.status]).toEqual([200, 'approved']);
  });

  test.each([
    ['another', () => '"x"'],
    ['several others', () => '"x", "y", "\u00e9"'],
    ['the same one as weak', (tag: string) => `W/${tag}`],
    ['the same one in capitals', (tag: string) => tag.toUpperCase().replace(/[^"]/, '_')],
  ])('answers 412 to a change whose If-Match names %s, which changes nothing', async (_what, write) => {
    const { id, tag } = await placed();
    const before = (await ada.get(id)).text;
    expectError(await ada.move(id, 'approved', match(write(tag))), 412, 'precondition_failed');
    // Before the states are looked at, too.
    expectError(await ada.move(id, 'delivered', match(write(tag))), 412, 'precondition_failed');
    expect((await ada.get(id)).text).toBe(before);
  });

  test('comes before the states of an order, and after whether there is one', async () => {
    const { id, tag } = await placed();
    expectError(await ada.move(id, 'delivered', match(tag)), 409, 'invalid_transition');
    expectError(await ada.move(id, 'delivered', match('*')), 409, 'invalid_transition');
    await ada.move(id, 'approved');
    expectError(await ada.move(id, 'placed', match(tag)), 412, 'precondition_failed');
    for (const header of ['*', '"x"', tag]) {
      expectError(await ada.move(0, 'approved', match(header)), 404, 'order_not_found');
      expectError(await bob.move(id, 'approved', match(header)), 404, 'order_not_found');
    }
    const path = `/v1/store/orders/${id}`;
    const unknown = { body: { status: 'delivered' }, headers: match('"x') };
    expectError(await call(service, 'PATCH', path, unknown), 401, 'missing_api_key');
  });

  test.each([
    '',
    ' ',
    'x',
    '"',
    '"x',
    'x"',
    '"x" "y"',
    '"x";"y"',
    '*, "x"',
    '"x", *',
    '**',
    'w/"x"',
    'W/',
    'W/ "x"',
    '"a"b"',
    '"x y"',
  ])('is not %j, which is refused', async (header) => {
    const { id } = await placed();
    expectError(await ada.move(id, 'approved', match(header)), 400, 'validation_failed');
    expect((await ada.get(id)).body.status).toBe('placed');
  });

  test('lets one of many changes at once pass that know the same state', async () => {
    const { id, tag } = await placed();
    const moves = ['approved', 'cancelled'].flatMap((status) =>
      times(10, () => ada.move(id, status, match(tag))),
    );
    const answers = (await Promise.all(moves)).flat();
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(1);
    for (const answer of answers) if (answer !== passed[0]) expectError(answer, 412, 'precondition_failed');
    expect(tagOf(await ada.get(id))).toBe(tagOf(passed[0]!));
  });

  test('is repeated with the first answer to a retry, whatever has become of the order', async () => {
    const { id, tag } = await placed();
    const retry = { 'Idempotency-Key': `approve ${id}`.replace(' ', '-'), ...match(tag) };
    const first = await ada.move(id, 'approved', retry);
    await ada.move(id, 'delivered', match(tagOf(first)));
    const again = await ada.move(id, 'approved', retry);
    expect([again.status, again.text, tagOf(again)]).toEqual([200, first.text, tagOf(first)]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const petId = await ada.addPet('available');
    const order = () =>
      call(service, 'POST', '/v1/store/orders', {
        key: ada.key,
        body: { petId },
        headers: { 'Idempotency-Key': `order-${petId}` },
      });
    const [placing, placingAgain] = [await order(), await order()];
    expect(placingAgain.headers.get('idempotency-replayed')).toBe('true');
    expect(tagOf(placingAgain)).toBe(tagOf(placing));
    expect(tagOf(placing)).toBe(tagOf(await ada.get(placing.body.id)));
  });
});
