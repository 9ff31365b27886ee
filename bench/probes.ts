import { BIG_ID, PETS, type Supply } from './database.js';
import type { OperationName } from './operations.js';
import { encodeCursor, tagOfPlaced } from './wire.js';

/** A request that every server of the operation must answer alike. */
export interface Probe {
  of: OperationName;
  method?: string;
  path: string;
  /** Sent unchanged if it is a string, otherwise as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Rows that only one server uses. */
export interface Own {
  server: string;
  pets: Supply;
  orders: Supply;
}

/** Number of rows of each kind. */
export const OWN = 3;

const STATUSES = ['available', 'pending', 'sold'];
const after = (id: number | string, status?: string) => `cursor=${encodeCursor(String(id), status)}`;
const list = (path: string): Probe => ({ of: 'list', path });
const get = (path: string): Probe => ({ of: 'get', path });
const pet = (body: unknown): Probe => ({ of: 'create', method: 'POST', path: '/v1/pets', body });
const message = (body: unknown): Probe => ({ of: 'message', method: 'POST', path: '/v1/messages', body });
const order = (petId: unknown): Probe => ({
  of: 'order',
  method: 'POST',
  path: '/v1/store/orders',
  body: { petId },
});
const change = (id: number | string, status: unknown, tag?: string): Probe => ({
  of: 'change',
  method: 'PATCH',
  path: `/v1/store/orders/${id}`,
  body: { status },
  headers: tag === undefined ? {} : { 'If-Match': tag },
});

const PAGES = [
  ...['', 'limit=20', 'limit=1', 'limit=100', ...STATUSES.map((status) => `status=${status}`)],
  ...[
    `status=sold&limit=20`,
    after(50_000),
    `${after(77_777, 'available')}&status=available&limit=7`,
    after(PETS - 30),
  ],
  // The last page has no `Link`.
  ...[after(BIG_ID), `status=nothing`, 'limit=0', 'limit=101', 'limit=007', 'limit=1&limit=2', 'limit=%205'],
  ...['status=', 'cursor=nonsense', 'unknown=1'],
];
const PET_IDS = ['1', '9', String(PETS), BIG_ID, '987654321', '9223372036854775808', 'luna', '007'];
const NEW_PETS = [
  { name: 'Luna', categoryId: 2, status: 'available' },
  { name: 'Luna "🐈" \\ </script>', categoryId: 10, id: 5, unknown: true },
  ...[`${BIG_ID},"status":"sold"`, '9007199254740992', '9223372036854775808', ''].map(
    (rest) => `{"name":"Luna","categoryId":${rest}}`,
  ),
  ...[4711, '2', 2.5, undefined].map((categoryId) => ({ name: 'Luna', categoryId })),
  ...['   ', '', 5, undefined, 'Lu\0na', '🐈'.repeat(255), '🐈'.repeat(256)].map((name) => ({
    name,
    categoryId: 2,
  })),
  ...['lost', null].map((status) => ({ name: 'Luna', categoryId: 2, status })),
];
const MESSAGES = [
  ...['Hello, world! 🐈', ' ', '', null, undefined],
  ...[65_536, 65_537, 110_000].map((length) => 'x'.repeat(length)),
].map((text) => ({ message: text }));

/** Valid and invalid requests of every measured operation. */
export function probes(own: Own): Probe[] {
  return [
    ...PAGES.map((query) => list(`/v1/pets${query && '?'}${query}`)),
    ...PET_IDS.map((id) => get(`/v1/pets/${id}`)),
    ...NEW_PETS.map(pet),
    ...MESSAGES.map(message),
    // By the second request, the animal is already reserved.
    ...[own.pets.first, own.pets.first, 987_654_321, 'luna', undefined].map(order),
    { ...pet('{"name":"Luna","categoryId":2}'), headers: { 'Content-Type': 'text/plain' } },
    { ...get('/v1/pets/1'), headers: { Authorization: '' } },
    { ...get('/v1/pets/1'), headers: { Authorization: 'Bearer luna' } },
    { ...get('/v1/pets/1'), headers: { Authorization: `Bearer petstore_${'0'.repeat(48)}` } },
    { ...get('/v1/pets/1'), headers: { 'X-Request-Id': 'luna-1' } },
    get('/v1/nothing'),
    ...keyed(own),
    ...changes(own),
  ];
}

/** A probe with an `Idempotency-Key` that is also its request id, so that the audit log has the key. */
function keyedProbe(key: string, probe: Probe): Probe {
  return { ...probe, headers: { ...probe.headers, 'Idempotency-Key': key, 'X-Request-Id': key } };
}

/** The promises about an `Idempotency-Key`. */
function keyed({ server, pets }: Own): Probe[] {
  const under = (key: string, probe: Probe) => ({
    ...keyedProbe(`${server}-${key}`, probe),
    of: 'keyed' as const,
  });
  const [luna, bella] = NEW_PETS.map(pet) as [Probe, Probe];
  const lost = pet({ name: 'Luna', categoryId: 4711 });
  const [, mine, others] = Array.from({ length: OWN }, (_none, i) => order(pets.first + i));
  return [
    ...[luna, luna, bella, message({ message: 'Luna' }), luna].map((probe) => under('created', probe)),
    // A failure is not stored.
    ...[lost, lost, pet('{"name":'), bella, bella, lost].map((probe) => under('failed', probe)),
    ...[bella, bella].map((probe) => under('x'.repeat(254 - server.length), probe)),
    ...NEW_PETS.map((body, i) => under(`new-${i}`, pet(body))),
    ...['', 'a space', 'é', 'x'.repeat(256)].map((key): Probe => ({ ...keyedProbe(key, luna), of: 'keyed' })),
    ...MESSAGES.slice(0, 3).flatMap((body, i) =>
      [message(body), message(body)].map((probe) => under(`message-${i}`, probe)),
    ),
    ...[mine!, mine!, others!].map((probe) => under('ordered', probe)),
    ...[mine!, mine!, others!, others!].map((probe) => under('ordered-again', probe)),
    ...[order(987_654_321), order('luna')].map((probe) => under('ordered-none', probe)),
  ];
}

/** The promises about changes of an order, with a key or without. */
function changes({ server, orders: { first, firstPet } }: Own): Probe[] {
  const under = (key: string, probe: Probe) => keyedProbe(`${server}-${key}`, probe);
  const tagOf = (i: number) => tagOfPlaced(first + i, firstPet + i);
  const [tag, other] = [tagOf(0), tagOf(1)];
  return [
    ...[other, `W/${tag}`, 'luna', tag.slice(1), '"luna", "bella"'].map((given) =>
      change(first, 'approved', given),
    ),
    under('outdated', change(first, 'approved', other)),
    ...[tag, tag, '*'].map((given) => under('approved', change(first, 'approved', given))),
    under('outdated', change(first, 'delivered', tag)),
    ...['placed', 'approved', 'lost', null].map((status) => change(first, status, '*')),
    change(first, 'delivered'),
    change(first, 'cancelled'),
    // The animal becomes available again, and another account orders it.
    ...[0, 1].map(() => under('cancelled', change(first + 1, 'cancelled', `"luna",, ${other}`))),
    ...[0, 1].map(() => ({ ...order(firstPet + 1), of: 'change' as const })),
    ...[0, 1].map(() => under('unmatched', change(first + 2, 'approved'))),
    under('delivered', change(first + 2, 'delivered', tagOf(2))),
    ...[0, 1].map(() => under('delivered', change(first + 2, 'delivered'))),
    ...['987654321', 'luna', '9223372036854775808'].map((id) => change(id, 'approved', tag)),
    under('no-order', change('987654321', 'approved', tag)),
  ];
}
