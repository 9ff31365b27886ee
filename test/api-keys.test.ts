import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Client } from 'pg';
import {
  type Answer,
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  TIMESTAMP,
  expectRevoked,
} from './support/client.js';
import { nextOf, walk } from './support/paging.js';
import { everythingStored, type Service, startService } from './support/service.js';

/** Well-formed, but of no account. */
const UNKNOWN_KEY = `petstore_${'0'.repeat(40)}${checksum('0'.repeat(40))}`;

let service: Service;
let account: Credentials;

beforeAll(async () => {
  service = await startService({ AUTH_LIMIT_PER_MINUTE: '0' });
  account = await createAccount(service);
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

describe('POST /api-keys', () => {
  test('answers 201 with exactly id, name, createdAt and the key, which works', async () => {
    const { status, body } = await create({ name: 'My first key' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'My first key',
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
    expect(body).toEqual(created.map(({ id, name, createdAt }) => ({ id, name, createdAt })));
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

  test('with any one character mistyped is refused without asking the database', async () => {
    const key = await createKey(service, account);
    await withTableLocked('api_keys', async () => {
      for (let i = 0; i < key.length; i++) {
        const mistyped = key.slice(0, i) + (key[i] === '0' ? '1' : '0') + key.slice(i + 1);
        expectError(await use(mistyped), 401, 'invalid_api_key');
      }
      expectError(await use(UNKNOWN_KEY), 503, 'service_unavailable');
    });
    expectError(await use(UNKNOWN_KEY), 401, 'invalid_api_key');
  });
});

/** Keeps every query on a table waiting while `run` runs. */
async function withTableLocked(table: string, run: () => Promise<void>): Promise<void> {
  const database = new Client({ connectionString: service.databaseUrl });
  await database.connect();
  try {
    await database.query(`BEGIN; LOCK TABLE ${table}`);
    await run();
  } finally {
    await database.end();
  }
}

/** An answer as one text, without what identifies the request. */
function withoutRequestId({ status, headers, text }: Answer): string {
  const others = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return JSON.stringify([status, others, text]);
}

describe('DELETE /api-keys/{keyId}', () => {
  let other: Service;
  beforeAll(async () => {
    other = await startService({ DATABASE_URL: service.databaseUrl });
  });
  afterAll(() => other.stop());

  test('answers 204, and the same instance refuses the key from then on', async () => {
    const { body } = await create({ name: 'Busy' });
    const uses = Array.from({ length: 20 }, () => use(body.key));
    const { status, text } = await revoke(body.id);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await Promise.all(uses);
    expectError(await use(body.key), 401, 'invalid_api_key');
  });

  test('makes every other instance refuse the key within a second of the answer', async () => {
    const { body } = await create({ name: 'Everywhere' });
    expect((await use(body.key, other)).status).toBe(200);
    await revoke(body.id);
    await expectRevoked(async () => [await use(body.key, other)]);
    expectError(await use(body.key, other), 401, 'invalid_api_key');
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

  test('answers 204, and every instance refuses the key within a second', async () => {
    const { body } = await create({ name: 'Stolen' });
    expect((await use(body.key, other)).status).toBe(200);
    const { status, text } = await revokeItself(body.key);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await expectRevoked(async () => [await use(body.key, other)]);
    expectError(await revokeItself(body.key, other), 401, 'invalid_api_key');
    expect((await list(account)).body).not.toContainEqual(expect.objectContaining({ id: body.id }));
  });

  test('refuses a key that another instance has revoked, although this one does not know yet', async () => {
    const { body } = await create({ name: 'Twice' });
    expect((await use(body.key, other)).status).toBe(200);
    await revokeItself(body.key);
    const again = await revokeItself(body.key, other);
    expectError(again, 401, 'invalid_api_key');
    expect(again.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
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
