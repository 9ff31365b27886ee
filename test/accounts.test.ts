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
  send,
  TIMESTAMP,
} from './support/client.js';
import { nextOf, walk } from './support/paging.js';
import { query, type Service, startService } from './support/service.js';

const PASSWORD = 'correct horse battery';
const UNKNOWN_KEY = `petstore_${'0'.repeat(40)}${crc32('0'.repeat(40)).toString(16).padStart(8, '0')}`;

let service: Service;
let account: Credentials & { id: number };

beforeAll(async () => {
  service = await startService({ AUTH_LIMIT_PER_MINUTE: '0' });
  account = await createAccount(service);
});
afterAll(() => service.stop());

let emails = 0;
const newEmail = () => `user${++emails}@example.com`;
const signUp = (body: unknown) => call(service, 'POST', '/v1/accounts', { body });
const createKeyBy = (body: unknown, by: Credentials = account) =>
  call(service, 'POST', '/v1/api-keys', { account: by, body });
const listKeys = (by: Credentials, search = '') =>
  call(service, 'GET', `/v1/api-keys${search}`, { account: by });
const revoke = (id: number | string, by: Credentials = account) =>
  call(service, 'DELETE', `/v1/api-keys/${id}`, { account: by });
const use = (key: string, at = service) => call(at, 'GET', '/v1/categories?limit=1', { key });
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const logIn = (Authorization: string) => call(service, 'GET', '/v1/api-keys', { headers: { Authorization } });

/** Every row of every table as text, in which bytes are hexadecimal. */
async function everythingStored(): Promise<string> {
  const tables = await query<{ name: string }>(
    service.databaseUrl,
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const rows = tables.map(({ name }) =>
    query(service.databaseUrl, `SELECT to_jsonb(t)::text FROM ${name} t`),
  );
  return JSON.stringify(await Promise.all(rows));
}

describe('POST /accounts', () => {
  test('answers 201 with exactly id, email and createdAt', async () => {
    const email = newEmail();
    const before = Date.now();
    const { status, body } = await signUp({ email, password: PASSWORD });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), email, createdAt: expect.stringMatching(TIMESTAMP) });
    expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.createdAt)).toBeLessThanOrEqual(Date.now());
  });

  test('needs no credentials, and does not look at any', async () => {
    const body = { email: newEmail(), password: PASSWORD };
    const headers = { Authorization: 'Bearer nonsense' };
    expect((await call(service, 'POST', '/v1/accounts', { body, headers })).status).toBe(201);
  });

  test('never uses an id that the client supplies, and ignores properties that it does not know', async () => {
    const { status, body } = await signUp({
      id: 7_000_000,
      email: newEmail(),
      password: PASSWORD,
      admin: true,
    });
    expect(status).toBe(201);
    expect(body.id).toBeLessThan(7_000_000);
    expect(Object.keys(body)).toEqual(['id', 'email', 'createdAt']);
  });

  test('stores the password as an argon2id hash alone', async () => {
    const password = 'only this account has this one';
    const { body } = await signUp({ email: newEmail(), password });
    const [row] = await query<{ hash: string }>(
      service.databaseUrl,
      'SELECT password_hash AS hash FROM accounts WHERE id = $1',
      [body.id],
    );
    expect(row!.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await everythingStored()).not.toContain(password);
  });

  test('salts each hash', async () => {
    const hashes = await query(service.databaseUrl, 'SELECT DISTINCT password_hash FROM accounts');
    const accounts = await query(service.databaseUrl, 'SELECT id FROM accounts');
    expect(hashes).toHaveLength(accounts.length);
  });

  test.each([
    ['Grace.Hopper@Example.com', 'grace.hopper@eXAMPLE.COM'],
    ["o'neill+a_b@mail.example.co.uk", "O'NEILL+A_B@mail.example.co.uk"],
  ])('gives %s back as sent, and refuses the same in other letters', async (email, again) => {
    const { status, body } = await signUp({ email, password: PASSWORD });
    expect([status, body.email]).toEqual([201, email]);
    expectError(await signUp({ email: again, password: 'another password' }), 409, 'account_exists');
    expect((await listKeys({ email: again, password: PASSWORD })).status).toBe(200);
  });

  test('takes one of many simultaneous accounts with one email', async () => {
    const cases = ['ada@example.org', 'Ada@example.org', 'ADA@EXAMPLE.ORG', 'ada@Example.Org'];
    const all = [...cases, ...cases, ...cases].map((email) => signUp({ email, password: PASSWORD }));
    const refused = (await Promise.all(all)).filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(11);
    for (const answer of refused) expectError(answer, 409, 'account_exists');
  });

  test.each([
    ['12 letters', 'x'.repeat(12)],
    ['128 letters', 'x'.repeat(128)],
    ['12 emoji', '🐈'.repeat(12)],
    ['128 emoji', '🐈'.repeat(128)],
    ['white space', ' '.repeat(12)],
    ['colons and accents', 'pass:wörd:pāss'],
  ])('takes a password of %s, which then logs in', async (_what, password) => {
    const email = newEmail();
    expect((await signUp({ email, password })).status).toBe(201);
    expect((await listKeys({ email, password })).status).toBe(200);
    expectError(await listKeys({ email, password: password.slice(0, -2) }), 401, 'invalid_credentials');
  });

  test.each([
    ['11 letters', 'x'.repeat(11)],
    ['129 letters', 'x'.repeat(129)],
    ['11 emoji', '🐈'.repeat(11)],
    ['129 emoji', '🐈'.repeat(129)],
    ['NUL', 'correct\0horse'],
    ['a lone surrogate', 'correct horse\ud800'],
    ['null', null],
    ['a number', 123_456_789_012],
    ['an array', [PASSWORD]],
    ['nothing', undefined],
  ])('refuses a password of %s', async (_what, password) => {
    const answer = await signUp({ email: newEmail(), password });
    expect(expectError(answer, 400, 'validation_failed')).toMatch(/^password /);
    expect(answer.text).not.toContain('horse');
  });

  test.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@example',
    'ada@@example.com',
    'a@b@example.com',
    'ada..l@example.com',
    ' ada@example.com',
    'ada@example.com ',
    'ada@example.com\n',
    'ada lovelace@example.com',
    'Ada <ada@example.com>',
    'ada:l@example.com',
    'ada@exam_ple.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a.'.repeat(124)}com`,
    'a\0da@example.com',
    'ada\udfff@example.com',
    null,
    5,
    true,
    ['ada@example.com'],
    undefined,
  ])('refuses the email %j', async (email) => {
    const message = expectError(await signUp({ email, password: PASSWORD }), 400, 'validation_failed');
    expect(message).toMatch(/^email (?:is required|must be an email address)\.$/);
  });

  test('names every bad field', async () => {
    const message = expectError(await signUp({ email: 'x', password: 'x' }), 400, 'validation_failed');
    expect(message).toMatch(/email must be .*; password must be /);
  });
});

describe('HTTP Basic', () => {
  test('takes the scheme and the email in any case', async () => {
    const text = `${account.email.toUpperCase()}:${PASSWORD}`;
    expect((await logIn(basic(text))).status).toBe(200);
    expect((await logIn(basic(text).replace('Basic', 'bASIC'))).status).toBe(200);
  });

  test.each([
    ['no header', () => ''],
    ['a wrong password', () => basic(`${account.email}:wrong horse battery`)],
    ['a password in other letters', () => basic(`${account.email}:${PASSWORD.toUpperCase()}`)],
    ['an unknown email', () => basic(`nobody@example.com:${PASSWORD}`)],
    ['no password', () => basic(`${account.email}:`)],
    ['no colon', () => basic(account.email)],
    ['no email', () => basic(`:${PASSWORD}`)],
    ['nothing behind the scheme', () => 'Basic'],
    ['no Base64', () => 'Basic ***'],
    ['no scheme', () => basic(`${account.email}:${PASSWORD}`).slice(6)],
    ['NUL in the email', () => basic(`${account.email}\0:${PASSWORD}`)],
    ['NUL in the password', () => basic(`${account.email}:${PASSWORD}\0`)],
    ['bytes that are no UTF-8', () => `Basic ${Buffer.from('\xff\xfe:\xff', 'latin1').toString('base64')}`],
    ['a wildcard', () => basic(`%:${PASSWORD}`)],
    ['a password of 10 kB', () => basic(`${account.email}:${'x'.repeat(7000)}`)],
  ])('refuses %s', async (_what, authorization) => {
    const answer = await logIn(authorization());
    expectError(answer, 401, 'invalid_credentials');
    expect(answer.text).toBe(
      '{"code":"invalid_credentials","message":"The email and password are missing or wrong.","status":401}',
    );
    expect(answer.headers.get('www-authenticate')).toBe('Basic realm="petstore", charset="UTF-8"');
  });

  test('refuses two Authorization headers, even with the same credentials', async () => {
    const good = `Authorization: ${basic(`${account.email}:${PASSWORD}`)}\r\n`;
    const end = 'Host: x\r\nConnection: close\r\n\r\n';
    const ask = (headers: string) =>
      send(service, `GET /v1/api-keys HTTP/1.1\r\n${headers}${end}`, { path: '/v1/api-keys' });
    expect((await ask(good)).status).toBe(200);
    expectError(await ask(good + good), 401, 'invalid_credentials');
    expectError(await ask(`${good}Authorization: Bearer x\r\n`), 401, 'invalid_credentials');
  });

  test('is checked before the body is looked at', async () => {
    const wrong = { ...account, password: 'wrong horse battery' };
    for (const body of ['{', { name: '' }, 'x'.repeat(200_000)]) {
      expectError(await createKeyBy(body, wrong), 401, 'invalid_credentials');
    }
  });

  test('is the only way to API keys: a key does not open them', async () => {
    const key = await createKey(service, account);
    for (const [method, path] of [
      ['GET', '/v1/api-keys'],
      ['POST', '/v1/api-keys'],
      ['DELETE', '/v1/api-keys/1'],
    ] as const) {
      const answer = await call(service, method, path, { key });
      expectError(answer, 401, 'invalid_credentials');
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    }
  });

  test('opens nothing else', async () => {
    const answer = await call(service, 'GET', '/v1/pets', { account });
    expectError(answer, 401, 'missing_api_key');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
  });
});

describe('POST /api-keys', () => {
  test('answers 201 with exactly id, name, createdAt and the key, which works', async () => {
    const { status, body } = await createKeyBy({ name: 'My first key' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'My first key',
      createdAt: expect.stringMatching(TIMESTAMP),
      key: expect.any(String),
    });
    expect((await use(body.key)).status).toBe(200);
  });

  test('gives a key of a prefix, 160 random bits and a checksum', async () => {
    const keys = [await createKey(service, account), await createKey(service, account)];
    for (const key of keys) {
      const [, random, checksum] = /^petstore_([\da-f]{40})([\da-f]{8})$/.exec(key) ?? [];
      expect(checksum).toBe(crc32(random!).toString(16).padStart(8, '0'));
    }
    expect(keys[0]!.slice(0, 49)).not.toBe(keys[1]!.slice(0, 49));
  });

  test('stores the SHA-256 of the key, and the key nowhere', async () => {
    const key = await createKey(service, account);
    const stored = await everythingStored();
    expect(stored).toContain(createHash('sha256').update(key).digest('hex'));
    expect(stored).not.toContain(key.slice(9, 49));
    expect(stored).not.toContain(Buffer.from(key).toString('hex'));
    expect(service.output()).not.toContain(key.slice(9, 49));
  });

  test.each(['2099-12-31T23:59:59Z', '2099-12-31T23:59:59.999+02:00', '9999-12-31T23:59:59.999Z'])(
    'takes the end %s and gives it back in UTC, at once and in the list',
    async (expiresAt) => {
      const owner = await createAccount(service);
      const { status, body } = await createKeyBy({ name: 'Ends', expiresAt }, owner);
      expect([status, body.expiresAt]).toEqual([201, new Date(expiresAt).toISOString()]);
      expect((await listKeys(owner)).body[0].expiresAt).toBe(body.expiresAt);
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
    ['a day that there is not', { name: 'x', expiresAt: '2099-02-29T00:00:00Z' }],
    ['a month that there is not', { name: 'x', expiresAt: '2099-13-01T00:00:00Z' }],
    ['an hour that there is not', { name: 'x', expiresAt: '2099-01-01T24:00:00Z' }],
    ['an end beyond the year 9999', { name: 'x', expiresAt: '9999-12-31T23:59:59-23:59' }],
    ['an end that is a number', { name: 'x', expiresAt: 4_070_908_800 }],
    ['an end that is a word', { name: 'x', expiresAt: 'tomorrow' }],
  ])('refuses %s', async (_what, body) => {
    expectError(await createKeyBy(body), 400, 'validation_failed');
  });
});

describe('GET /api-keys', () => {
  test('answers with the keys of the account alone, and never with a key itself', async () => {
    const owner = await createAccount(service);
    expect((await listKeys(owner)).text).toBe('[]');
    const created = [
      (await createKeyBy({ name: 'a' }, owner)).body,
      (await createKeyBy({ name: 'b' }, owner)).body,
    ];
    await createKeyBy({ name: 'of another' });
    const { status, body, text } = await listKeys(owner);
    expect(status).toBe(200);
    expect(body).toEqual(created.map(({ id, name, createdAt }) => ({ id, name, createdAt })));
    expect(text).not.toContain('petstore_');
  });

  test('shows every key exactly once over its pages', async () => {
    const owner = await createAccount(service);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await createKeyBy({ name }, owner);
    const first = await listKeys(owner, '?limit=2');
    expect(nextOf(first)!.href).toMatch(`${service.url}/v1/api-keys?limit=2&cursor=`);
    const all = await walk<{ name: string }>(service, '/v1/api-keys?limit=2', { account: owner });
    expect(all.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect((await listKeys(owner, '?limit=5')).headers.get('link')).toBeNull();
  });
});

describe('An API key', () => {
  test('that is unknown, malformed, expired or revoked is refused alike', async () => {
    const { body: ending } = await createKeyBy({
      name: 'Ends',
      expiresAt: new Date(Date.now() + 200).toISOString(),
    });
    const { body: revoked } = await createKeyBy({ name: 'Revoked' });
    await revoke(revoked.id);
    await sleep(250);
    const keys = [UNKNOWN_KEY, 'nonsense', ending.key, revoked.key, revoked.key.toUpperCase()];
    const answers = await Promise.all(keys.map((key) => use(key)));
    for (const answer of answers) {
      expectError(answer, 401, 'invalid_api_key');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
    }
    expect(new Set(answers.map(withoutRequestId)).size).toBe(1);
  });

  test('that ends works until its end, also where it was just used, and not after', async () => {
    const expiresAt = new Date(Date.now() + 1500);
    const { body } = await createKeyBy({ name: 'Ends', expiresAt: expiresAt.toISOString() });
    while (Date.now() < expiresAt.getTime() - 100) expect((await use(body.key)).status).toBe(200);
    await sleep(expiresAt.getTime() + 1 - Date.now());
    expectError(await use(body.key), 401, 'invalid_api_key');
  });

  test('with any one character mistyped is refused without asking the database', async () => {
    const key = await createKey(service, account);
    const database = new Client({ connectionString: service.databaseUrl });
    await database.connect();
    await database.query('BEGIN; LOCK TABLE api_keys');
    for (let i = 0; i < key.length; i++) {
      const mistyped = key.slice(0, i) + (key[i] === '0' ? '1' : '0') + key.slice(i + 1);
      expectError(await use(mistyped), 401, 'invalid_api_key');
    }
    expectError(await use(UNKNOWN_KEY), 503, 'service_unavailable');
    await database.end();
    expectError(await use(UNKNOWN_KEY), 401, 'invalid_api_key');
  });
});

/** An answer as one text, but for what names the one request. */
function withoutRequestId({ status, headers, text }: Answer): string {
  const others = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return JSON.stringify([status, others, text]);
}

describe('DELETE /api-keys/{keyId}', () => {
  test('answers 204, and the same instance refuses the key from then on', async () => {
    const { body } = await createKeyBy({ name: 'Busy' });
    const uses = Array.from({ length: 20 }, () => use(body.key));
    const { status, text } = await revoke(body.id);
    expect([status, text]).toEqual([204, '']);
    expectError(await use(body.key), 401, 'invalid_api_key');
    await Promise.all(uses);
    expectError(await use(body.key), 401, 'invalid_api_key');
  });

  test('makes every other instance refuse the key within a second of the answer', async () => {
    const other = await startService({ DATABASE_URL: service.databaseUrl });
    const { body } = await createKeyBy({ name: 'Everywhere' });
    expect((await use(body.key, other)).status).toBe(200);
    await revoke(body.id);
    const answered = Date.now();
    while ((await use(body.key, other)).status === 200) expect(Date.now() - answered).toBeLessThan(1000);
    expectError(await use(body.key, other), 401, 'invalid_api_key');
    await other.stop();
  });

  test('leaves the other keys of the account', async () => {
    const [first, second] = [await createKeyBy({ name: '1' }), await createKeyBy({ name: '2' })];
    await revoke(first.body.id);
    expect((await use(second.body.key)).status).toBe(200);
  });

  test('answers 404 for a key of another account, which goes on to work', async () => {
    const { body } = await createKeyBy({ name: 'Mine' });
    expectError(await revoke(body.id, await createAccount(service)), 404, 'api_key_not_found');
    expect((await use(body.key)).status).toBe(200);
  });

  test('answers 404 for a key that is not there, or no longer', async () => {
    const { body } = await createKeyBy({ name: 'Twice' });
    await revoke(body.id);
    for (const id of [body.id, 0, -1, '9223372036854775807']) {
      expectError(await revoke(id), 404, 'api_key_not_found');
    }
  });

  test.each(['9223372036854775808', 'x', '1.0', '007', '%201'])(
    'answers 400 for %s, which is no int64',
    async (id) => {
      expectError(await revoke(id), 400, 'validation_failed');
    },
  );
});
