import {
  call,
  createAccount,
  createKey,
  expectError,
  query,
  type Service,
  startService,
  walk,
} from 'petstore/testing';

let service: Service;
let key: string;
/** Each key is that of a new account. */
let another: string;
let petId: number;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  another = await createKey(service);
  petId = (await call(service, 'POST', '/v1/pets', { key, body: { name: 'Luna', categoryId: 1 } })).body.id;
});
afterAll(() => service.stop());

const NOON = '2030-01-31T12:00:00.000Z';
const at = (id: number) => `/v1/appointments/${id}`;
const create = (fields: object = {}, as = key) =>
  call(service, 'POST', '/v1/appointments', {
    key: as,
    body: { petId, startsAt: NOON, minutes: 30, ...fields },
  });
const get = (id: number, as = key) => call(service, 'GET', at(id), { key: as });
const change = (id: number, body: object, as = key) => call(service, 'PATCH', at(id), { key: as, body });
const remove = (id: number, as = key) => call(service, 'DELETE', at(id), { key: as });
const list = (search = '', as = key) =>
  walk<{ id: number }>(service, `/v1/appointments?limit=2${search}`, { key: as });

describe('An appointment', () => {
  test('is booked for an animal, at the address that is told', async () => {
    const { status, body, headers } = await create();
    const booked = { id: expect.any(Number), petId, startsAt: NOON, minutes: 30, status: 'booked' };
    expect([status, body]).toEqual([201, booked]);
    expect(headers.get('location')).toBe(`${service.url}${at(body.id)}`);
    expect((await get(body.id)).body).toEqual(body);
    expectError(await create({ petId: 0 }), 400, 'pet_not_found');
  });

  test('takes 5 to 240 minutes', async () => {
    for (const minutes of [5, 240]) expect((await create({ minutes })).body.minutes).toBe(minutes);
    for (const minutes of [4, 241, 30.5, '30', true, null]) {
      expectError(await create({ minutes }), 400, 'validation_failed');
    }
  });

  test.each(['0000-01-01T00:00:00.000Z', '0099-07-01T12:34:56.789Z', '9999-12-31T23:59:59.999Z'])(
    'starts at %s, whatever time zone the service runs in',
    async (startsAt) => {
      const elsewhere = await startService({ DATABASE_URL: service.databaseUrl, TZ: 'Europe/Berlin' });
      const body = { petId, startsAt, minutes: 30 };
      const { body: created } = await call(elsewhere, 'POST', '/v1/appointments', { key, body });
      await elsewhere.stop();
      expect((await get(created.id)).body.startsAt).toBe(startsAt);
    },
  );

  test('is changed in what is sent, and in nothing else', async () => {
    const { body } = await create({ note: 'First' });
    expect((await change(body.id, {})).body).toEqual(body);
    expect((await change(body.id, { note: 'Second' })).body).toEqual({ ...body, note: 'Second' });
    const startsAt = '2030-02-28T12:00:00.000Z';
    const moved = { ...body, note: 'Second', startsAt };
    expect((await change(body.id, { startsAt })).body).toEqual(moved);
    expect((await get(body.id)).body).toEqual(moved);
    expect((await change(body.id, { note: '' })).body).toEqual({ ...moved, note: undefined });
    expectError(await change(body.id, { note: null }), 400, 'validation_failed');
  });

  test.each(['kept', 'cancelled'])('that was %s changes no more', async (status) => {
    const { body } = await create();
    expect((await change(body.id, { status })).body).toEqual({ ...body, status });
    expectError(await change(body.id, { status: 'booked' }), 409, 'appointment_final');
  });

  // The first rounds open the connections that the later ones meet on.
  test.each([1, 2, 3, 4, 5])(
    'is kept or cancelled once, whoever wants it at the same time (%i)',
    async () => {
      const { body } = await create();
      const wanted = Array.from({ length: 8 }, (_, i) =>
        change(body.id, { status: i % 2 ? 'kept' : 'cancelled' }),
      );
      const answers = await Promise.all(wanted);
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      expect(more).toEqual([]);
      for (const answer of answers) if (answer !== winner) expectError(answer, 409, 'appointment_final');
      expect((await get(body.id)).body).toEqual(winner!.body);
    },
  );

  test('is gone once it is deleted', async () => {
    const { body } = await create();
    expect((await remove(body.id)).status).toBe(204);
    expectError(await get(body.id), 404, 'appointment_not_found');
    expectError(await change(body.id, {}), 404, 'appointment_not_found');
    expectError(await remove(body.id), 404, 'appointment_not_found');
  });

  test('does not exist for another account', async () => {
    const { body } = await create();
    expectError(await get(body.id, another), 404, 'appointment_not_found');
    expectError(await change(body.id, { status: 'kept' }, another), 404, 'appointment_not_found');
    expectError(await remove(body.id, another), 404, 'appointment_not_found');
    expect(await list('', another)).toEqual([]);
    expect((await get(body.id)).body).toEqual(body);
  });
});

test('The appointments of an account are erased when it is closed', async () => {
  const account = await createAccount(service);
  expect((await create({}, await createKey(service, account))).status).toBe(201);
  await call(service, 'DELETE', '/v1/accounts/current', { account });
  const rows = 'SELECT FROM appointments WHERE account_id = $1';
  expect(await query(service.databaseUrl, rows, [account.id])).toEqual([]);
});

describe('The appointments of an account are listed', () => {
  let own: string;
  let ids: number[];
  const idsOf = async (search = '') => (await list(search, own)).map(({ id }) => id);

  beforeAll(async () => {
    own = await createKey(service);
    ids = [];
    // The last one and the second one start at the same time.
    for (const hour of ['12', '09', '15', '09'])
      ids.push((await create({ startsAt: `2030-01-31T${hour}:00:00.000Z` }, own)).body.id);
    await change(ids[2]!, { status: 'kept' }, own);
  });

  test('in the order of their time, or the other way round, page by page', async () => {
    const [noon, nine, three, another9] = ids;
    expect(await idsOf()).toEqual([nine, another9, noon, three]);
    expect(await idsOf('&order=desc')).toEqual([three, noon, another9, nine]);
  });

  test('of one status, or of some time, if that is wanted', async () => {
    const [noon, nine, three, another9] = ids;
    expect(await idsOf('&status=kept')).toEqual([three]);
    expect(await idsOf('&status=booked&order=desc')).toEqual([noon, another9, nine]);
    expect(await idsOf(`&from=${NOON}`)).toEqual([noon, three]);
    expect(await idsOf(`&to=${NOON}`)).toEqual([nine, another9]);
    expect(await idsOf(`&status=booked&from=2030-01-31T09:00:00Z&to=2030-01-31T13:00:00Z`)).toEqual([
      nine,
      another9,
      noon,
    ]);
  });
});

test('An appointment that a client deletes is deleted once, however often it tries', async () => {
  const { id } = (await create()).body;
  const again = () =>
    call(service, 'DELETE', at(id), { key, headers: { 'Idempotency-Key': `delete-${id}` } });
  const [first, second] = [await again(), await again()];
  expect([first.status, second.status, second.text]).toEqual([204, 204, '']);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expectError(await remove(id), 404, 'appointment_not_found');
});
