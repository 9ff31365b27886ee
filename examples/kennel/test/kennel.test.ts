import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  call,
  createAccount,
  createKey,
  expectError,
  nextOf,
  query,
  sharedService,
  startService,
  until,
  walk,
} from 'petstore/testing';

const service = sharedService();
let account: { id: number; email: string; password: string };
let key: string;

beforeAll(async () => {
  account = await createAccount(service);
  key = await createKey(service, account);
});

const POINT = readFileSync('src/kennel/point.png');
const DOG = { name: 'Luna', breed: 'Beagle', traits: { likes: ['swimming'] } };
const putDog = (id: string, fields: object = {}, headers = {}, as = key) =>
  call(service, 'PUT', `/v1/dogs/${id}`, { key: as, headers, body: { ...DOG, ...fields } });
const get = (path: string, headers = {}, as = key) =>
  call(service, 'GET', `/v1/${path}`, { key: as, headers });
const addPhoto = (fields: Record<string, string | Blob>) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return call(service, 'POST', '/v1/photos', { key, body });
};
const PHOTO = new Blob([new Uint8Array(POINT)], { type: 'image/png' });

describe('A dog', () => {
  test('is added by one of twenty simultaneous requests, and replaced by the others, at its own address', async () => {
    const id = randomUUID();
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => putDog(id, { name: `Luna ${i}` })));
    const statuses = all.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([...Array<number>(19).fill(200), 201]);
    for (const { status, headers } of all)
      expect(headers.get('location')).toBe(status === 201 ? `${service.url}/v1/dogs/${id}` : null);
    const { body } = await get(`dogs/${id}`);
    expect(all.map((one) => one.body)).toContainEqual(body);
  });

  test('of another account is neither found nor replaced', async () => {
    const id = randomUUID();
    await putDog(id);
    const other = await createKey(service);
    expectError(await putDog(id, { name: 'Mine' }, {}, other), 404, 'dog_not_found');
    expectError(await get(`dogs/${id}`, {}, other), 404, 'dog_not_found');
  });

  test('refers to an existing photo', async () => {
    expectError(await putDog(randomUUID(), { photoId: randomUUID() }), 400, 'photo_not_found');
    const photoId = (await addPhoto({ caption: 'Luna', photo: PHOTO })).body.id;
    expect((await putDog(randomUUID(), { photoId })).body.photoId).toBe(photoId);
  });

  test('has a vaccination that a change replaces as a whole, keeps or removes, with a time in UTC', async () => {
    const id = randomUUID();
    const vaccination = { vaccine: 'Rabies', at: '2030-01-31T13:00:00+01:00', batch: 'A-17' };
    await putDog(id, { vaccination });
    const change = async (body: object) =>
      (await call(service, 'PATCH', `/v1/dogs/${id}`, { key, body })).body.vaccination;
    const at = '2030-01-31T12:00:00.000Z';
    expect(await change({ name: 'Bella' })).toEqual({ ...vaccination, at });
    const other = { vaccine: 'Distemper', at };
    expect(await change({ vaccination: other })).toEqual(other);
    expect((await get(`dogs/${id}`)).body.vaccination).toEqual(other);
    const half = await call(service, 'PATCH', `/v1/dogs/${id}`, { key, body: { vaccination: { at } } });
    expectError(half, 400, 'validation_failed');
    expect(half.body.message).toContain('vaccination.vaccine is required');
    expect(await change({ vaccination: null })).toBeUndefined();
  });

  test('has traits of any JSON within their limits, with every digit', async () => {
    const id = randomUUID();
    const traits = '{"chip":9223372036854775807,"parents":[null,{"name":"Bo"}]}';
    const body = `{"name":"Luna","breed":"Beagle","traits":${traits}}`;
    await call(service, 'PUT', `/v1/dogs/${id}`, { key, body });
    expect((await get(`dogs/${id}`)).text.replaceAll(' ', '')).toContain(traits);
    const deep = { a: { b: { c: { d: { e: { f: 1 } } } } } };
    for (const wrong of [deep, { a: 'x'.repeat(4_001) }, []])
      expectError(await putDog(id, { traits: wrong }), 400, 'validation_failed');
  });
});

test('A search finds the dogs with all words, the best matches first, in pages', async () => {
  const as = await createKey(service);
  const ids = Array.from({ length: 5 }, () => randomUUID()).toSorted();
  for (const id of ids) await putDog(id, { breed: 'Border Collie' }, {}, as);
  await putDog(randomUUID(), { breed: 'Poodle' }, {}, as);
  const path = '/v1/dogs?words=collie%20border&limit=2';
  const found = await walk<{ id: string }>(service, path, { key: as });
  expect(found.map(({ id }) => id).toSorted()).toEqual(ids);
  expectError(await get('dogs'), 400, 'validation_failed');
});

describe('Version 2 of the dogs', () => {
  test('lists the same rows in another form, in the order of their changes, or within a period', async () => {
    const as = await createKey(service);
    const ids = Array.from({ length: 4 }, () => randomUUID()).toSorted();
    const dogs: { id: string; title: string; changedAt: string }[] = [];
    for (const id of ids) {
      const { updatedAt } = (await putDog(id, { name: id }, {}, as)).body;
      dogs.push({ id, title: `${id}, Beagle`, changedAt: updatedAt });
    }
    const list = (search: string) => walk(service, `/v2/dogs?limit=2${search}`, { key: as });
    expect(await list('')).toEqual(dogs);
    expect(await list('&order=desc')).toEqual(dogs.toReversed());
    const [from, to] = [dogs[1]!.changedAt, dogs[3]!.changedAt];
    const between = dogs.filter(({ changedAt }) => changedAt >= from && changedAt < to);
    expect(await list(`&from=${from}&to=${to}`)).toEqual(between);
  });

  test('links to its own address, as in the document, also with a base address', async () => {
    const base = 'https://api.example.com/store';
    const proxied = await startService({ DATABASE_URL: service.databaseUrl, BASE_URL: `${base}/v1` });
    for (let i = 0; i < 2; i++) await putDog(randomUUID());
    for (const [one, address] of [
      [service, service.url],
      [proxied, base],
    ] as const) {
      const page = await call(one, 'GET', '/v2/dogs?limit=1', { key });
      expect(nextOf(page)!.href).toContain(`${address}/v2/dogs?limit=1&cursor=`);
      const { paths } = (await call(one, 'GET', '/openapi.json')).body;
      expect(paths['/v2/dogs'].get.servers[0].url).toBe(address);
      expect(paths['/dogs'].get.servers).toBeUndefined();
      // The sample of an event stream shows each event as it comes.
      expect(paths['/dogs/events'].get['x-codeSamples'][0].source).toMatch(/ -N$/);
    }
    const { paths } = (await call(proxied, 'GET', '/openapi.json')).body;
    expect(paths['/v2/dogs'].get['x-codeSamples'][0].source).toContain(`curl ${base}/v2/dogs`);
    await proxied.stop();
  });
});

test('The export has all dogs of an account, as CSV', async () => {
  const as = await createKey(service);
  const id = randomUUID();
  await putDog(id, { name: 'Luna, "the" dog' }, {}, as);
  const { text, headers } = await get('dogs/export', {}, as);
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(text).toBe(`id,name,breed\n${id},"Luna, ""the"" dog",Beagle\n`);
});

test('Events name the dogs that were added or replaced, also those that a client has missed', async () => {
  const as = await createKey(service);
  const hear = async (headers: Record<string, string> = {}) => {
    const all = { Authorization: `Bearer ${as}`, ...headers };
    const response = await fetch(`${service.url}/v1/dogs/events`, { headers: all });
    let text = '';
    const read = async () => {
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
    };
    const ended = read().catch(() => {});
    return { heard: () => text, ended };
  };
  const [first, second] = [randomUUID(), randomUUID()];
  const { heard } = await hear();
  await putDog(first, {}, {}, as);
  await until(() => heard().includes(first));
  const [, last] = /^id: (.+)$/m.exec(heard())!;
  await putDog(second, {}, {}, as);
  const later = await hear({ 'Last-Event-ID': String(last) });
  await until(() => later.heard().includes(second));
  const since = await hear({ 'Last-Event-ID': new Date(-8.64e15).toISOString() });
  await until(() => since.heard().includes(second));
});

test('A report may take longer than other operations', async () => {
  await putDog(randomUUID(), { breed: 'Counted' });
  expect((await get('dogs/breeds')).body.breeds).toContainEqual({ breed: 'Counted', dogs: 1 });
});

describe('A photo', () => {
  test('is added by a form, with a caption, and fetched unchanged', async () => {
    const caption = 'Luna in the snow';
    const { status, body, headers } = await addPhoto({ caption, photo: PHOTO });
    expect([status, body]).toEqual([201, { id: expect.any(String), type: 'image/png', caption }]);
    expect(headers.get('location')).toBe(`${service.url}/v1/photos/${body.id}`);
    const photo = await get(`photos/${body.id}`);
    expect([photo.headers.get('content-type'), Buffer.from(photo.bytes)]).toEqual(['image/png', POINT]);
    expectError(await get(`photos/${randomUUID()}`), 404, 'photo_not_found');
  });

  test('has the type of its bytes, whatever the form says', async () => {
    for (const type of ['image/jpeg', 'text/html', '']) {
      const photo = new Blob([new Uint8Array(POINT)], { type });
      const { status, body } = await addPhoto({ caption: 'Luna', photo });
      expect([type, status, body.type]).toEqual([type, 201, 'image/png']);
    }
  });

  test('needs a caption, and a picture of at most 5 MB', async () => {
    expectError(await addPhoto({ photo: PHOTO }), 400, 'validation_failed');
    expectError(await addPhoto({ caption: 'Luna' }), 400, 'bad_request');
    const text = new Blob(['no picture'], { type: 'text/plain' });
    expectError(await addPhoto({ caption: 'Luna', photo: text }), 400, 'bad_request');
    const large = new Blob([new Uint8Array(5_000_001)], { type: 'image/png' });
    expectError(await addPhoto({ caption: 'Luna', photo: large }), 413, 'payload_too_large');
  });

  test('has a specimen on disk, of which a client gets a range, or 304 if it has the file', async () => {
    const whole = await get('photos/specimen');
    expect([whole.status, Buffer.from(whole.bytes)]).toEqual([200, POINT]);
    const part = await get('photos/specimen', { Range: 'bytes=1-3' });
    expect([part.status, part.text]).toEqual([206, 'PNG']);
    // Without `max-age`, `fetch` sends `no-cache`, and gets the whole file.
    const known = { 'If-None-Match': whole.headers.get('etag')!, 'Cache-Control': 'max-age=0' };
    expect((await get('photos/specimen', known)).status).toBe(304);
    expectError(await get('photos/specimen', { Range: 'bytes=999-' }), 416, 'range_not_satisfiable');
    expectError(await get('photos/specimen', { 'If-Match': '"another"' }), 412, 'precondition_failed');
  });
});

test('Dogs that have not changed for a year are removed at night, by a job that the audit log names', async () => {
  const id = randomUUID();
  const run = (sql: string, ...values: unknown[]) => query(service.databaseUrl, sql, values);
  await putDog(id);
  await run(`UPDATE dogs SET updated_at = now() - interval '2 years' WHERE id = $1`, id);
  await run(`INSERT INTO pgboss.job (name, data) VALUES ('kennel-cleaning', '{"payload":{}}')`);
  const audited = 'SELECT actor, job, action, account_id::int FROM audit_log WHERE subject_id = $1';
  const records = () => run(audited, id);
  await until(async () => (await records()).length > 0);
  expect(await records()).toEqual([
    { actor: 'job', job: 'kennel-cleaning', action: 'dog.removed', account_id: account.id },
  ]);
  expectError(await get(`dogs/${id}`), 404, 'dog_not_found');
});
