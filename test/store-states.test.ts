import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Answer, expectError, TIMESTAMP } from '../src/testing/client.js';
import { Customer, STATUSES, times } from './support/customer.js';
import { query, type Service, startService } from '../src/testing/service.js';

/** The allowed moves, and the status that each gives the animal. */
const MOVES: Record<string, string> = {
  'placed approved': 'pending',
  'placed cancelled': 'available',
  'approved delivered': 'sold',
  'approved cancelled': 'available',
};

let service: Service;
let ada: Customer;
let bob: Customer;

beforeAll(async () => {
  service = await startService();
  ada = await Customer.of(service);
  bob = await Customer.of(service);
});
afterAll(() => service.stop());

const failed = (answers: Answer[]) => answers.filter(({ status }) => status >= 400);

describe('PATCH /store/orders/{orderId}', () => {
  const pairs = STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const));
  const isMove = (pair: readonly string[]) => pair.join(' ') in MOVES;

  test.each(pairs.filter(isMove))('moves an order from %s to %s', async (from, to) => {
    const { updatedAt, ...order } = await ada.orderAt(from);
    await sleep(2);
    const { status, body } = await ada.move(order.id, to);
    expect(status).toBe(200);
    expect(body).toEqual({ ...order, status: to, updatedAt: expect.stringMatching(TIMESTAMP) });
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(updatedAt));
    expect((await ada.get(order.id)).body).toEqual(body);
    expect(await ada.petStatus(order.petId)).toBe(MOVES[`${from} ${to}`]);
  });

  test.each(pairs.filter((pair) => !isMove(pair)))(
    'refuses to move an order from %s to %s',
    async (from, to) => {
      const order = await ada.orderAt(from);
      const before = await ada.petStatus(order.petId);
      const message = expectError(await ada.move(order.id, to), 409, 'invalid_transition');
      expect(message).toBe(`The order is ${from} and cannot become ${to}.`);
      expect((await ada.get(order.id)).body).toEqual(order);
      expect(await ada.petStatus(order.petId)).toBe(before);
    },
  );

  test('changes nothing but the status', async () => {
    const order = await ada.orderAt('placed');
    const { body } = await ada.patch(order.id, { status: 'approved', id: 1, petId: 1, createdAt: null });
    expect(body).toEqual({ ...order, status: 'approved', updatedAt: body.updatedAt });
  });

  test.each([
    '{}',
    '{"status":null}',
    '{"status":"shipped"}',
    '{"status":"APPROVED"}',
    '{"status":["approved"]}',
    '[]',
    'null',
  ])('refuses the body %s', async (body) => {
    const order = await ada.orderAt('placed');
    expectError(await ada.patch(order.id, body), 400, 'validation_failed');
    expect((await ada.get(order.id)).body).toEqual(order);
  });

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
  test('that 200 clients order at once goes to one', async () => {
    const petId = await ada.addPet('available');
    const refused = failed(await times(200, (i) => (i % 2 ? ada : bob).place(petId)));
    expect(refused).toHaveLength(199);
    for (const answer of refused) expectError(answer, 409, 'pet_not_available');
    const orders = await query(service.databaseUrl, 'SELECT id FROM orders WHERE pet_id = $1', [petId]);
    expect(orders).toHaveLength(1);
  });

  test('is available again after all who compete for it have cancelled', async () => {
    const pets = await times(3, () => ada.addPet('available'));
    const compete = async (i: number) => {
      const customer = i % 2 ? ada : bob;
      const answers: Answer[] = [];
      for (let round = 0; round < 15; round++) {
        const placed = await customer.place(pets[(i + round) % 3]!);
        answers.push(placed);
        if (placed.status !== 201) continue;
        if (round % 2) answers.push(await customer.move(placed.body.id, 'approved'));
        answers.push(await customer.move(placed.body.id, 'cancelled'));
      }
      return answers;
    };
    const answers = (await times(10, compete)).flat();
    for (const answer of failed(answers)) expectError(answer, 409, 'pet_not_available');
    for (const petId of pets) expect(await ada.petStatus(petId)).toBe('available');
  });

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

type Command = { by: number; pet: number } | { by: number; order: number; to: string };

/** The expected state of the store: three animals that can be ordered and one without a status, and their orders. */
class Model {
  readonly orders: { id: number; by: Customer; pet: Model['pets'][number]; status: string }[] = [];

  private constructor(readonly pets: { id: number; status?: string }[]) {}

  static async start(): Promise<Model> {
    const statuses = ['available', 'available', 'available', undefined];
    return new Model(
      await times(4, async (i) => ({ id: await ada.addPet(statuses[i]), status: statuses[i] })),
    );
  }

  /** Does one thing in the store, and checks that the answer is as expected. */
  async run(command: Command): Promise<void> {
    const by = command.by ? ada : bob;
    if ('pet' in command) await this.place(by, this.pets[command.pet]!);
    else if (this.orders.length > 0) {
      await this.move(by, this.orders[command.order % this.orders.length]!, command.to);
    }
    for (const { id, status } of this.pets) expect(await ada.petStatus(id)).toBe(status);
  }

  private async place(by: Customer, pet: Model['pets'][number]): Promise<void> {
    const answer = await by.place(pet.id);
    if (pet.status !== 'available') return void expectError(answer, 409, 'pet_not_available');
    expect(answer.body).toMatchObject({ petId: pet.id, status: 'placed' });
    pet.status = 'pending';
    this.orders.push({ id: answer.body.id, by, pet, status: 'placed' });
  }

  private async move(by: Customer, order: Model['orders'][number], to: string): Promise<void> {
    const answer = await by.move(order.id, to);
    const petStatus = MOVES[`${order.status} ${to}`];
    if (by !== order.by) return void expectError(answer, 404, 'order_not_found');
    if (!petStatus) return void expectError(answer, 409, 'invalid_transition');
    expect(answer.body).toMatchObject({ id: order.id, status: to });
    order.status = to;
    order.pet.status = petStatus;
  }
}

test('Any sequence of orders and moves by two accounts does what the state machine says', async () => {
  const by = fc.nat(1);
  const command = fc.oneof(fc.record({ by, pet: fc.nat(3) }), {
    weight: 3,
    arbitrary: fc.record({ by, order: fc.nat(5), to: fc.constantFrom<string>(...STATUSES) }),
  });
  const commands = fc.array<Command>(command, { minLength: 5, maxLength: 25, size: 'max' });
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      const model = await Model.start();
      for (const one of sequence) await model.run(one);
      for (const { id, by: owner, pet, status } of model.orders) {
        expect((await owner.get(id)).body).toMatchObject({ id, petId: pet.id, status });
      }
    }),
    { numRuns: 40 },
  );
}, 120_000);
