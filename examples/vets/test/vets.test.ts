import { call, createKey, expectError, sharedService, walk } from 'petstore/testing';

const service = sharedService();
let key: string;

beforeAll(async () => {
  key = await createKey(service);
});

/** The fields that a client sends, with two sets of values. */
const newVet = () => ({ name: 'Ada' });
const otherVet = () => ({ name: 'Bo' });
const create = (fields: object = {}) =>
  call(service, 'POST', '/v1/vets', { key, body: { ...newVet(), ...fields } });
const get = (id: number) => call(service, 'GET', `/v1/vets/${id}`, { key });
const list = (search: string) => walk<{ id: number }>(service, `/v1/vets${search}`, { key });

describe('The vets', () => {
  test('are stored as sent, with an id, at the address in `Location`', async () => {
    const { status, body, headers } = await create();
    expect([status, body]).toEqual([201, { id: expect.any(Number), ...newVet() }]);
    expect(headers.get('location')).toBe(`${service.url}/v1/vets/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
    expectError(await get(0), 404, 'vet_not_found');
  });

  test('are listed in pages, in the order of their ids', async () => {
    const added = [(await create()).body, (await create(otherVet())).body, (await create()).body];
    const all = await list('?limit=2');
    expect(all).toEqual(expect.arrayContaining(added));
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
  });
});
