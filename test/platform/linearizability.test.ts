import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { type Call, exchange } from '../faults/support/load.js';
import { countStatuses } from '../faults/support/figures.js';
import { call, createKey } from '../../src/testing/client.js';
import { nextOf } from '../../src/testing/paging.js';
import { times, untilServed } from '../support/customer.js';
import { Register } from '../support/register.js';
import { isThorough } from '../support/thorough.js';
import {
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../../src/testing/service.js';

interface Item {
  id: number;
  petId?: number;
  status?: string;
}

interface Answer {
  status: number;
  item: Item;
  items: Item[];
}

const agent = new Agent({ keepAlive: true });
const { databaseUrl } = sharedService();
let second: Service;
let services: TestedService[];
let key: string;
/** What cursors of the list of each status begin with. */
const marks = new Map<string, string>();

beforeAll(async () => {
  second = await startService({ DATABASE_URL: databaseUrl, ROLE: 'api' });
  services = [sharedService(), second];
  key = await createKey(second);
  for (const status of ['available', 'pending', 'sold']) {
    const body = { name: 'Luna', categoryId: 1, status };
    for (const _ of [1, 2]) await call(second, 'POST', '/v1/pets', { key, body });
    const page = await call(second, 'GET', `/v1/pets?status=${status}&limit=1`, { key });
    const cursor = nextOf(page)!.searchParams.get('cursor')!;
    marks.set(status, Buffer.from(cursor, 'base64url').toString().split(':')[0]!);
  }
});
afterAll(async () => {
  agent.destroy();
  await second?.stop();
});

let requests = 0;

/** Asks two instances in turn, half of the writes with a key; again if the service is too busy for it. */
async function ask(call: Call): Promise<Answer> {
  const service = services[requests++ % 2]!;
  const idempotencyKey = call.method && requests % 2 ? randomUUID() : undefined;
  return untilServed(async () => {
    const { status, body, failure } = await exchange(service.url, { ...call, key, idempotencyKey }, agent);
    if (failure) throw new Error(`${call.path}: ${failure}`);
    const content: unknown = JSON.parse(body);
    return { status, item: content as Item, items: content as Item[] };
  });
}

const get = (path: string) => ask({ path: `/v1${path}` });
const post = (path: string, body: object) => ask({ method: 'POST', path: `/v1${path}`, body });
const addPet = async (status: string) =>
  (await post('/pets', { name: 'Rex', categoryId: 1, status })).item.id;
const place = (petId: number) => post('/store/orders', { petId });
const cancel = (orderId: number) =>
  ask({ method: 'PATCH', path: `/v1/store/orders/${orderId}`, body: { status: 'cancelled' } });

/** The cursor of the list of a status whose page starts behind an id. */
const after = (status: string, id: number) => Buffer.from(`${marks.get(status)}:${id}`).toString('base64url');

/** An animal whose status one client changes again and again, by ordering it and cancelling the order. */
class HotPet {
  readonly status = new Register<string | undefined>('available');
  order?: { id: number; status: Register<string> };

  constructor(readonly id: number) {}

  /** Orders it and cancels again; after each acknowledgement it is read at once, in every possible way. */
  async toggle(): Promise<void> {
    const { status } = this;
    const placed = await status.write('pending', () => place(this.id));
    expect(placed.status).toBe(201);
    const order = { id: placed.item.id, status: new Register('placed') };
    this.order = order;
    await Promise.all([this.read(), this.readInList(), this.readOrder(), this.readByStatus('pending')]);
    const cancelled = await status.write('available', () =>
      order.status.write('cancelled', () => cancel(order.id)),
    );
    expect(cancelled.status).toBe(200);
    await Promise.all([this.read(), this.readInList(), this.readOrder(), this.readByStatus('available')]);
  }

  async read(): Promise<void> {
    const begun = this.status.now();
    const { item } = await get(`/pets/${this.id}`);
    this.expect('getPet', item.status, begun);
  }

  async readInList(others: HotPet[] = []): Promise<void> {
    const all = [this, ...others];
    const begun = all.map(({ status }) => status.now());
    const { items } = await get(`/pets?limit=100&ids=${all.map(({ id }) => id).join()}`);
    all.forEach((pet, i) =>
      pet.expect('listPets by ids', items.find(({ id }) => id === pet.id)?.status, begun[i]!),
    );
  }

  /** The page of its status that starts with it. */
  async readByStatus(status: string): Promise<void> {
    const begun = this.status.now();
    const { items } = await get(`/pets?status=${status}&limit=1&cursor=${after(status, this.id - 1)}`);
    const isThere = items[0]?.id === this.id;
    // A page only shows whether the animal has the status.
    const values = isThere ? [status] : ['available', 'pending'].filter((other) => other !== status);
    expect(values.some((value) => this.status.mayBe(value, begun)) || `stale page of ${status}`).toBe(true);
  }

  async readOrder(): Promise<void> {
    const { order } = this;
    if (!order) return;
    const begun = order.status.now();
    const { item } = await get(`/store/orders/${order.id}`);
    expect(order.status.mayBe(item.status, begun) || `stale order ${item.status}`).toBe(true);
  }

  private expect(what: string, status: string | undefined, begun: number): void {
    expect(this.status.mayBe(status, begun) || `${what}: stale ${status}`).toBe(true);
  }
}

/** Animals that were added and acknowledged, as the last page of their status shows them. */
class Additions {
  private readonly acknowledged: number[] = [];

  constructor(private readonly start: number) {}

  async add(): Promise<void> {
    const id = await addPet('sold');
    this.acknowledged.push(id);
    await this.read(id - 1);
  }

  /** The page after one of the last animals holds all those after it that existed before. */
  async read(from = this.acknowledged.at(-20) ?? this.start): Promise<void> {
    const there = this.acknowledged.filter((id) => id > from);
    const { items } = await get(`/pets?status=sold&limit=100&cursor=${after('sold', from)}`);
    const ids = new Set(items.map(({ id }) => id));
    const last = Math.max(...ids);
    expect(there.filter((id) => !ids.has(id) && (ids.size < 100 || id <= last))).toEqual([]);
  }
}

const READERS = 16;
const READS = isThorough ? 140 : 30;

test('With two instances on one database, a read that begins after a write was acknowledged sees it, however many clients read and write', async () => {
  const hot = await times(6, async () => new HotPet(await addPet('available')));
  const additions = new Additions(hot.at(-1)!.id);
  const readersAreDone = new AbortController();
  const repeat = async (write: () => Promise<void>) => {
    while (!readersAreDone.signal.aborted) await write();
  };
  const writers = [
    ...hot.map((pet) => repeat(() => pet.toggle())),
    ...[1, 2, 3].map(() => repeat(() => additions.add())),
  ];
  const readers = times(READERS, async (reader) => {
    for (let i = 0; i < READS; i++) {
      const pet = hot[(reader + i) % hot.length]!;
      const reads = [
        () => pet.read(),
        () => pet.readInList(hot.filter((other) => other !== pet)),
        () => pet.readByStatus(i % 2 ? 'available' : 'pending'),
        () => pet.readOrder(),
        () => additions.read(),
      ];
      await reads[i % reads.length]!();
    }
  });
  await Promise.all([readers.finally(() => readersAreDone.abort()), ...writers]);
  expect(requests).toBeGreaterThan(READERS * READS * 1.2);
});

test('Of 200 clients of two instances that order the same few animals at once, exactly one gets each', async () => {
  const pets = await times(4, () => addPet('available'));
  const answers = await times(200, (i) => place(pets[i % pets.length]!));
  expect(countStatuses(answers)).toBe('201×4 409×196');
  const taken = answers.filter(({ status }) => status === 201).map(({ item }) => item.petId!);
  expect(taken.toSorted((a, b) => a - b)).toEqual(pets.toSorted((a, b) => a - b));
  const sql = `SELECT count(*)::int AS orders, count(DISTINCT pet_id)::int AS pets FROM orders
    JOIN pets ON pets.id = pet_id WHERE pets.id = ANY($1) AND pets.status = 'pending'`;
  expect(await query(databaseUrl, sql, [pets])).toEqual([{ orders: 4, pets: 4 }]);
});

/** What one client did to an order, and what it was told. */
interface Done {
  /** The status that it asked for; undefined for a read. */
  move?: string;
  /** The status in the answer; undefined for a refusal. */
  told?: string;
  from: number;
  to: number;
}

const MOVES: Record<string, string[]> = {
  placed: ['approved', 'cancelled'],
  approved: ['delivered', 'cancelled'],
};

/** Whether a history could have happened one after the other, each at a moment between its request and its answer. */
function isLinearizable(
  history: readonly Done[],
  state: string,
  seen = new Set<string>(),
  left = history,
): boolean {
  if (left.length === 0) return true;
  const place = `${state} ${left.map((one) => history.indexOf(one)).join()}`;
  if (seen.has(place)) return false;
  seen.add(place);
  const firstEnd = Math.min(...left.map(({ to }) => to));
  return left.some((one) => {
    if (one.from > firstEnd) return false;
    const mayMove = one.move !== undefined && (MOVES[state]?.includes(one.move) ?? false);
    const isSo = one.move === undefined ? one.told === state : one.told === (mayMove ? one.move : undefined);
    const next = mayMove ? one.move! : state;
    const others = left.filter((other) => other !== one);
    return isSo && isLinearizable(history, next, seen, others);
  });
}

test('What 16 clients of two instances are told of one order could have happened one after the other', async () => {
  const CLIENTS = 16;
  const asked = [undefined, 'approved', 'delivered', 'cancelled'];
  for (let round = 0; round < (isThorough ? 100 : 15); round++) {
    const order = await place(await addPet('available'));
    const history = await times(CLIENTS, async (client): Promise<Done> => {
      // Each status first in another round.
      const move = asked[(client * (1 + (round % 3)) + round) % asked.length];
      const from = performance.now();
      const path = `/v1/store/orders/${order.item.id}`;
      const { status, item } = await ask(move ? { method: 'PATCH', path, body: { status: move } } : { path });
      if (status !== 200) expect(status).toBe(409);
      const told = status === 200 ? item.status : undefined;
      return { move, told, from, to: performance.now() };
    });
    expect({ history, isLinearizable: isLinearizable(history, 'placed') }).toMatchObject({
      isLinearizable: true,
    });
  }
  // The canary: a read of a status that was not there yet.
  const early = [
    { told: 'approved', from: 0, to: 1 },
    { move: 'approved', told: 'approved', from: 2, to: 3 },
  ];
  expect(isLinearizable(early, 'placed')).toBe(false);
});
