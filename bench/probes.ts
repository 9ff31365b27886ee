import { BIG_ID, PETS } from './database.js';
import { encodeCursor } from './cursor.js';

/** A request whose answer must be the same from every server. */
export interface Probe {
  method?: string;
  path: string;
  /** Sent as it is if it is a string, else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

const STATUSES = ['available', 'pending', 'sold'];
const after = (id: number | string) => `cursor=${encodeCursor(String(id))}`;
const get = (path: string): Probe => ({ path });
const post = (path: string, body: unknown): Probe => ({ method: 'POST', path, body });
const pet = (body: unknown) => post('/v1/pets', body);

const PAGES = [
  ...['', 'limit=20', 'limit=1', 'limit=100', ...STATUSES.map((status) => `status=${status}`)],
  ...[`status=sold&limit=20`, after(50_000), `${after(77_777)}&status=available&limit=7`, after(PETS - 30)],
  // The last page has no `Link`.
  ...[after(BIG_ID), `status=nothing`, 'limit=0', 'limit=101', 'limit=007', 'limit=1&limit=2', 'limit=%205'],
  ...['status=', 'cursor=nonsense', 'unknown=1'],
];
const PET_IDS = ['1', '9', String(PETS), BIG_ID, '987654321', '9223372036854775808', 'luna', '007'];
const NEW_PETS = [
  { name: 'Luna', categoryId: 2, status: 'available' },
  { name: 'Luna "🐈" \\ </script>', categoryId: 10, id: 5, unknown: true },
  `{"name":"Luna","categoryId":${BIG_ID},"status":"sold"}`,
  '{"name":"Luna","categoryId":9007199254740992}',
  '{"name":"Luna","categoryId":9223372036854775808}',
  { name: 'Luna', categoryId: 4711 },
  { name: 'Luna', categoryId: '2' },
  { name: 'Luna', categoryId: 2.5 },
  { name: 'Luna' },
  { categoryId: 2 },
  { name: '   ', categoryId: 2 },
  { name: '', categoryId: 2 },
  { name: '🐈'.repeat(255), categoryId: 2 },
  { name: '🐈'.repeat(256), categoryId: 2 },
  { name: 'Lu\0na', categoryId: 2 },
  { name: 5, categoryId: 2 },
  { name: 'Luna', categoryId: 2, status: 'lost' },
  { name: 'Luna', categoryId: 2, status: null },
  '{"name":"Luna",',
];
const MESSAGES = [
  { message: 'Hello, world! 🐈' },
  { message: ' ' },
  { message: '' },
  { message: 'x'.repeat(65_536) },
  { message: 'x'.repeat(65_537) },
  { message: 'x'.repeat(110_000) },
  { message: null },
  {},
];

/**
 * Every operation that is measured, used correctly and incorrectly.
 * @param available the id of an animal that is ordered only from this server
 */
export function probes(available: number): Probe[] {
  return [
    ...PAGES.map((query) => get(`/v1/pets${query && '?'}${query}`)),
    ...PET_IDS.map((id) => get(`/v1/pets/${id}`)),
    ...NEW_PETS.map(pet),
    ...MESSAGES.map((message) => post('/v1/messages', message)),
    // The second finds the animal reserved.
    ...[available, available, 987_654_321, 'luna', undefined].map((petId) =>
      post('/v1/store/orders', { petId }),
    ),
    { ...pet('{"name":"Luna","categoryId":2}'), headers: { 'Content-Type': 'text/plain' } },
    { ...get('/v1/pets'), headers: { Authorization: '' } },
    { ...get('/v1/pets'), headers: { Authorization: 'Bearer luna' } },
    { ...get('/v1/pets'), headers: { Authorization: `Bearer petstore_${'0'.repeat(48)}` } },
    { ...get('/v1/pets'), headers: { 'X-Request-Id': 'luna-1' } },
    get('/v1/nothing'),
  ];
}
