import { randomUUID } from 'node:crypto';
import { call, createAccount, createKey, expectError, query, sharedService, walk } from 'petstore/testing';

const service = sharedService();
let key: string;
/** A key of another account. */
let another: string;
let pet: { id: number };

beforeAll(async () => {
  key = await createKey(service);
  another = await createKey(service);
  const add = async (path: string, body: object) => (await call(service, 'POST', path, { key, body })).body;
  const category = await add('/v1/categories', { name: `Ferrets ${randomUUID()}` });
  pet = await add('/v1/pets', { name: 'Luna', categoryId: category.id, status: 'available' });
});

/** The fields that a client sends, with two sets of values. */
const newAppointment = () => ({
  petId: pet.id,
  startsAt: '2030-01-31T12:00:00.000Z',
  minutes: 5,
  note: 'Note',
});
const otherAppointment = () => ({
  petId: pet.id,
  startsAt: '2024-02-29T12:00:00.000Z',
  minutes: 240,
  note: 'Other note',
});
const create = (fields: object = {}, as = key) =>
  call(service, 'POST', '/v1/appointments', { key: as, body: { ...newAppointment(), ...fields } });
const get = (id: number, as = key) => call(service, 'GET', `/v1/appointments/${id}`, { key: as });
const list = (search: string, as = key) =>
  walk<{ id: number }>(service, `/v1/appointments${search}`, { key: as });

const change = (id: number, body: object) => call(service, 'PATCH', `/v1/appointments/${id}`, { key, body });
const remove = (id: number) => call(service, 'DELETE', `/v1/appointments/${id}`, { key });

describe('The appointments of an account', () => {
  test('are stored as sent, with an id, at the address in `Location`', async () => {
    const { status, body, headers } = await create();
    expect([status, body]).toEqual([201, { id: expect.any(Number), ...newAppointment(), status: 'booked' }]);
    expect(headers.get('location')).toBe(`${service.url}/v1/appointments/${body.id}`);
    expect((await get(body.id)).body).toEqual(body);
    expectError(await get(0), 404, 'appointment_not_found');
  });

  test('are refused for a pet that does not exist', async () => {
    expectError(await create({ petId: 0 }), 400, 'pet_not_found');
  });

  test('are listed in pages, in the order of their ids', async () => {
    const added = [(await create()).body, (await create(otherAppointment())).body, (await create()).body];
    const all = await list('?limit=2');
    expect(all).toEqual(expect.arrayContaining(added));
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
  });

  test('can be filtered by status', async () => {
    const { body } = await create();
    expect(await list(`?status=${body.status}`)).toContainEqual(body);
    expect(await list('?status=cancelled')).not.toContainEqual(body);
  });

  test('are changed in the fields that are sent, and no others', async () => {
    const { body } = await create();
    expectError(await change(body.id, {}), 400, 'validation_failed');
    for (const [name, value] of Object.entries(otherAppointment()))
      expect((await change(body.id, { [name]: value })).body[name]).toEqual(value);
    expect((await get(body.id)).body).toEqual({ ...body, ...otherAppointment() });
    expect((await change(body.id, { note: null })).body).not.toHaveProperty('note');
  });

  test('that are no longer booked do not change, even by simultaneous requests', async () => {
    const { id } = (await create()).body;
    const next = ['kept', 'cancelled'];
    const wanted = Array.from({ length: 8 }, (_, i) => change(id, { status: next[i % next.length] }));
    const [done, ...more] = (await Promise.all(wanted)).toSorted((a, b) => a.status - b.status);
    expect((await get(id)).body).toEqual(done!.body);
    for (const answer of more) expectError(answer, 409, 'appointment_final');
  });

  test('do not exist after their deletion', async () => {
    const { id } = (await create()).body;
    expect((await remove(id)).status).toBe(204);
    for (const answer of [await get(id), await change(id, otherAppointment()), await remove(id)])
      expectError(answer, 404, 'appointment_not_found');
  });

  test('do not exist for another account', async () => {
    const { body } = await create();
    expectError(await get(body.id, another), 404, 'appointment_not_found');
    expect(await list('?limit=2', another)).not.toContainEqual(body);
  });

  test('are erased when their account is closed', async () => {
    const account = await createAccount(service);
    expect((await create({}, await createKey(service, account))).status).toBe(201);
    await call(service, 'DELETE', '/v1/accounts/current', { account });
    const rows = 'SELECT FROM appointments WHERE account_id = $1';
    expect(await query(service.databaseUrl, rows, [account.id])).toEqual([]);
  });
});
