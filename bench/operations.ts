import { randomUUID } from 'node:crypto';
import type { Request } from 'autocannon';
import { PETS } from './database.js';
import { encodeCursor } from './cursor.js';

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

interface Operation {
  title: string;
  /** The requests that one connection sends in turn, again and again. */
  requests: () => Request[];
}

const post = (path: string, body: object): Request => ({
  method: 'POST',
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});
const list = (i: number): Request => ({ method: 'GET', path: FIRST_PAGES[i % FIRST_PAGES.length] });
const get = (): Request => ({ method: 'GET', path: `/v1/pets/${randomId()}` });
const create = (i: number) =>
  post('/v1/pets', { name: `Bella ${i}`, categoryId: (i % 10) + 1, status: 'sold' });
const keyed = (i: number): Request => ({
  ...create(i),
  setupRequest: (request) => ({
    ...request,
    headers: { ...request.headers, 'Idempotency-Key': randomUUID() },
  }),
});
const page = (i: number): Request => ({
  method: 'GET',
  path: `/v1/pets?cursor=${encodeCursor(String(randomId()))}${FILTERS[i % FILTERS.length]}`,
});
const message = (i: number) =>
  post('/v1/messages', { message: `Is Luna ${i} still available? I would love to meet her.` });
const mixed = { list, get, create };
const varied = (make: (i: number) => Request) => () => {
  // Connections begin at different places, so that they do not run in step.
  const offset = Math.floor(Math.random() * VARIETY);
  return Array.from({ length: VARIETY }, (_none, i) => make(i + offset));
};

export const OPERATIONS = {
  list: { title: 'List, first page', requests: varied(list) },
  page: { title: 'List, deep page', requests: varied(page) },
  get: { title: 'Get by id', requests: varied(get) },
  create: { title: 'Create animal', requests: varied(create) },
  keyed: { title: 'Create, with a key', requests: varied(keyed) },
  order: { title: 'Place order', requests: () => [] },
  message: { title: 'Submit message', requests: varied(message) },
  mix: { title: 'Mix 70/20/10', requests: varied((i) => mixed[MIX[i % MIX.length]!](i)) },
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

/** The only request of every connection that orders animals: it takes the next id each time. */
export function orders(first: number): Request {
  let next = first;
  return {
    ...post('/v1/store/orders', {}),
    setupRequest: (request) => ({ ...request, body: `{"petId":${next++}}` }),
  };
}

function randomId(): number {
  return 1 + Math.floor(Math.random() * PETS);
}
