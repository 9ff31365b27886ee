import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { isSecret, KEYS } from '../src/auth/secret.js';
import {
  type Answer,
  call,
  createCheapAccount,
  createKey,
  type Credentials,
  expectError,
  TIMESTAMP,
} from '../src/testing/client.js';
import { expectRevoked } from './support/revoked.js';
import { document } from '../src/testing/document.js';
import { nextOf, walk } from '../src/testing/paging.js';
import {
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../src/testing/service.js';
import { eventually } from './support/npm.js';
import { storedOf } from './support/stored.js';

const checksum = (random: string) => crc32(random).toString(16).padStart(8, '0');
/** Well-formed, but of no account. */
const UNKNOWN_KEY = `petstore_${'0'.repeat(40)}${checksum('0'.repeat(40))}`;

/** Every permission: features that were added have theirs among them. */
const ALL = document.components.schemas.Permission.enum as string[];

const service: TestedService = sharedService();
/** Another instance on the same database, behind a proxy, whose word on where a request comes from counts. */
let other: Service;
let account: Credentials;

beforeAll(async () => {
  other = await startService({ DATABASE_URL: service.databaseUrl, ROLE: 'api', TRUST_PROXY: '1' });
  account = await createCheapAccount(service);
});
afterAll(() => other.stop());

const create = (body: unknown, by = account) => call(service, 'POST', '/v1/api-keys', { account: by, body });
const list = (by: Credentials, search = '') => call(service, 'GET', `/v1/api-keys${search}`, { account: by });
const change = (id: number | string, body: unknown, by = account) =>
  call(service, 'PATCH', `/v1/api-keys/${id}`, { account: by, body });
const roll = (id: number | string, body?: unknown, by = account) =>
  call(service, 'POST', `/v1/api-keys/${id}/roll`, { account: by, body });
const revoke = (id: number | string, by = account) =>
  call(service, 'DELETE', `/v1/api-keys/${id}`, { account: by });
const revokeItself = (key: string, at = service) => call(at, 'DELETE', '/v1/api-keys/current', { key });
const use = (key: string, at = service) => call(at, 'GET', '/v1/categories?limit=1', { key });
const soon = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

describe('POST /api-keys', () => {
  test('answers 201 with exactly id, name, permissions, createdAt and the key, which works', async () => {
    const { status, body } = await create({ name: 'My first key' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'My first key',
      permissions: ALL,
      createdAt: expect.stringMatching(TIMESTAMP),
      key: expect.any(String),
    });
    expect((await use(body.key)).status).toBe(200);
  });

  test('returns a key of a prefix, 160 random bits and a checksum, which exposes a typing error', async () => {
    const keys = [await createKey(service, account), await createKey(service, account)];
    for (const key of keys) {
      const [, random, sum] = /^petstore_([\da-f]{40})([\da-f]{8})$/.exec(key) ?? [];
      expect(sum).toBe(checksum(random!));
    }
    const [key] = keys as [string, string];
    expect(key.slice(0, 49)).not.toBe(keys[1]!.slice(0, 49));
    const other = (one: string, i: number) => key.slice(0, i) + (one === '0' ? '1' : '0') + key.slice(i + 1);
    const mistyped = Array.from(key, other);
    expect([key, ...mistyped].filter((one) => isSecret(KEYS, one))).toEqual([key]);
  });

  test('stores the SHA-256 of the key, and the key nowhere', async () => {
    const key = await createKey(service, account);
    await use(key);
    const hash = createHash('sha256').update(key).digest('hex');
    const places = [hash, key.slice(9, 49), Buffer.from(key).toString('hex')];
    expect(await storedOf(service, places)).toEqual([hash]);
    expect(service.output()).not.toContain(key.slice(9, 49));
  });

  test('accepts an expiry with any offset, and returns the expiry in UTC, at once and in the list', async () => {
    const owner = await createCheapAccount(service);
    const ends = ['2099-12-31T23:59:59Z', '2099-12-31T23:59:59.999+02:00', '9999-12-31T23:59:59.999Z'];
    for (const expiresAt of ends) {
      const { status, body } = await create({ name: 'Ends', expiresAt }, owner);
      expect([status, body.expiresAt]).toEqual([201, new Date(expiresAt).toISOString()]);
    }
    const told = ((await list(owner)).body as { expiresAt: string }[]).map(({ expiresAt }) => expiresAt);
    expect(told).toEqual(ends.map((end) => new Date(end).toISOString()));
  });

  test.each([
    { expiresAt: null },
    { expiresAt: '2020-01-01T00:00:00Z' },
    { expiresAt: '9999-12-31T23:59:59-23:59' },
    { permissions: [] },
    { permissions: ['pets:read', 'pets:fly'] },
    { permissions: ['pets:read', 'pets:read'] },
  ])('refuses %j', async (body) => {
    const [name] = Object.keys(body);
    const message = expectError(await create({ name: 'Bad', ...body }), 400, 'validation_failed');
    expect(message).toMatch(new RegExp(`^${name}(?:\\[\\d\\])? must `));
  });
});

test('GET /api-keys answers with only the keys of the account, page by page, and never with a key itself', async () => {
  const owner = await createCheapAccount(service);
  expect((await list(owner)).text).toBe('[]');
  const shown: object[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const { key: _key, ...others } = (await create({ name }, owner)).body;
    shown.push(others);
  }
  const first = await list(owner, '?limit=2');
  expect(nextOf(first)!.href).toMatch(`${service.url}/v1/api-keys?limit=2&cursor=`);
  expect(await walk(service, '/v1/api-keys?limit=2', { account: owner })).toEqual(shown);
  const { headers, text } = await list(owner, '?limit=5');
  expect(headers.get('link')).toBeNull();
  expect(text).not.toContain('petstore_');
});

describe('An API key', () => {
  test('that is unknown, malformed, expired or revoked is refused alike', async () => {
    const { body: ended } = await create({ name: 'Ended', expiresAt: soon(60) });
    await query(service.databaseUrl, 'UPDATE api_keys SET expires_at = now() WHERE id = $1', [ended.id]);
    const { body: revoked } = await create({ name: 'Revoked' });
    await revoke(revoked.id);
    const keys = [UNKNOWN_KEY, 'nonsense', ended.key, revoked.key, revoked.key.toUpperCase()];
    const answers = await Promise.all(keys.map((key) => use(key)));
    for (const answer of answers) {
      expectError(answer, 401, 'invalid_api_key');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
    }
    const told = answers.map(({ headers, text }) => {
      const others = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
      return JSON.stringify([others, text]);
    });
    expect(new Set(told).size).toBe(1);
  });

  test('works until its expiry and not after, even if just used, unless the expiry is removed', async () => {
    const { body } = await create({ name: 'Ends', expiresAt: soon(600) });
    expect((await use(body.key)).status).toBe(200);
    const expiresAt = soon(2);
    await change(body.id, { expiresAt });
    for (let answer = await use(body.key); Date.now() < Date.parse(expiresAt); answer = await use(body.key))
      expect(answer.status).toBe(200);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await change(body.id, { expiresAt: null });
    expect((await use(body.key)).status).toBe(200);
  });
});

describe('DELETE /api-keys', () => {
  test.each<[string, (one: { id: number; key: string }) => Promise<Answer>]>([
    ['/{keyId}', ({ id }) => revoke(id)],
    ['/current', ({ key }) => revokeItself(key)],
  ])('%s answers 204; the same instance refuses the key from then on, and no other', async (_path, end) => {
    const { body } = await create({ name: 'Busy' });
    const another = await createKey(service, account);
    const uses = Array.from({ length: 20 }, () => use(body.key));
    const { status, text } = await end(body);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await Promise.all(uses);
    expectError(await use(body.key), 401, 'invalid_api_key');
    expectError(await revokeItself(body.key), 401, 'invalid_api_key');
    for (const id of [body.id, 0, '9223372036854775807'])
      expectError(await revoke(id), 404, 'api_key_not_found');
    expect((await use(another)).status).toBe(200);
  });

  test('/current refuses a key that another instance has revoked, before this instance has noticed', async () => {
    const { body } = await create({ name: 'Twice' });
    expect((await use(body.key, other)).status).toBe(200);
    await revokeItself(body.key);
    expectError(await revokeItself(body.key, other), 401, 'invalid_api_key');
  });
});

test('PATCH /api-keys/{keyId} renames a key, sets and removes its expiry, and changes its permissions, each alone', async () => {
  const { body } = await create({ name: 'Old' });
  const { key: _key, ...shown } = body;
  expect((await change(body.id, { name: 'New' })).body).toEqual({ ...shown, name: 'New' });
  const expiresAt = '2099-12-31T23:59:59.000Z';
  expect((await change(body.id, { expiresAt })).body).toEqual({ ...shown, name: 'New', expiresAt });
  const cleared = await change(body.id, { expiresAt: null });
  expect([cleared.status, cleared.body]).toEqual([200, { ...shown, name: 'New' }]);
  for (const permissions of [['pets:write'], ['categories:read', 'pets:write']])
    expect((await change(body.id, { permissions })).body.permissions).toEqual(permissions);
  expect((await use(body.key)).status).toBe(200);
  for (const nothing of [{}, { hash: 'x' }, { name: null }, { permissions: null }])
    expectError(await change(body.id, nothing), 400, 'validation_failed');
  await revoke(body.id);
  expectError(await change(body.id, { name: 'Gone' }), 404, 'api_key_not_found');
});

describe('POST /api-keys/{keyId}/roll', () => {
  test('creates a key with the same name, permissions and expiry; without a body, revokes the old key', async () => {
    const expiresAt = '2099-12-31T23:59:59.000Z';
    const { body: old } = await create({ name: 'Rolled', permissions: ['categories:read'], expiresAt });
    expect((await use(old.key)).status).toBe(200);
    const { status, body } = await roll(old.id);
    const { id, key, createdAt } = body;
    expect([status, body]).toEqual([201, { ...old, id, key, createdAt }]);
    expect(id).not.toBe(old.id);
    expect((await use(key)).status).toBe(200);
    expectError(await use(old.key), 401, 'invalid_api_key');
    expectError(await roll(old.id), 404, 'api_key_not_found');
    for (const overlapSeconds of [-1, 604_801, null])
      expectError(await roll(id, { overlapSeconds }), 400, 'validation_failed');
  });

  test('refuses an expired key until the key gets a later expiry', async () => {
    const { body: old } = await create({ name: 'Ended', expiresAt: soon(60) });
    await query(service.databaseUrl, 'UPDATE api_keys SET expires_at = now() WHERE id = $1', [old.id]);
    for (const body of [undefined, { overlapSeconds: 60 }])
      expectError(await roll(old.id, body), 409, 'api_key_expired');
    const expiresAt = soon(600);
    expect((await change(old.id, { expiresAt })).status).toBe(200);
    const { status, body } = await roll(old.id);
    expect([status, body.expiresAt]).toEqual([201, expiresAt]);
    expect((await use(body.key)).status).toBe(200);
  });

  test('leaves the old key valid for the overlap, but never beyond its own expiry', async () => {
    const owner = await createCheapAccount(service);
    const { body: old } = await create({ name: 'Overlaps' }, owner);
    const begun = Date.now();
    const { body } = await roll(old.id, { overlapSeconds: 2 }, owner);
    const answered = Date.now();
    expect(body.expiresAt).toBeUndefined();
    for (let answer = await use(old.key); Date.now() < begun + 2_000; answer = await use(old.key))
      expect(answer.status).toBe(200);
    await sleep(answered + 2_001 - Date.now());
    expectError(await use(old.key), 401, 'invalid_api_key');
    expect((await use(body.key)).status).toBe(200);
    const { body: ending } = await create({ name: 'Ends', expiresAt: soon(60) }, owner);
    const { body: next } = await roll(ending.id, { overlapSeconds: 604_800 }, owner);
    expect(next.expiresAt).toBe(ending.expiresAt);
    const all = (await list(owner)).body as { id: number; expiresAt: string }[];
    expect(all.find(({ id }) => id === ending.id)!.expiresAt).toBe(ending.expiresAt);
  });
});

describe('A key with networks', () => {
  const NETWORKS = ['192.0.2.9/24', '198.51.100.7', '2001:DB8:1::/48'];
  const useFrom = (ip: string, key: string, at: TestedService = other) =>
    call(at, 'GET', '/v1/categories?limit=1', { key, headers: { 'X-Forwarded-For': ip } });

  test.each<[string[], Record<string, number>]>([
    [
      NETWORKS,
      {
        '192.0.2.0': 200,
        '192.0.2.255': 200,
        '::ffff:192.0.2.9': 200,
        '192.0.3.1': 403,
        '198.51.100.7:4711': 200,
        '198.51.100.8': 403,
        '2001:db8:1:ffff::1': 200,
        '2001:DB8:1:0:0:0:0:1': 200,
        '2001:db8:2::1': 403,
        '::1': 403,
      },
    ],
    // A zone does not count.
    [['fe80::1'], { 'fe80::1%br-1f': 200, 'fe80::2%br-1f': 403 }],
    // IPv4 within IPv6, as a key of before may have it, too.
    [['::ffff:c000:201'], { '192.0.2.1': 200, '::ffff:192.0.2.1': 200, '192.0.2.2': 403 }],
    [['::FFFF:C000:200/120'], { '192.0.2.255': 200, '192.0.3.0': 403 }],
    // All addresses of one family are none of the other.
    [['::/0'], { '2001:db8::1': 200, '::1': 200, '192.0.2.1': 403, '::ffff:192.0.2.1': 403 }],
    [['192.0.2.9/0'], { '192.0.2.1': 200, '::ffff:192.0.2.1': 200, '2001:db8::1': 403 }],
  ])('of %j is answered by where it is used from', async (networks, expected) => {
    const { body } = await create({ name: 'Branches' });
    // As a release before stored them.
    const sql = 'UPDATE api_keys SET networks = $2 WHERE id = $1';
    await query(service.databaseUrl, sql, [body.id, networks]);
    for (const [ip, status] of Object.entries(expected)) {
      const answer = await useFrom(ip, body.key);
      expect([ip, answer.status]).toEqual([ip, status]);
      if (status === 403) expect(answer.text).toContain('may not be used from');
    }
  });

  test('is checked against the address of the connection without TRUST_PROXY, whatever the headers say', async () => {
    const { body: there } = await create({ name: 'There', networks: NETWORKS });
    const { body: here } = await create({ name: 'Here', networks: ['127.0.0.0/8', '::1'] });
    expectError(await useFrom('192.0.2.1', there.key, service), 403, 'permission_denied');
    expect((await useFrom('192.0.2.1', here.key, service)).status).toBe(200);
  });

  test('shows its networks in canonical form, keeps them when rolled, can change or remove them, and is revoked only from them', async () => {
    const same = ['192.0.2.9/24', '192.0.2.1/24'];
    const networks = [...same, '2001:DB8:0:0:1::/48', '::ffff:c000:201', '::1/128', '10.0.0.1/32'];
    const shown = ['192.0.2.0/24', '2001:db8::/48', '192.0.2.1', '::1', '10.0.0.1'];
    const { body } = await create({ name: 'Office', networks });
    const changed = await change(body.id, { networks });
    const { body: rolled } = await roll(body.id);
    expect([body, changed.body, rolled].map((one) => one.networks)).toEqual([shown, shown, shown]);
    const { id, key } = rolled;
    const ofElsewhere = { key, headers: { 'X-Forwarded-For': '203.0.113.9' } };
    expectError(await call(other, 'DELETE', '/v1/api-keys/current', ofElsewhere), 403, 'permission_denied');
    expect((await change(id, { networks: ['203.0.113.0/24'] })).body.networks).toEqual(['203.0.113.0/24']);
    await eventually(async () => (await useFrom('192.0.2.1', key)).status === 403);
    expect((await useFrom('203.0.113.9', key)).status).toBe(200);
    const cleared = await change(id, { networks: null });
    expect([cleared.status, 'networks' in cleared.body]).toEqual([200, false]);
    await eventually(async () => (await useFrom('192.0.2.1', key)).status === 200);
  });

  test.each([
    ['none', []],
    ['a name', ['example.com']],
    ['an address that is not whole', ['192.0.2']],
    ['a number that is octal to some', ['192.0.2.010']],
    ['a prefix that is too long', ['192.0.2.0/33']],
    ['a prefix that is too long for IPv6', ['::/129']],
    ['a prefix that is no number', ['192.0.2.0/255.255.255.0']],
    ['a prefix with a zero in front', ['192.0.2.0/024']],
    ['an interface', ['fe80::1%eth0']],
    ['IPv4 within IPv6', ['::ffff:192.0.2.1']],
    ['one twice', ['192.0.2.1', '192.0.2.1']],
    ['more than 20', Array.from({ length: 21 }, (_none, i) => `192.0.2.${i}`)],
  ])('cannot be created with %s', async (_what, networks) => {
    expectError(await create({ name: 'Bad', networks }), 400, 'validation_failed');
  });
});

describe('Another instance refuses a key within a second of the answer', () => {
  interface Owned {
    owner: Credentials;
    id: number;
    key: string;
  }
  const current = ({ owner }: Owned, method: string, body?: object) =>
    call(service, method, '/v1/accounts/current', { account: owner, body });

  test.each<[string, (one: Owned) => Promise<unknown>]>([
    ['was revoked', ({ id, owner }) => revoke(id, owner)],
    ['has revoked itself', ({ key }) => revokeItself(key)],
    ['was rolled', ({ id, owner }) => roll(id, undefined, owner)],
    ['has lost its permission', ({ id, owner }) => change(id, { permissions: ['pets:write'] }, owner)],
    ['was given networks', ({ id, owner }) => change(id, { networks: ['192.0.2.1'] }, owner)],
    ['was given an end', end],
    ['was revoked with all others', (one) => current(one, 'PATCH', { revokeKeys: true })],
    ['is of an account that was closed', (one) => current(one, 'DELETE')],
  ])('that %s', async (_what, take) => {
    const owner = await createCheapAccount(service);
    const one: Owned = { owner, ...(await create({ name: 'Late' }, owner)).body };
    for (const each of [other, service]) expect((await use(one.key, each)).status).toBe(200);
    await take(one);
    await expectRevoked(async () => [await use(one.key, other)]);
  });

  async function end({ id, owner }: Owned): Promise<void> {
    const expiresAt = soon(2);
    await change(id, { expiresAt }, owner);
    await sleep(Date.parse(expiresAt) - Date.now());
  }
});

test('A key shows the hour of its last use', async () => {
  const owner = await createCheapAccount(service);
  const hourNow = () => `${new Date().toISOString().slice(0, 13)}:00:00.000Z`;
  const usedAt = async () => (await list(owner)).body[0].lastUsedAt as string | undefined;
  const { body } = await create({ name: 'Used' }, owner);
  expect([await usedAt(), body.lastUsedAt]).toEqual([undefined, undefined]);
  const begun = hourNow();
  await use(body.key);
  await eventually(async () => (await usedAt()) !== undefined);
  // The beginning of the hour, though the key was made after it.
  expect([begun, hourNow()]).toContain(await usedAt());
});

test('An account has at most 1,000 keys, however many requests create keys at once', async () => {
  const owner = await createCheapAccount(service);
  await query(
    service.databaseUrl,
    `INSERT INTO api_keys (account_id, name, hash) SELECT $1::bigint, 'k', sha256(($1::text || ' ' || i)::bytea)
     FROM generate_series(1, 998) AS i`,
    [owner.id],
  );
  const answers = await Promise.all(Array.from({ length: 4 }, () => create({ name: 'Last' }, owner)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 409, 409]);
  for (const answer of answers.filter(({ status }) => status === 409))
    expectError(answer, 409, 'too_many_api_keys');
  const { id } = answers.find(({ status }) => status === 201)!.body;
  expectError(await roll(id, { overlapSeconds: 1 }, owner), 409, 'too_many_api_keys');
  expect((await roll(id, undefined, owner)).status).toBe(201);
});
