import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlockList, isIP } from 'node:net';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { Client } from 'pg';
import {
  type Answer,
  call,
  createAccount,
  createCheapAccount,
  createKey,
  type Credentials,
  expectError,
  TIMESTAMP,
} from '../src/testing/client.js';
import { networksOf, requireNetwork } from '../src/auth/networks.js';
import { KeyCache, type KeyOwner } from '../src/auth/key-owners.js';
import { document } from '../src/testing/document.js';
import { nextOf, walk } from '../src/testing/paging.js';
import { eventually } from './support/npm.js';
import {
  everythingStored,
  query,
  type Service,
  startService,
  withTableLocked,
} from '../src/testing/service.js';

/** Well-formed, but of no account. */
const UNKNOWN_KEY = `petstore_${'0'.repeat(40)}${checksum('0'.repeat(40))}`;

/** The permissions of the product, in the order of the contract. */
const PRODUCT = [
  'pets:read',
  'pets:write',
  'categories:read',
  'categories:write',
  'orders:read',
  'orders:write',
  'orders:manage',
  'messages:read',
  'messages:write',
];
/** Every permission: features that were added have theirs among them. */
const ALL = document.components.schemas.Permission.enum as string[];

let service: Service;
let account: Credentials;

beforeAll(async () => {
  service = await startService({ AUTH_LIMIT_PER_MINUTE: '0' });
  account = await createCheapAccount(service);
});
afterAll(() => service.stop());

const create = (body: unknown, by = account) => call(service, 'POST', '/v1/api-keys', { account: by, body });
const list = (by: Credentials, search = '') => call(service, 'GET', `/v1/api-keys${search}`, { account: by });
const revoke = (id: number | string, by = account) =>
  call(service, 'DELETE', `/v1/api-keys/${id}`, { account: by });
const use = (key: string, at = service) => call(at, 'GET', '/v1/categories?limit=1', { key });

function checksum(random: string): string {
  return crc32(random).toString(16).padStart(8, '0');
}

test('The permissions of the product are all there, in the order of the contract', () => {
  const features = new Set(PRODUCT.map((name) => name.split(':')[0]));
  expect(ALL.filter((name) => features.has(name.split(':')[0]))).toEqual(PRODUCT);
  expect(new Set(ALL).size).toBe(ALL.length);
});

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

  test('returns a key of a prefix, 160 random bits and a checksum', async () => {
    const keys = [await createKey(service, account), await createKey(service, account)];
    for (const key of keys) {
      const [, random, sum] = /^petstore_([\da-f]{40})([\da-f]{8})$/.exec(key) ?? [];
      expect(sum).toBe(checksum(random!));
    }
    expect(keys[0]!.slice(0, 49)).not.toBe(keys[1]!.slice(0, 49));
  });

  test('stores the SHA-256 of the key, and the key nowhere', async () => {
    const key = await createKey(service, account);
    const stored = await everythingStored(service);
    expect(stored).toContain(createHash('sha256').update(key).digest('hex'));
    expect(stored).not.toContain(key.slice(9, 49));
    expect(stored).not.toContain(Buffer.from(key).toString('hex'));
    expect(service.output()).not.toContain(key.slice(9, 49));
  });

  test.each(['2099-12-31T23:59:59Z', '2099-12-31T23:59:59.999+02:00', '9999-12-31T23:59:59.999Z'])(
    'accepts the end %s and returns it in UTC, at once and in the list',
    async (expiresAt) => {
      const owner = await createAccount(service);
      const { status, body } = await create({ name: 'Ends', expiresAt }, owner);
      expect([status, body.expiresAt]).toEqual([201, new Date(expiresAt).toISOString()]);
      expect((await list(owner)).body[0].expiresAt).toBe(body.expiresAt);
    },
  );

  test.each([
    ['no name', {}],
    ['an empty name', { name: '' }],
    ['a name of white space', { name: ' \t' }],
    ['a name of 256 characters', { name: 'x'.repeat(256) }],
    ['a name that is null', { name: null }],
    ['a name with NUL', { name: 'a\0b' }],
    ['a name with a lone surrogate', { name: 'a\ud800' }],
    ['an end that is null', { name: 'x', expiresAt: null }],
    ['an end that has passed', { name: 'x', expiresAt: '2020-01-01T00:00:00Z' }],
    ['an end without its offset', { name: 'x', expiresAt: '2099-01-01T00:00:00' }],
    ['a day', { name: 'x', expiresAt: '2099-01-01' }],
    ['a day that does not exist', { name: 'x', expiresAt: '2099-02-29T00:00:00Z' }],
    ['a month that does not exist', { name: 'x', expiresAt: '2099-13-01T00:00:00Z' }],
    ['an hour that does not exist', { name: 'x', expiresAt: '2099-01-01T24:00:00Z' }],
    ['an end beyond the year 9999', { name: 'x', expiresAt: '9999-12-31T23:59:59-23:59' }],
    ['an end that is a number', { name: 'x', expiresAt: 4_070_908_800 }],
    ['an end that is a word', { name: 'x', expiresAt: 'tomorrow' }],
  ])('refuses %s', async (_what, body) => {
    expectError(await create(body), 400, 'validation_failed');
  });
});

describe('GET /api-keys', () => {
  test('answers with only the keys of the account, and never with a key itself', async () => {
    const owner = await createAccount(service);
    expect((await list(owner)).text).toBe('[]');
    const created = [(await create({ name: 'a' }, owner)).body, (await create({ name: 'b' }, owner)).body];
    await create({ name: 'of another' });
    const { status, body, text } = await list(owner);
    expect(status).toBe(200);
    const shown = created.map(({ id, name, createdAt }) => ({ id, name, permissions: ALL, createdAt }));
    expect(body).toEqual(shown);
    expect(text).not.toContain('petstore_');
  });

  test('shows every key exactly once over its pages', async () => {
    const owner = await createAccount(service);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create({ name }, owner);
    const first = await list(owner, '?limit=2');
    expect(nextOf(first)!.href).toMatch(`${service.url}/v1/api-keys?limit=2&cursor=`);
    const all = await walk<{ name: string }>(service, '/v1/api-keys?limit=2', { account: owner });
    expect(all.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect((await list(owner, '?limit=5')).headers.get('link')).toBeNull();
  });
});

describe('An API key', () => {
  test('that is unknown, malformed, expired or revoked is refused alike', async () => {
    const end = Date.now() + 2000;
    const { body: ending } = await create({ name: 'Ends', expiresAt: new Date(end).toISOString() });
    const { body: revoked } = await create({ name: 'Revoked' });
    await revoke(revoked.id);
    await sleep(end + 1 - Date.now());
    const keys = [UNKNOWN_KEY, 'nonsense', ending.key, revoked.key, revoked.key.toUpperCase()];
    const answers = await Promise.all(keys.map((key) => use(key)));
    for (const answer of answers) {
      expectError(answer, 401, 'invalid_api_key');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
    }
    expect(new Set(answers.map(withoutRequestId)).size).toBe(1);
  });

  test('that expires works until then, and not after, even if it was just used', async () => {
    const end = Date.now() + 2000;
    const { body } = await create({ name: 'Ends', expiresAt: new Date(end).toISOString() });
    for (let answer = await use(body.key); Date.now() < end; answer = await use(body.key))
      expect(answer.status).toBe(200);
    expectError(await use(body.key), 401, 'invalid_api_key');
  });

  test('is not let in by a look-up that began more than a second before', async () => {
    const owners: KeyOwner[] = ['1', '2'].map((keyId) => ({ keyId, accountId: '1', expiresAt: Infinity }));
    const cache = new KeyCache(async () => {
      const owner = owners.shift()!;
      await sleep(1_200);
      return owner;
    });
    const first = cache.get('key');
    await sleep(500);
    const second = cache.get('key');
    await sleep(500);
    const third = cache.get('key');
    const found = await Promise.all([first, second, third]);
    expect(found.map((owner) => owner!.keyId)).toEqual(['1', '1', '2']);
  });

  test('with any one character mistyped is refused without asking the database', async () => {
    const key = await createKey(service, account);
    await withTableLocked(service, 'api_keys', async () => {
      for (let i = 0; i < key.length; i++) {
        const mistyped = key.slice(0, i) + (key[i] === '0' ? '1' : '0') + key.slice(i + 1);
        expectError(await use(mistyped), 401, 'invalid_api_key');
      }
      expectError(await use(UNKNOWN_KEY), 503, 'service_unavailable');
    });
    expectError(await use(UNKNOWN_KEY), 401, 'invalid_api_key');
  });
});

/** An answer as one text, without what identifies the request. */
function withoutRequestId({ status, headers, text }: Answer): string {
  const others = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return JSON.stringify([status, others, text]);
}

describe('DELETE /api-keys/{keyId}', () => {
  test('answers 204, and the same instance refuses the key from then on', async () => {
    const { body } = await create({ name: 'Busy' });
    const uses = Array.from({ length: 20 }, () => use(body.key));
    const { status, text } = await revoke(body.id);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await Promise.all(uses);
    expectError(await use(body.key), 401, 'invalid_api_key');
  });

  test('leaves the other keys of the account', async () => {
    const [first, second] = [await create({ name: '1' }), await create({ name: '2' })];
    await revoke(first.body.id);
    expect((await use(second.body.key)).status).toBe(200);
  });

  test('answers 404 for a key of another account, which stays valid', async () => {
    const { body } = await create({ name: 'Mine' });
    expectError(await revoke(body.id, await createAccount(service)), 404, 'api_key_not_found');
    expect((await use(body.key)).status).toBe(200);
  });

  test('answers 404 for a key that does not exist, or no longer', async () => {
    const { body } = await create({ name: 'Twice' });
    await revoke(body.id);
    for (const id of [body.id, 0, -1, '9223372036854775807']) {
      expectError(await revoke(id), 404, 'api_key_not_found');
    }
  });

  test.each(['9223372036854775808', 'x', '1.0', '007', '%201'])(
    'answers 400 for %s, which is not an int64',
    async (id) => {
      expectError(await revoke(id), 400, 'validation_failed');
    },
  );
});

describe('DELETE /api-keys/current', () => {
  let other: Service;
  beforeAll(async () => {
    other = await startService({ DATABASE_URL: service.databaseUrl });
  });
  afterAll(() => other.stop());

  const revokeItself = (key: string, at = service) => call(at, 'DELETE', '/v1/api-keys/current', { key });

  test('answers 204, and refuses the key from then on', async () => {
    const owner = await createAccount(service);
    const { body } = await create({ name: 'Stolen' }, owner);
    const { status, text } = await revokeItself(body.key);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    expectError(await revokeItself(body.key), 401, 'invalid_api_key');
    expect((await list(owner)).text).toBe('[]');
  });

  test('refuses a key that another instance has revoked, although this one does not know yet', async () => {
    const { body } = await create({ name: 'Twice' });
    expect((await use(body.key, other)).status).toBe(200);
    await revokeItself(body.key);
    const again = await revokeItself(body.key, other);
    expectError(again, 401, 'invalid_api_key');
    expect(again.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
  });

  test('waits for no other change of the account', async () => {
    const owner = await createAccount(service);
    const key = await createKey(service, owner);
    const client = new Client({ connectionString: service.databaseUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [owner.id]);
    expect((await use(key)).status).toBe(200);
    expect((await revokeItself(key)).status).toBe(204);
    await client.end();
  });

  test('leaves the other keys of the account', async () => {
    const [one, another] = [await createKey(service, account), await createKey(service, account)];
    await revokeItself(one);
    expect((await use(another)).status).toBe(200);
  });

  test('takes a key and no password', async () => {
    for (const options of [{}, { account }]) {
      const answer = await call(service, 'DELETE', '/v1/api-keys/current', options);
      expectError(answer, 401, 'missing_api_key');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="petstore"');
    }
    expectError(await revokeItself('nonsense'), 401, 'invalid_api_key');
  });

  test('has no other method', async () => {
    const answer = await call(service, 'GET', '/v1/api-keys/current', { account });
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toContain('DELETE');
  });
});

test('A key whose look-up is under way while keys change is not remembered', async () => {
  const found: ((owner: KeyOwner) => void)[] = [];
  const cache = new KeyCache(() => new Promise((resolve) => found.push(resolve)));
  const owner = { keyId: '1', accountId: '1', expiresAt: Infinity };
  const [before, after] = [cache.get('key'), (cache.clear(), cache.get('key'))];
  expect(found).toHaveLength(2);
  found[0]!(owner);
  expect(await before).toBe(owner);
  expect(cache.peek('key')).toBeUndefined();
  found[1]!(owner);
  expect(await after).toBe(owner);
  expect(cache.peek('key')).toBe(owner);
});

describe('PATCH /api-keys/{keyId}', () => {
  const change = (id: number | string, body: unknown, by = account) =>
    call(service, 'PATCH', `/v1/api-keys/${id}`, { account: by, body });

  test('renames a key, and sets and clears its end, each alone', async () => {
    const { body } = await create({ name: 'Old' });
    const { key: _key, ...shown } = body;
    expect((await change(body.id, { name: 'New' })).body).toEqual({ ...shown, name: 'New' });
    const expiresAt = '2099-12-31T23:59:59.000Z';
    expect((await change(body.id, { expiresAt })).body).toEqual({ ...shown, name: 'New', expiresAt });
    const cleared = await change(body.id, { expiresAt: null });
    expect([cleared.status, cleared.body]).toEqual([200, { ...shown, name: 'New' }]);
    expect((await use(body.key)).status).toBe(200);
  });

  test('ends a key at its new end, even if it was just used', async () => {
    const { body } = await create({ name: 'Ends' });
    expect((await use(body.key)).status).toBe(200);
    const end = Date.now() + 1_500;
    await change(body.id, { expiresAt: new Date(end).toISOString() });
    await sleep(end + 1 - Date.now());
    expectError(await use(body.key), 401, 'invalid_api_key');
    await change(body.id, { expiresAt: null });
    expect((await use(body.key)).status).toBe(200);
  });

  test.each([
    ['nothing', {}],
    ['nothing that it knows', { hash: 'x' }],
    ['a name that is null', { name: null }],
    ['an end that has passed', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['permissions that are null', { permissions: null }],
  ])('refuses %s', async (_what, body) => {
    const made = await create({ name: 'Kept' });
    expectError(await change(made.body.id, body), 400, 'validation_failed');
  });

  test('does not find the key of another account, nor one that was revoked', async () => {
    const { body } = await create({ name: 'Mine' });
    expectError(
      await change(body.id, { name: 'Theirs' }, await createAccount(service)),
      404,
      'api_key_not_found',
    );
    await revoke(body.id);
    expectError(await change(body.id, { name: 'Gone' }), 404, 'api_key_not_found');
  });
});

describe('A key with networks', () => {
  /** Behind a proxy, whose word on where a request comes from counts. */
  let proxied: Service;
  beforeAll(async () => {
    proxied = await startService({ DATABASE_URL: service.databaseUrl, TRUST_PROXY: '1' });
  });
  afterAll(() => proxied.stop());

  const NETWORKS = ['192.0.2.9/24', '198.51.100.7', '2001:DB8:1::/48'];
  const useFrom = (ip: string, key: string, at = proxied) =>
    call(at, 'GET', '/v1/categories?limit=1', { key, headers: { 'X-Forwarded-For': ip } });
  const change = (id: number, networks: unknown) =>
    call(proxied, 'PATCH', `/v1/api-keys/${id}`, { account, body: { networks } });

  test.each([
    ['192.0.2.0', 200],
    ['192.0.2.255', 200],
    ['::ffff:192.0.2.9', 200],
    ['192.0.3.1', 403],
    ['198.51.100.7', 200],
    ['198.51.100.7:4711', 200],
    ['198.51.100.8', 403],
    ['2001:db8:1:ffff::1', 200],
    ['2001:DB8:1:0:0:0:0:1', 200],
    ['2001:db8:2::1', 403],
    ['::1', 403],
  ])('is answered to %s with %i', async (ip, status) => {
    const { body } = await create({ name: 'Branches', networks: NETWORKS });
    const answer = await useFrom(ip, body.key);
    expect(answer.status).toBe(status);
    if (status === 200) return;
    expectError(answer, 403, 'permission_denied');
    expect(answer.body.message).toContain(`may not be used from ${ip}`);
  });

  test.each([
    ['fe80::1', 'fe80::1%br-1f', 200],
    ['fe80::/10', 'fe80::2%eth0.100', 200],
    ['fe80::1', 'fe80::2%br-1f', 403],
    ['::/0', '::ffff:192.0.2.1%a-b', 403],
    ['0.0.0.0/0', '::ffff:192.0.2.1%a-b', 200],
  ])('counts no zone: for one of %s, %s is answered with %i', async (network, ip, status) => {
    const { body } = await create({ name: 'Link', networks: [network] });
    expect((await useFrom(ip, body.key)).status).toBe(status);
  });

  test('goes by the connection without TRUST_PROXY, whatever headers say', async () => {
    const { body: there } = await create({ name: 'There', networks: NETWORKS });
    const { body: here } = await create({ name: 'Here', networks: ['127.0.0.0/8', '::1'] });
    expectError(await useFrom('192.0.2.1', there.key, service), 403, 'permission_denied');
    expect((await useFrom('192.0.2.1', here.key, service)).status).toBe(200);
  });

  test('shows them, keeps them when it is rolled, and has new ones or none at once', async () => {
    const { body } = await create({ name: 'Office', networks: NETWORKS });
    expect(body.networks).toEqual(NETWORKS);
    const rolled = await call(service, 'POST', `/v1/api-keys/${body.id}/roll`, { account });
    expect(rolled.body.networks).toEqual(NETWORKS);
    const { id, key } = rolled.body;
    expect((await useFrom('192.0.2.1', key)).status).toBe(200);
    expect((await change(id, ['203.0.113.0/24'])).body.networks).toEqual(['203.0.113.0/24']);
    expectError(await useFrom('192.0.2.1', key), 403, 'permission_denied');
    expect((await useFrom('203.0.113.9', key)).status).toBe(200);
    const cleared = await change(id, null);
    expect([cleared.status, 'networks' in cleared.body]).toEqual([200, false]);
    expect((await useFrom('192.0.2.1', key)).status).toBe(200);
  });

  test('is refused elsewhere before anything else is looked at, and cannot even be revoked from there', async () => {
    const { body } = await create({ name: 'Stolen', networks: NETWORKS, permissions: ['pets:read'] });
    const options = { key: body.key, headers: { 'X-Forwarded-For': '203.0.113.1' } };
    for (const path of ['/v1/pets', '/v1/store/orders']) {
      const answer = await call(proxied, 'POST', path, { ...options, body: '{' });
      expectError(answer, 403, 'permission_denied');
      expect(answer.body.message).toContain('203.0.113.1');
    }
    const revoking = () => call(proxied, 'DELETE', '/v1/api-keys/current', options);
    expectError(await revoking(), 403, 'permission_denied');
    options.headers['X-Forwarded-For'] = '192.0.2.1';
    expect((await revoking()).status).toBe(204);
  });

  test.each([
    ['none', []],
    ['one that is no text', [1]],
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
  ])('is not made with %s', async (_what, networks) => {
    expectError(await create({ name: 'Bad', networks }), 400, 'validation_failed');
  });

  test('is let in from where Node itself says that an address is in a network', () => {
    const ipV6 = fc.ipV6().filter((text) => !text.includes('.'));
    const address = fc.oneof(fc.ipV4(), ipV6);
    const bits = fc.integer({ min: 0, max: 128 });
    const pattern = new RegExp(document.components.schemas.NewApiKey.properties.networks.items.pattern);
    fc.assert(
      fc.property(address, bits, address, fc.boolean(), (base, wanted, other, isNear) => {
        const family = isIP(base) === 4 ? 'ipv4' : 'ipv6';
        const prefix = Math.min(wanted, family === 'ipv4' ? 32 : 128);
        const network = `${base}/${prefix}`;
        const list = new BlockList();
        list.addSubnet(base, prefix, family);
        const asked = isNear ? base : other;
        // Node takes IPv4 for a part of IPv6.
        fc.pre(ipaddr.process(asked).kind() === family && ipaddr.process(base).kind() === family);
        const isIn = list.check(asked, isIP(asked) === 4 ? 'ipv4' : 'ipv6');
        const require = () => requireNetwork(networksOf([network])!, asked);
        expect(pattern.test(network)).toBe(true);
        if (isIn) require();
        else expect(require).toThrow('may not be used from');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('POST /api-keys/{keyId}/roll', () => {
  const roll = (id: number | string, body?: unknown, by = account) =>
    call(service, 'POST', `/v1/api-keys/${id}/roll`, { account: by, body });

  test('makes another with the same name, permissions and end, and revokes the old one without a body', async () => {
    const fields = {
      name: 'Rolled',
      permissions: ['categories:read'],
      expiresAt: '2099-12-31T23:59:59.000Z',
    };
    const { body: old } = await create(fields);
    expect((await use(old.key)).status).toBe(200);
    const { status, body } = await roll(old.id);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...old,
      id: expect.any(Number),
      key: expect.any(String),
      createdAt: body.createdAt,
    });
    expect(body.id).not.toBe(old.id);
    expect((await use(body.key)).status).toBe(200);
    expectError(await use(old.key), 401, 'invalid_api_key');
    expectError(await roll(old.id), 404, 'api_key_not_found');
  });

  test('leaves the old one valid for the overlap, which never makes it last longer', async () => {
    const { body: old } = await create({ name: 'Overlaps' });
    const begun = Date.now();
    const { body } = await roll(old.id, { overlapSeconds: 2 });
    const answered = Date.now();
    expect(body.expiresAt).toBeUndefined();
    for (let answer = await use(old.key); Date.now() < begun + 2_000; answer = await use(old.key))
      expect(answer.status).toBe(200);
    await sleep(answered + 2_001 - Date.now());
    expectError(await use(old.key), 401, 'invalid_api_key');
    expect((await use(body.key)).status).toBe(200);
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const owner = await createAccount(service);
    const { body: ending } = await create({ name: 'Ends', expiresAt }, owner);
    const { body: next } = await roll(ending.id, { overlapSeconds: 604_800 }, owner);
    expect(next.expiresAt).toBe(expiresAt);
    const ends = (await list(owner)).body.map((one: { expiresAt: string }) => one.expiresAt);
    expect(ends).toEqual([expiresAt, expiresAt]);
  });

  test.each([-1, 604_801, 1.5, '60', null])('refuses an overlap of %s seconds', async (overlapSeconds) => {
    const { body } = await create({ name: 'Kept' });
    expectError(await roll(body.id, { overlapSeconds }), 400, 'validation_failed');
    expect((await use(body.key)).status).toBe(200);
  });

  test('does not find the key of another account', async () => {
    const { body } = await create({ name: 'Mine' });
    expectError(await roll(body.id, undefined, await createAccount(service)), 404, 'api_key_not_found');
    expect((await use(body.key)).status).toBe(200);
  });
});

describe('The hour in which a key was last used', () => {
  test('is told once it has been, and written once', async () => {
    const owner = await createAccount(service);
    const { body } = await create({ name: 'Used' }, owner);
    expect(body.lastUsedAt).toBeUndefined();
    expect((await list(owner)).body[0].lastUsedAt).toBeUndefined();
    const hours = [hourOf(Date.now())];
    const rows = () => query(service.databaseUrl, 'SELECT xmin FROM api_keys WHERE id = $1', [body.id]);
    await use(body.key);
    await eventually(async () => (await list(owner)).body[0].lastUsedAt !== undefined);
    const before = await rows();
    await Promise.all(Array.from({ length: 20 }, () => use(body.key)));
    await sleep(1_000);
    await use(body.key);
    hours.push(hourOf(Date.now()));
    // The beginning of the hour, though the key was made after it.
    expect(hours).toContain((await list(owner)).body[0].lastUsedAt);
    if (hours[0] === hours[1]) expect(await rows()).toEqual(before);
  });

  const hourOf = (time: number) => `${new Date(time).toISOString().slice(0, 13)}:00:00.000Z`;
});

test('An account has at most 1,000 keys, however many are asked for at once', async () => {
  const owner = await createAccount(service);
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
  const path = `/v1/api-keys/${id}/roll`;
  const overlap = { account: owner, body: { overlapSeconds: 1 } };
  expectError(await call(service, 'POST', path, overlap), 409, 'too_many_api_keys');
  expect((await call(service, 'POST', path, { account: owner })).status).toBe(201);
});
