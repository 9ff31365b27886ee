import { call, createKey, expectError, type Service, startService, walk } from 'petstore/testing';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

/** What a client sends, and other values. */
const VET = { name: 'Ada' };
const OTHER_VET = { name: 'Bo' };
const create = (fields: object = {}) =>
  call(service, 'POST', '/v1/vets', { key, body: { ...VET, ...fields } });
const get = (id: number) => call(service, 'GET', `/v1/vets/${id}`, { key });
const list = () => walk<{ id: number }>(service, '/v1/vets?limit=2', { key });

describe('The vets', () => {
  test('come as they were sent, with an id, at the address that they are told', async () => {
    const { status, body, headers } = await create();
    expect([status, body]).toEqual([201, { id: expect.any(Number), ...VET }]);
    expect(headers.get('location')).toBe(`${service.url}/v1/vets/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
  });

  test.each([['name', '']])('are refused where %s is wrong, which the answer names', async (name, value) => {
    const answer = await create({ [name]: value });
    expectError(answer, 400, 'validation_failed');
    expect(answer.body.message).toMatch(new RegExp(`^${name}\\b`));
  });

  test('are all there, page by page, in the order of their ids', async () => {
    const added = [(await create()).body, (await create(OTHER_VET)).body, (await create()).body];
    const all = await list();
    expect(all.slice(-3)).toEqual(added);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
  });

  test('do not include what was never added', async () => {
    expectError(await get(0), 404, 'vet_not_found');
  });
});
