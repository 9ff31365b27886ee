import { randomUUID } from 'node:crypto';
import type { Request } from 'autocannon';
import { type Orders, type Pets, PETS } from './database.js';
import { encodeCursor } from './cursor.js';
import { tagOfPlaced } from './entity-tag.js';
import type { ServerName } from './servers.js';

/** How many different requests a connection sends before it starts over. */
const VARIETY = 60;

const FIRST_PAGES = [
  '/v1/pets',
  '/v1/pets?status=available',
  '/v1/pets?limit=20',
  '/v1/pets?status=pending',
  '/v1/pets?status=sold',
  '/v1/pets?status=available&limit=20',
];
const FILTERS = ['', '&status=available', '&status=pending', '&status=sold'];
/** 70 % first pages, 20 % animals, 10 % new animals. */
const MIX = ['list', 'list', 'get', 'list', 'list', 'create', 'list', 'get', 'list', 'list'] as const;

/** The service, and the peers that know no keys. */
const PLAIN: ServerName[] = ['service', 'http', 'express', 'fastify', 'nest'];
/** The service, and the peers that keep what it promises about writes. */
const KEEPING: ServerName[] = ['service', 'transaction', 'statement'];
const ALL: ServerName[] = [...PLAIN, 'transaction', 'statement'];

interface Common {
  title: string;
  /** Who is measured, and gives the same answers. */
  servers: readonly ServerName[];
}

export interface Repeated extends Common {
  /** The requests that one connection sends in turn, again and again. */
  requests: (connection: string) => Request[];
  /** Whether each is sent once before the load. */
  isRepetition?: boolean;
}

/** What each request uses up; it is prepared before each load. */
export interface Supplies {
  pets: Pets;
  orders: Orders;
}

export interface Consuming<Name extends keyof Supplies> extends Common {
  uses: Name;
  /** The only request of every connection: it takes the next of them each time. */
  request: (supply: Supplies[Name]) => Request;
}

export type Operation = Repeated | { [Name in keyof Supplies]: Consuming<Name> }[keyof Supplies];

const withBody = (method: 'POST' | 'PATCH', path: string, body: object): Request => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});
const post = (path: string, body: object) => withBody('POST', path, body);
/** A request that is another each time. */
const changing = (request: Request, change: (sent: Request) => Request): Request => {
  const { setupRequest } = request;
  return {
    ...request,
    setupRequest: (sent, context) =>
      change(typeof setupRequest === 'function' ? setupRequest(sent, context) : sent),
  };
};
const withHeaders = (request: Request, headers: Record<string, string>): Request => ({
  ...request,
  headers: { ...request.headers, ...headers },
});
const withKey = (request: Request) =>
  changing(request, (sent) => withHeaders(sent, { 'Idempotency-Key': randomUUID() }));
const list = (i: number): Request => ({ method: 'GET', path: FIRST_PAGES[i % FIRST_PAGES.length] });
const get = (): Request => ({ method: 'GET', path: `/v1/pets/${randomId()}` });
const create = (i: number) =>
  post('/v1/pets', { name: `Bella ${i}`, categoryId: (i % 10) + 1, status: 'sold' });
const page = (i: number): Request => ({
  method: 'GET',
  path: `/v1/pets?cursor=${encodeCursor(String(randomId()))}${FILTERS[i % FILTERS.length]}`,
});
const message = (i: number) =>
  post('/v1/messages', { message: `Is Luna ${i} still available? I would love to meet her.` });
const order = ({ first }: Pets): Request => {
  let next = first;
  return changing(post('/v1/store/orders', {}), (sent) => ({ ...sent, body: `{"petId":${next++}}` }));
};
const change = ({ first, firstPet }: Orders): Request => {
  let i = 0;
  return changing(withBody('PATCH', '/v1/store/orders/0', { status: 'approved' }), (sent) => {
    const id = first + i;
    const tag = tagOfPlaced(id, firstPet + i++);
    return { ...withHeaders(sent, { 'If-Match': tag }), path: `/v1/store/orders/${id}` };
  });
};
const mixed = { list, get, create };
const varied = (make: (i: number) => Request) => () => {
  // Connections begin at different places, so that they do not run in step.
  const offset = Math.floor(Math.random() * VARIETY);
  return Array.from({ length: VARIETY }, (_none, i) => make(i + offset));
};
const replay = (connection: string) => [withHeaders(create(0), { 'Idempotency-Key': connection })];

export const OPERATIONS = {
  list: { title: 'List, first page', servers: PLAIN, requests: varied(list) },
  page: { title: 'List, deep page', servers: PLAIN, requests: varied(page) },
  get: { title: 'Get by id', servers: ALL, requests: varied(get) },
  create: { title: 'Create animal', servers: ALL, requests: varied(create) },
  keyed: { title: 'Create, with a key', servers: KEEPING, requests: varied((i) => withKey(create(i))) },
  replay: { title: 'Create again, replayed', servers: KEEPING, requests: replay, isRepetition: true },
  order: { title: 'Place order', servers: ALL, uses: 'pets', request: order },
  keyedOrder: {
    title: 'Place order, with a key',
    servers: KEEPING,
    uses: 'pets',
    request: (pets: Pets) => withKey(order(pets)),
  },
  change: {
    title: 'Change order, with a key',
    servers: KEEPING,
    uses: 'orders',
    request: (orders: Orders) => withKey(change(orders)),
  },
  message: { title: 'Submit message', servers: ALL, requests: varied(message) },
  keyedMessage: {
    title: 'Submit message, with a key',
    servers: KEEPING,
    requests: varied((i) => withKey(message(i))),
  },
  mix: { title: 'Mix 70/20/10', servers: PLAIN, requests: varied((i) => mixed[MIX[i % MIX.length]!](i)) },
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

/** A connection's name, which it has in every load. It is of one server, since all have one database. */
export function connectionTo(url: string, i: number): string {
  return `${url}/${i}`;
}

export function takesPart(server: ServerName, operation: OperationName): boolean {
  return OPERATIONS[operation].servers.includes(server);
}

/** Whether all who take part keep the promises about keys and tags. */
export function keepsPromises(operation: OperationName): boolean {
  return OPERATIONS[operation].servers === KEEPING;
}

function randomId(): number {
  return 1 + Math.floor(Math.random() * PETS);
}
