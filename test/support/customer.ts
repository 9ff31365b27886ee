import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, call, createKey, type Credentials } from '../../src/testing/client.js';
import type { TestedService } from '../../src/testing/service.js';

export interface Order {
  id: number;
  petId: number;
  status: string;
  createdAt: string;
  updatedAt: string;
}

/** The moves that take a new order to each status. */
export const WAYS = {
  placed: [],
  approved: ['approved'],
  delivered: ['approved', 'delivered'],
  cancelled: ['cancelled'],
};

export type OrderStatus = keyof typeof WAYS;

export const STATUSES = Object.keys(WAYS) as OrderStatus[];

/** The store as one account uses it. */
export class Customer {
  private constructor(
    private readonly service: TestedService,
    readonly key: string,
  ) {}

  static async of(service: TestedService, account?: Credentials): Promise<Customer> {
    return new Customer(service, await createKey(service, account));
  }

  post(body: unknown): Promise<Answer> {
    return this.call('POST', '', body);
  }

  place(petId: number): Promise<Answer> {
    return this.post({ petId });
  }

  get(id: number | string): Promise<Answer> {
    return this.call('GET', `/${id}`);
  }

  list(search = ''): Promise<Answer> {
    return this.call('GET', search);
  }

  patch(id: number | string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.call('PATCH', `/${id}`, body, headers);
  }

  move(id: number | string, status: string, headers?: Record<string, string>): Promise<Answer> {
    return this.patch(id, { status }, headers);
  }

  /** A new order for a new animal, brought to a status. */
  async orderAt(status: OrderStatus): Promise<Order> {
    const petId = await this.addPet('available');
    const placed = await untilServed(() => this.place(petId));
    if (placed.status !== 201) throw new Error(`No order was placed: ${placed.text}`);
    let { body } = placed;
    for (const step of WAYS[status]) ({ body } = await untilServed(() => this.move(body.id, step)));
    return body;
  }

  async addPet(status?: string): Promise<number> {
    const body = { name: 'Rex', categoryId: 1, status };
    const answer = await untilServed(() => call(this.service, 'POST', '/v1/pets', { key: this.key, body }));
    if (answer.status !== 201) throw new Error(`No animal was added: ${answer.text}`);
    return answer.body.id;
  }

  async petStatus(id: number): Promise<string | undefined> {
    return (await call(this.service, 'GET', `/v1/pets/${id}`, { key: this.key })).body.status;
  }

  private call(
    method: string,
    rest: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return call(this.service, method, `/v1/store/orders${rest}`, { key: this.key, body, headers });
  }
}

export function times<T>(count: number, run: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => run(i)));
}

/** Repeats a request while a busy service answers 503; returns the first other answer. */
export async function untilServed<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    await sleep(50);
  }
}
