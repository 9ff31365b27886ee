import { argon2Sync } from 'node:crypto';
import {
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  send,
  TIMESTAMP,
} from '../src/testing/client.js';
import {
  createDatabase,
  everythingStored,
  query,
  type Service,
  startService,
} from '../src/testing/service.js';

const PASSWORD = 'correct horse battery';

let service: Service;
let account: Credentials;

beforeAll(async () => {
  service = await startService({ AUTH_LIMIT_PER_MINUTE: '0' });
  account = await createAccount(service);
});
afterAll(() => service.stop());

let emails = 0;
const newEmail = () => `user${++emails}@example.com`;
const signUp = (body: unknown) => call(service, 'POST', '/v1/accounts', { body });
const logIn = (Authorization: string) => call(service, 'GET', '/v1/api-keys', { headers: { Authorization } });
const logInAs = (email: string, password: string) => logIn(basic(`${email}:${password}`));
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('POST /accounts', () => {
  test('answers 201 with exactly id, email and createdAt', async () => {
    const email = newEmail();
    const before = Date.now();
    const { status, body } = await signUp({ email, password: PASSWORD });
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), email, createdAt: expect.stringMatching(TIMESTAMP) });
    expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.createdAt)).toBeLessThanOrEqual(Date.now() + 1);
  });

  test('needs no credentials, and ignores any', async () => {
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

  test('stores only an argon2id hash of the password', async () => {
    const password = 'only this account has this one';
    const { body } = await signUp({ email: newEmail(), password });
    const [row] = await query<{ hash: string }>(
      service.databaseUrl,
      'SELECT password_hash AS hash FROM accounts WHERE id = $1',
      [body.id],
    );
    const [, salt, tag] =
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([\w+/]{22})\$([\w+/]{43})$/.exec(row!.hash) ?? [];
    const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
    const nonce = Buffer.from(salt!, 'base64');
    expect(argon2Sync('argon2id', { ...cost, message: password, nonce })).toEqual(
      Buffer.from(tag!, 'base64'),
    );
    expect(await everythingStored(service)).not.toContain(password);
  });

  test('salts each hash', async () => {
    const password = 'two accounts have this one';
    const ids: number[] = [];
    for (const email of [newEmail(), newEmail()]) ids.push((await signUp({ email, password })).body.id);
    const rows = await query<{ hash: string }>(
      service.databaseUrl,
      'SELECT password_hash AS hash FROM accounts WHERE id = ANY($1)',
      [ids],
    );
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(2);
    expect(new Set(rows.map(({ hash }) => hash.split('$')[4])).size).toBe(2);
  });

  test.each([
    ['Grace.Hopper@Example.com', 'grace.hopper@eXAMPLE.COM'],
    ["o'neill+a_b@mail.example.co.uk", "O'NEILL+A_B@mail.example.co.uk"],
  ])('returns %s as sent, and refuses the same in another case', async (email, again) => {
    const { status, body } = await signUp({ email, password: PASSWORD });
    expect([status, body.email]).toEqual([201, email]);
    expectError(await signUp({ email: again, password: 'another password' }), 409, 'account_exists');
    expect((await logInAs(again, PASSWORD)).status).toBe(200);
  });

  test('accepts one of many simultaneous accounts with one email', async () => {
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
  ])('accepts a password of %s, which then logs in', async (_what, password) => {
    const email = newEmail();
    expect((await signUp({ email, password })).status).toBe(201);
    expect((await logInAs(email, password)).status).toBe(200);
    expectError(await logInAs(email, password.slice(0, -2)), 401, 'invalid_credentials');
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
    'adé@example.com',
    'ada@\u200bexample.com',
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
  test('accepts the scheme and the email in any case', async () => {
    const text = `${account.email.toUpperCase()}:${PASSWORD}`;
    expect((await logIn(basic(text))).status).toBe(200);
    expect((await logIn(basic(text).replace('Basic', 'bASIC'))).status).toBe(200);
  });

  test.each([
    ['no header', () => ''],
    ['a wrong password', () => basic(`${account.email}:wrong horse battery`)],
    ['a password in another case', () => basic(`${account.email}:${PASSWORD.toUpperCase()}`)],
    ['an unknown email', () => basic(`nobody@example.com:${PASSWORD}`)],
    ['no password', () => basic(`${account.email}:`)],
    ['no colon', () => basic(account.email)],
    ['no email', () => basic(`:${PASSWORD}`)],
    ['nothing behind the scheme', () => 'Basic'],
    ['no Base64', () => 'Basic ***'],
    ['no scheme', () => basic(`${account.email}:${PASSWORD}`).slice(6)],
    ['NUL in the email', () => basic(`${account.email}\0:${PASSWORD}`)],
    ['NUL in the password', () => basic(`${account.email}:${PASSWORD}\0`)],
    ['bytes that are not UTF-8', () => `Basic ${Buffer.from('\xff\xfe:\xff', 'latin1').toString('base64')}`],
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

  test('knows an email by its ASCII letters alone, which no other letter stands for', async () => {
    // PostgreSQL has `i` as the lower case of the first, and `k` as that of the Kelvin sign.
    const email = `iris.k${newEmail()}`;
    expect((await signUp({ email, password: PASSWORD })).status).toBe(201);
    expect((await logInAs(email.replace('iris.k', 'IRIS.K'), PASSWORD)).status).toBe(200);
    for (const alike of ['\u0130ris.k', 'iris.\u212a', '\u0131ris.k', 'iri\u017f.k'])
      expectError(await logInAs(email.replace('iris.k', alike), PASSWORD), 401, 'invalid_credentials');
  });

  test('knows an email in any case in a Turkish database too, which has another lower case of I', async () => {
    const turkish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C'";
    const there = await startService({ DATABASE_URL: await createDatabase(turkish) });
    const [lower] = await query<{ i: string }>(there.databaseUrl, `SELECT lower('I') AS i`);
    expect(lower!.i).toBe('\u0131');
    const signUpThere = (email: string) =>
      call(there, 'POST', '/v1/accounts', { body: { email, password: PASSWORD } });
    const first = await signUpThere('INFO@example.com');
    const second = await signUpThere('info@example.com');
    const credentials = { email: 'Info@example.com', password: PASSWORD };
    const logged = await call(there, 'GET', '/v1/api-keys', { account: credentials });
    await there.stop();
    expect([first, second, logged].map(({ status }) => status)).toEqual([201, 409, 200]);
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
      expectError(
        await call(service, 'POST', '/v1/api-keys', { account: wrong, body }),
        401,
        'invalid_credentials',
      );
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
