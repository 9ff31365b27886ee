import { call, createKey, expectError } from './support/client.js';
import { walk } from './support/paging.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

const create = (name: string) => call(service, 'POST', '/v1/vets', { key, body: { name } });
const get = (id: number) => call(service, 'GET', `/v1/vets/${id}`, { key });

describe('The vets', () => {
  test('come with exactly an id and a name, at the address that they are told', async () => {
    const { status, body, headers } = await create('Ada');
    expect([status, body]).toEqual([201, { id: expect.any(Number), name: 'Ada' }]);
    expect(headers.get('location')).toBe(`${service.url}/v1/vets/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
  });

  test('are all there, page by page, in the order of their ids', async () => {
    const added = [(await create('Bo')).body, (await create('Cy')).body, (await create('Di')).body];
    const all = await walk<{ id: number }>(service, '/v1/vets?limit=2', { key });
    expect(all.slice(-3)).toEqual(added);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
  });

  test('do not include what was never added', async () => {
    expectError(await get(0), 404, 'vet_not_found');
  });
});
