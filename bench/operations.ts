import { randomUUID } from 'node:crypto';
import { PETS, type Supply } from './database.js';
import type { ServerName } from './servers.js';
import { encodeCursor, tagOfPlaced } from './wire.js';

export interface Request {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The input of a request. */
export interface Turn {
  /** Number of earlier requests of the load, over all connections. */
  i: number;
  /** Name of the connection, the same in every load of its server. */
  connection: string;
  /** Animals or orders prepared for the load, one for each request. */
  supply?: Supply;
}

export interface Operation {
  title: string;
  /** Servers to measure, which must give the same answers. */
  servers: readonly ServerName[];
  /** The kind of row that each request uses up. */
  uses?: 'pets' | 'orders';
  /** Whether each connection sends its request once before the load. */
  isReplay?: boolean;
  request: (turn: Turn) => Request;
}

const FIRST_PAGES = [
  ...['', '?status=available', '?limit=20', '?status=pending', '?status=sold'],
  '?status=available&limit=20',
];
const STATUSES = [undefined, 'available', 'pending', 'sold'];
/** 70 % first pages, 20 % animals, 10 % new animals. */
const MIX = ['list', 'list', 'get', 'list', 'list', 'create', 'list', 'get', 'list', 'list'] as const;

/** For reads and the simplest write: the service, and the peer without idempotency keys. */
const PLAIN: ServerName[] = ['service', 'http'];
/** The service and the peers that keep the service's promises about writes. */
const KEEPING: ServerName[] = ['service', 'transaction', 'statement'];
/** For writes without a key: one peer suffices, as both send the same statement. */
const UNKEYED: ServerName[] = ['service', 'statement'];

const randomId = () => 1 + Math.floor(Math.random() * PETS);
const get = (path: string): Request => ({ method: 'GET', path: `/v1/pets${path}` });
const write = (method: string, path: string, body: object, headers = {}): Request => ({
  method,
  path: `/v1/${path}`,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const withKey = ({ headers, ...request }: Request, key: string = randomUUID()): Request => ({
  ...request,
  headers: { ...headers, 'Idempotency-Key': key },
});

const simple = {
  list: ({ i }: Turn) => get(FIRST_PAGES[i % FIRST_PAGES.length]!),
  get: () => get(`/${randomId()}`),
  create: ({ i }: Turn) =>
    write('POST', 'pets', { name: `Bella ${i}`, categoryId: (i % 10) + 1, status: 'sold' }),
};
const page = ({ i }: Turn) => {
  const status = STATUSES[i % STATUSES.length];
  const cursor = encodeCursor(String(randomId()), status);
  return get(`?cursor=${cursor}${status ? `&status=${status}` : ''}`);
};
const message = ({ i }: Turn) =>
  write('POST', 'messages', { message: `Is Luna ${i} still available? I would love to meet her.` });
const order = ({ i, supply }: Turn) => write('POST', 'store/orders', { petId: supply!.firstPet + i });
const change = ({ i, supply }: Turn) => {
  const [id, petId] = [supply!.first + i, supply!.firstPet + i];
  const headers = { 'If-Match': tagOfPlaced(id, petId) };
  return write('PATCH', `store/orders/${id}`, { status: 'approved' }, headers);
};
const keyed = (make: Operation['request']) => (turn: Turn) => withKey(make(turn));

export const OPERATIONS = {
  list: { title: 'List, first page', servers: PLAIN, request: simple.list },
  page: { title: 'List, deep page', servers: PLAIN, request: page },
  get: { title: 'Get by id', servers: [...PLAIN, 'token'], request: simple.get },
  create: { title: 'Create animal', servers: PLAIN, request: simple.create },
  mix: {
    title: 'Mix 70/20/10',
    servers: PLAIN,
    request: (turn: Turn) => simple[MIX[turn.i % MIX.length]!](turn),
  },
  order: { title: 'Place order', servers: UNKEYED, uses: 'pets', request: order },
  message: { title: 'Submit message', servers: UNKEYED, request: message },
  keyed: { title: 'Create, with a key', servers: KEEPING, request: keyed(simple.create) },
  replay: {
    title: 'Create again, replayed',
    servers: KEEPING,
    isReplay: true,
    request: (turn: Turn) => withKey(simple.create({ ...turn, i: 0 }), turn.connection),
  },
  keyedOrder: { title: 'Place order, with a key', servers: KEEPING, uses: 'pets', request: keyed(order) },
  change: { title: 'Change order, with a key', servers: KEEPING, uses: 'orders', request: keyed(change) },
  keyedMessage: { title: 'Submit message, with a key', servers: KEEPING, request: keyed(message) },
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

/** Name of a connection, unique among the servers, as they share a database. */
export function connectionOf(url: string, n: number): string {
  return `${url}/${n}`;
}

export function takesPart(server: ServerName, operation: OperationName): boolean {
  return (OPERATIONS[operation] as Operation).servers.includes(server);
}
