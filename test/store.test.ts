import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, call, expectError, TIMESTAMP } from '../src/testing/client.js';
import { query, sharedService } from '../src/testing/service.js';
import { Customer, type Order, STATUSES, times } from './support/customer.js';

/** The allowed moves, and the status that each gives the animal. */
const MOVES: Record<string, string> = {
  'placed approved': 'pending',
  'placed cancelled': 'available',
  'approved delivered': 'sold',
  'approved cancelled': 'available',
};

const service = sharedService();
let ada: Customer;
let bob: Customer;

beforeAll(async () => {
  ada = await Customer.of(service);
  bob = await Customer.of(service);
});

const failed = (answers: Answer[]) => answers.filter(({ status }) => status >= 400);

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

  test.each(['pending', 'sold', undefined])('refuses an animal whose status is %s', async (status) => {
    const petId = await ada.addPet(status);
    expectError(await ada.place(petId), 409, 'pet_not_available');
    expect(await ada.petStatus(petId)).toBe(status);
  });

  test.each(['987654321', '0', '9223372036854775807', '-9223372036854775808'])(
    'answers 400 pet_not_found for the animal %s, which does not exist',
    async (petId) => {
      expectError(await ada.post(`{"petId":${petId}}`), 400, 'pet_not_found');
    },
  );
});

test('GET /store/orders answers with the orders of the account, by ascending id, all of them or those of a status', async () => {
  const eve = await Customer.of(service);
  expect((await eve.list()).text).toBe('[]');
  const orders: Order[] = [];
  for (const status of [...STATUSES, ...STATUSES]) orders.push(await eve.orderAt(status));
  const page = await eve.list();
  expect([page.status, page.headers.get('link')]).toEqual([200, null]);
  expect(page.body).toEqual(orders);
  for (const wanted of STATUSES)
    expect((await eve.list(`?status=${wanted}`)).body).toEqual(
      orders.filter(({ status }) => status === wanted),
    );
});

describe('PATCH /store/orders/{orderId}', () => {
  test.each(STATUSES)(
    'moves an order that is %s where the state machine says, and nowhere else',
    async (from) => {
      for (const to of STATUSES) {
        const order = await ada.orderAt(from);
        const before = await ada.petStatus(order.petId);
        // The time of a change is told in milliseconds.
        await sleep(2);
        const answer = await ada.move(order.id, to);
        const petStatus = MOVES[`${from} ${to}`];
        if (!petStatus) {
          const message = expectError(answer, 409, 'invalid_transition');
          expect(message).toBe(`The order is ${from} and cannot become ${to}.`);
          expect((await ada.get(order.id)).body).toEqual(order);
          expect(await ada.petStatus(order.petId)).toBe(before);
          continue;
        }
        const { status, body } = answer;
        expect([status, body]).toEqual([200, { ...order, status: to, updatedAt: body.updatedAt }]);
        expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(order.updatedAt));
        expect((await ada.get(order.id)).body).toEqual(body);
        expect(await ada.petStatus(order.petId)).toBe(petStatus);
      }
    },
  );

  test('does not touch the animal of a finished order that another order holds by now', async () => {
    const first = await ada.orderAt('cancelled');
    await bob.place(first.petId);
    for (const status of STATUSES) expectError(await ada.move(first.id, status), 409, 'invalid_transition');
    expect(await ada.petStatus(first.petId)).toBe('pending');
  });

  test('lets exactly one of many simultaneous moves win', async () => {
    const order = await ada.orderAt('placed');
    const approvals = failed(await times(20, () => ada.move(order.id, 'approved')));
    expect(approvals).toHaveLength(19);
    const endings = await times(20, (i) => ada.move(order.id, i % 2 ? 'delivered' : 'cancelled'));
    for (const answer of [...approvals, ...failed(endings)]) expectError(answer, 409, 'invalid_transition');
    const won = endings.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect((await ada.get(order.id)).body).toEqual(won[0]!.body);
    expect(await ada.petStatus(order.petId)).toBe(MOVES[`approved ${won[0]!.body.status}`]);
  });
});

describe('An animal', () => {
  test('is kept out of two open orders by the database itself', async () => {
    const { id } = await ada.orderAt('placed');
    const insert = (status: string) =>
      query(
        service.databaseUrl,
        `INSERT INTO orders (account_id, pet_id, status) SELECT account_id, pet_id, $2 FROM orders WHERE id = $1`,
        [id, status],
      );
    await expect(insert('placed')).rejects.toMatchObject({ constraint: 'orders_open_pet_id_key' });
    await expect(insert('approved')).rejects.toMatchObject({ constraint: 'orders_open_pet_id_key' });
    await insert('cancelled');
  });

  test('stays as it is if its order cannot be written: both are one transaction', async () => {
    const { petId } = await ada.orderAt('placed');
    await query(service.databaseUrl, `UPDATE pets SET status = 'available' WHERE id = $1`, [petId]);
    expectError(await bob.place(petId), 409, 'pet_not_available');
    expect(await ada.petStatus(petId)).toBe('available');
  });
});

describe('The ETag of an order', () => {
  const tagOf = ({ headers }: Answer) => headers.get('etag')!;
  const match = (tag: string) => ({ 'If-Match': tag });
  const placed = async () => {
    const answer = await ada.place(await ada.addPet('available'));
    return { id: answer.body.id as number, tag: tagOf(answer) };
  };

  test('is strong, comes with every answer that is the order and with no other, and changes with its state', async () => {
    const { id, tag } = await placed();
    expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect((await placed()).tag).not.toBe(tag);
    const seen = new Set([tag]);
    for (const status of ['approved', 'delivered']) {
      const moved = await ada.move(id, status);
      expect(tagOf(await ada.get(id))).toBe(tagOf(moved));
      seen.add(tagOf(moved));
    }
    expect(seen.size).toBe(3);
    const read = (method: string, headers = {}) =>
      call(service, method, `/v1/store/orders/${id}`, { key: ada.key, headers });
    const head = await read('HEAD');
    expect(seen.has(tagOf(head))).toBe(true);
    for (const method of ['GET', 'HEAD']) {
      const known = await read(method, { 'If-None-Match': `"x", W/${tagOf(head)}` });
      expect([known.status, known.text, tagOf(known)]).toEqual([304, '', tagOf(head)]);
    }
    expect((await read('GET', { 'If-None-Match': tag })).status).toBe(200);
    for (const answer of [await ada.list(), await ada.get(0), await ada.move(id, 'placed')])
      expect(tagOf(answer)).toBeNull();
  });

  test.each([
    ['itself', (tag: string) => tag],
    ['any', () => '*'],
    ['one of a list with empty elements', (tag: string) => `,, \t"x,y" ,${tag} ,`],
  ])('lets a change pass whose If-Match names %s', async (_what, write) => {
    const { id, tag } = await placed();
    const { status, body } = await ada.move(id, 'approved', match(write(tag)));
    expect([status, body.status]).toEqual([200, 'approved']);
  });

  test('answers 412 to a change whose If-Match names another or is weak, and 400 to one that is malformed', async () => {
    const { id, tag } = await placed();
    const before = (await ada.get(id)).text;
    for (const other of ['"x"', '"x", "y", "\u00e9"', `W/${tag}`])
      // Before the states are looked at, too.
      for (const status of ['approved', 'delivered'])
        expectError(await ada.move(id, status, match(other)), 412, 'precondition_failed');
    const malformed = ['', 'x', '"x', '"x" "y"', '"x";"y"', '*, "x"', '**', 'w/"x"', 'W/ "x"', '"x y"'];
    for (const header of malformed)
      expectError(await ada.move(id, 'approved', match(header)), 400, 'validation_failed');
    expect((await ada.get(id)).text).toBe(before);
  });

  test('malformed, a path and a body that are wrong are named together', async () => {
    const change = { key: ada.key, body: { status: 'x' }, headers: match('malformed') };
    const answer = await call(service, 'PATCH', '/v1/store/orders/abc', change);
    expectError(answer, 400, 'validation_failed');
    expect(answer.body.message).toMatch(/^orderId must be .*; status must be .*; If-Match must be .*\.$/);
  });

  test('is checked before the status of the order, and after the existence of the order', async () => {
    const { id, tag } = await placed();
    for (const header of [tag, '*'])
      expectError(await ada.move(id, 'delivered', match(header)), 409, 'invalid_transition');
    for (const header of ['*', '"x"', tag]) {
      expectError(await ada.move(0, 'approved', match(header)), 404, 'order_not_found');
      expectError(await bob.move(id, 'approved', match(header)), 404, 'order_not_found');
    }
    const unknown = { body: { status: 'delivered' }, headers: match('"x') };
    expectError(await call(service, 'PATCH', `/v1/store/orders/${id}`, unknown), 401, 'missing_api_key');
  });

  test('lets one of many simultaneous changes with the same ETag pass', async () => {
    const { id, tag } = await placed();
    const answers = await times(20, (i) => ada.move(id, i % 2 ? 'approved' : 'cancelled', match(tag)));
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(1);
    for (const answer of failed(answers)) expectError(answer, 412, 'precondition_failed');
    expect(tagOf(await ada.get(id))).toBe(tagOf(passed[0]!));
  });
});
