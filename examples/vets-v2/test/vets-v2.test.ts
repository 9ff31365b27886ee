import { call, createKey, nextOf, type Service, startService } from 'petstore/testing';

let service: Service;
let proxied: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const env = { DATABASE_URL: service.databaseUrl, BASE_URL: 'https://api.example.com/store/v1' };
  proxied = await startService(env);
  key = await createKey(service);
});
afterAll(() => Promise.all([service.stop(), proxied.stop()]));

test('Version 2 of the vets stands beside version 1, on the same rows', async () => {
  const { status, body } = await call(service, 'POST', '/v2/vets', { key, body: { fullName: 'Ada' } });
  expect([status, body]).toEqual([201, { id: expect.any(Number), fullName: 'Ada' }]);
  const first = await call(service, 'GET', `/v1/vets/${body.id}`, { key });
  expect(first.body).toEqual({ id: body.id, name: 'Ada' });
});

test('Version 2 of the vets links to itself, also behind a base address', async () => {
  for (const [one, base] of [
    [service, service.url],
    [proxied, 'https://api.example.com/store'],
  ] as const) {
    const { headers } = await call(one, 'POST', '/v2/vets', { key, body: { fullName: 'Bo' } });
    const location = headers.get('location')!;
    expect(location).toMatch(new RegExp(`^${base}/v2/vets/\\d+$`));
    const { body } = await call(one, 'GET', location.slice(base.length), { key });
    expect(location).toBe(`${base}/v2/vets/${body.id}`);
    expect(body.fullName).toBe('Bo');
    const next = nextOf(await call(one, 'GET', '/v2/vets?limit=1', { key }))!;
    expect(next.href).toMatch(`${base}/v2/vets?limit=1&cursor=`);
  }
});

test('Version 2 of the vets is in the document under its own address', async () => {
  const { paths } = (await call(proxied, 'GET', '/openapi.json')).body;
  expect(paths['/v2/vets'].get.servers[0].url).toBe('https://api.example.com/store');
  const [{ source }] = paths['/v2/vets'].get['x-codeSamples'];
  expect(source).toContain('curl https://api.example.com/store/v2/vets');
  expect(paths['/vets'].get.servers).toBeUndefined();
});
