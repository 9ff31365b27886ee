import { argon2Sync, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Answer,
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  TIMESTAMP,
} from '../src/testing/client.js';
import {
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../src/testing/service.js';
import { hashSecret, INVITATIONS, newSecret } from '../src/auth/secret.js';
import { Customer, times, untilServed } from './support/customer.js';
import { behind } from './support/held.js';
import { admin } from './support/commands.js';
import { eventually } from './support/npm.js';
import { storedOf } from './support/stored.js';

const PASSWORD = 'correct horse battery';
const CURRENT = '/v1/accounts/current';
const ALLOWED = ['pets:read', 'orders:read', 'orders:write'];
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

const service: TestedService = sharedService();
/** Another instance on the same database, behind a proxy. Newcomers need an invitation there, and may do less. */
let other: Service;
let account: Credentials & { id: number };

beforeAll(async () => {
  const limits = { SIGN_UP: 'invite', ACCOUNT_PERMISSIONS: ALLOWED.join(',') };
  other = await startService({ DATABASE_URL: service.databaseUrl, ROLE: 'api', TRUST_PROXY: '1', ...limits });
  account = await createAccount(service);
});
afterAll(() => other.stop());

const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;
const newcomer = () => ({ email: newEmail(), password: PASSWORD });
const signUp = (body: unknown, at = service) => call(at, 'POST', '/v1/accounts', { body });
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const logIn = (Authorization: string) => call(service, 'GET', CURRENT, { headers: { Authorization } });
const get = (by: Credentials, at = service) => call(at, 'GET', CURRENT, { account: by });
const change = (by: Credentials, body: unknown) => call(service, 'PATCH', CURRENT, { account: by, body });
const close = (by: Credentials) => call(service, 'DELETE', CURRENT, { account: by });
const list = (key: string, at = service) => call(at, 'GET', '/v1/pets?limit=1', { key });
async function hashOf(id: number): Promise<string> {
  const sql = 'SELECT password_hash AS hash FROM accounts WHERE id = $1';
  return (await query<{ hash: string }>(service.databaseUrl, sql, [id]))[0]!.hash;
}

describe('POST /accounts', () => {
  test('answers 201 with exactly id, email and createdAt, whatever credentials the request carries', async () => {
    const body = newcomer();
    const headers = { Authorization: 'Bearer nonsense' };
    const before = Date.now();
    const { status, body: made } = await call(service, 'POST', '/v1/accounts', { body, headers });
    expect(status).toBe(201);
    const { email } = body;
    expect(made).toEqual({ id: expect.any(Number), email, createdAt: expect.stringMatching(TIMESTAMP) });
    expect(Date.parse(made.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(made.createdAt)).toBeLessThanOrEqual(Date.now() + 1);
  });

  test('stores only an argon2id hash of the password, each with its own salt', async () => {
    const password = `two accounts have ${randomUUID()}`;
    const hashes = await times(2, async () =>
      hashOf((await signUp({ email: newEmail(), password })).body.id),
    );
    const salts = hashes.map((hash) => {
      const [, salt, tag] =
        /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([\w+/]{22})\$([\w+/]{43})$/.exec(hash) ?? [];
      const nonce = Buffer.from(salt!, 'base64');
      const expected = argon2Sync('argon2id', { ...COST, message: password, nonce });
      expect(Buffer.from(tag!, 'base64')).toEqual(expected);
      return salt;
    });
    expect(salts[0]).not.toBe(salts[1]);
    expect(await storedOf(service, [password])).toEqual([]);
  });

  test('creates one account from simultaneous requests that spell one email in different cases; any case logs in', async () => {
    const name = `o'neill+a_b-${randomBytes(4).toString('hex')}`;
    const hosts = ['Mail.example.co.uk', 'mail.example.co.uk', 'MAIL.EXAMPLE.CO.UK'];
    const emails = hosts.map((host, i) => `${i ? name : name.toUpperCase()}@${host}`);
    const answers = await Promise.all(emails.map((email) => signUp({ email, password: PASSWORD })));
    const [made, ...refused] = answers.toSorted((a, b) => a.status - b.status);
    expect([made!.status, emails]).toEqual([201, expect.arrayContaining([made!.body.email])]);
    for (const answer of refused) expectError(answer, 409, 'account_exists');
    for (const email of emails) expect((await get({ email, password: PASSWORD })).status).toBe(200);
  });

  test.each(['🐈'.repeat(12), 'x'.repeat(128), ' '.repeat(12), 'pass:wörd:pāss'])(
    'accepts the password %j, and only that password logs in',
    async (password) => {
      const email = newEmail();
      expect((await signUp({ email, password })).status).toBe(201);
      expect((await get({ email, password })).status).toBe(200);
      expectError(await get({ email, password: password.slice(0, -2) }), 401, 'invalid_credentials');
    },
  );

  test.each(['x'.repeat(11), '🐈'.repeat(11), '🐈'.repeat(129), 'correct\0horse', 'correct horse\ud800'])(
    'refuses the password %j, and does not repeat it',
    async (password) => {
      const answer = await signUp({ email: newEmail(), password });
      expect(expectError(answer, 400, 'validation_failed')).toMatch(/^password /);
      expect(answer.text).not.toContain('horse');
    },
  );

  test.each([
    ...['ada..l@example.com', ' ada@example.com', 'Ada <ada@example.com>', 'ada@exam_ple.com'],
    ...['adé@example.com', `ada@${'a.'.repeat(124)}com`],
  ])('refuses the email %j', async (email) => {
    const message = expectError(await signUp({ email, password: PASSWORD }), 400, 'validation_failed');
    expect(message).toBe('email must be an email address of at most 254 ASCII characters.');
  });
});

describe('HTTP Basic', () => {
  test('accepts the scheme and the email in any case, and no other letter for one of ASCII', async () => {
    const email = `iris.k${newEmail()}`;
    expect((await signUp({ email, password: PASSWORD })).status).toBe(201);
    const text = basic(`${email.toUpperCase()}:${PASSWORD}`);
    expect((await logIn(text.replace('Basic', 'bASIC'))).status).toBe(200);
    // PostgreSQL has `i` as the lower case of the first, and `k` as that of the Kelvin sign.
    for (const alike of ['\u0130ris.k', 'iris.\u212a', '\u0131ris.k', 'iri\u017f.k']) {
      const typed = basic(`${email.replace('iris.k', alike)}:${PASSWORD}`);
      expectError(await logIn(typed), 401, 'invalid_credentials');
    }
  });

  test.each([
    ['no header', () => ''],
    ['a password in another case', () => basic(`${account.email}:${PASSWORD.toUpperCase()}`)],
    ['an unknown email', () => basic(`nobody@example.com:${PASSWORD}`)],
    ['no password', () => basic(`${account.email}:`)],
    ['no colon', () => basic(account.email)],
    ['nothing behind the scheme', () => 'Basic'],
    ['no Base64', () => 'Basic ***'],
    ['NUL in the email', () => basic(`${account.email}\0:${PASSWORD}`)],
    ['NUL in the password', () => basic(`${account.email}:${PASSWORD}\0`)],
    ['bytes that are not UTF-8', () => `Basic ${Buffer.from('\xff\xfe:\xff', 'latin1').toString('base64')}`],
    ['a password of 10 kB', () => basic(`${account.email}:${'x'.repeat(7000)}`)],
  ])('refuses %s with the same answer', async (_what, authorization) => {
    const answer = await logIn(authorization());
    expectError(answer, 401, 'invalid_credentials');
    expect(answer.body.message).toBe('The email and password are missing or wrong.');
    expect(answer.headers.get('www-authenticate')).toBe('Basic realm="petstore", charset="UTF-8"');
  });

  test('accepts a password in any Unicode composition, and with an older hash in the composition first sent', async () => {
    const [composed, decomposed] = ['caf\u00e9 on the corner', 'cafe\u0301 on the corner'] as const;
    for (const password of [composed, decomposed]) {
      const by = { email: newEmail(), password };
      expect((await signUp(by)).status).toBe(201);
      for (const typed of [composed, decomposed])
        expect((await get({ ...by, password: typed })).status).toBe(200);
      expectError(await get({ ...by, password: 'cafe on the corner' }), 401, 'invalid_credentials');
      const changed = { ...by, password: `another ${password}` };
      expect((await change(by, { password: changed.password })).status).toBe(200);
      expect((await get({ ...by, password: `another ${composed}` })).status).toBe(200);
    }
    // By 1.x, which hashed the bytes.
    const old = await createAccount(service);
    const nonce = randomBytes(16);
    const tag = argon2Sync('argon2id', { ...COST, message: decomposed, nonce });
    const texts = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
    const hash = `$argon2id$v=19$m=19456,t=2,p=1$${texts.join('$')}`;
    await query(service.databaseUrl, 'UPDATE accounts SET password_hash = $2 WHERE id = $1', [old.id, hash]);
    expect((await get({ ...old, password: decomposed })).status).toBe(200);
    expectError(await get({ ...old, password: composed }), 401, 'invalid_credentials');
  });
});

test('While many passwords of one address are checked, the service checks those of other addresses in between, and answers the excess 503', async () => {
  const logInFrom = (ip: string, password = PASSWORD) => {
    const headers = { 'X-Forwarded-For': ip };
    return call(other, 'GET', CURRENT, { account: { ...account, password }, headers });
  };
  const seen: Answer[] = [];
  const over = new AbortController();
  const flood = times(200, async () => {
    do seen.push(await logInFrom('192.0.2.1', 'wrong horse battery'));
    while (!over.signal.aborted);
  });
  await eventually(() => seen.some(({ status }) => status === 401));
  for (const ip of ['192.0.2.2', '2001:db8::1'])
    expect((await untilServed(() => logInFrom(ip))).status).toBe(200);
  expect((await call(other, 'GET', '/openapi.json')).status).toBe(200);
  await eventually(() => seen.some(({ status }) => status !== 401));
  over.abort();
  await flood;
  for (const answer of seen.filter(({ status }) => status !== 401)) {
    expectError(answer, 503, 'service_unavailable');
    expect(answer.headers.get('retry-after')).toBeTruthy();
  }
});

describe('PATCH /accounts/current', () => {
  test('changes only the email, and answers as GET does; the new email logs in, in any case', async () => {
    const by = await createAccount(service);
    const email = `New.${by.email}`;
    const { status, body } = await change(by, { email });
    expectError(await get(by), 401, 'invalid_credentials');
    const permissions = expect.arrayContaining(['pets:read', 'orders:manage']);
    const shown = { id: by.id, email, createdAt: expect.stringMatching(TIMESTAMP), permissions };
    expect([status, body]).toEqual([200, shown]);
    expect((await get({ ...by, email: email.toUpperCase() })).body).toEqual(body);
    expect((await change({ ...by, email }, { email: email.toLowerCase() })).status).toBe(200);
  });

  test('changes only the password; the keys stay valid unless the request revokes them', async () => {
    const by = await createAccount(service);
    const key = await createKey(service, by);
    const password = `another horse ${randomUUID()}`;
    expect((await change(by, { password })).status).toBe(200);
    expectError(await get(by), 401, 'invalid_credentials');
    const now = { ...by, password };
    expect((await change(now, { revokeKeys: false })).status).toBe(200);
    expect((await list(key)).status).toBe(200);
    expect((await change(now, { revokeKeys: true })).status).toBe(200);
    expectError(await list(key), 401, 'invalid_api_key');
    expect((await list(await createKey(service, now))).status).toBe(200);
    expect(await storedOf(service, [password])).toEqual([]);
  });

  test('refuses the email of another account, in any case, and what names no change, and then changes nothing', async () => {
    const by = await createAccount(service);
    const key = await createKey(service, by);
    const body = { email: account.email.toUpperCase(), password: 'another horse battery', revokeKeys: true };
    expectError(await change(by, body), 409, 'account_exists');
    for (const nothing of [{}, { permissions: ['pets:read'], id: 7 }])
      expectError(await change(by, nothing), 400, 'validation_failed');
    expect((await get(by)).status).toBe(200);
    expect((await list(key)).status).toBe(200);
  });
});

/** Sends the head of a request and, once its credentials were found good, does something else, and a second later sends the body. */
async function slowly(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
  between: () => Promise<Answer>,
): Promise<number> {
  const { hostname, port } = new URL(service.url);
  const expecting = { 'Content-Type': 'application/json', Expect: '100-continue', ...headers };
  const slow = request({ hostname, port, method, path, headers: expecting });
  const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
  slow.flushHeaders();
  await once(slow, 'continue');
  expect((await between()).status).toBeLessThan(300);
  await sleep(1_000);
  slow.end(body);
  const [answer] = await answered;
  return answer.resume().statusCode!;
}

describe('Credentials that were valid when a request began', () => {
  test('are refused if the password changes before the body arrives', async () => {
    const by = await createAccount(service);
    const password = 'another correct horse';
    const headers = { Authorization: basic(`${by.email}:${by.password}`) };
    const theft = '{"password":"the password of a thief"}';
    const status = await slowly('PATCH', CURRENT, headers, theft, () => change(by, { password }));
    expect(status).toBe(401);
    expect((await get({ ...by, password })).status).toBe(200);
  });

  test.each<[string, (by: Credentials, key: string) => Promise<Answer>]>([
    ['its account was closed', close],
    ['it was revoked', (_by, key) => call(service, 'DELETE', '/v1/api-keys/current', { key })],
  ])('are not where they are a key, and %s', async (_what, end) => {
    const by = await createAccount(service);
    const { key } = await Customer.of(service, by);
    const petId = await (await Customer.of(service, account)).addPet('available');
    const headers = { Authorization: `Bearer ${key}` };
    const body = `{"petId":${petId}}`;
    expect(await slowly('POST', '/v1/store/orders', headers, body, () => end(by, key))).toBe(401);
    expect(await (await Customer.of(service, account)).petStatus(petId)).toBe('available');
  });
});

describe('DELETE /accounts/current', () => {
  let next: Customer;
  beforeAll(async () => (next = await Customer.of(service, account)));

  test('closes the account: nothing logs in any more, and its email is free', async () => {
    const by = await createAccount(service);
    const keys = [await createKey(service, by), await createKey(service, by)];
    for (const key of keys) expect((await list(key)).status).toBe(200);
    const { status, text } = await close(by);
    expect([status, text]).toEqual([204, '']);
    for (const key of keys) expectError(await list(key), 401, 'invalid_api_key');
    expectError(await get(by), 401, 'invalid_credentials');
    const again = await signUp({ email: by.email, password: by.password });
    expect([again.status, again.body.id === by.id]).toEqual([201, false]);
  });

  test('cancels its open orders, however many, whose animals are available again, and answers none of its orders', async () => {
    const by = await createAccount(service);
    const customer = await Customer.of(service, by);
    const placed = await customer.orderAt('placed');
    const approved = await customer.orderAt('approved');
    const delivered = await customer.orderAt('delivered');
    // More than one statement can cancel.
    const name = randomUUID();
    await query(
      service.databaseUrl,
      `WITH animals AS (
         INSERT INTO pets (name, category_id, status) SELECT $2, 1, 'pending' FROM generate_series(1, 1200)
         RETURNING id)
       INSERT INTO orders (account_id, pet_id, status) SELECT $1, id, 'placed' FROM animals`,
      [by.id, name],
    );
    expect((await close(by)).status).toBe(204);
    const open = `SELECT status FROM orders WHERE account_id = $1 AND status IN ('placed', 'approved')
       UNION ALL SELECT status FROM pets WHERE name = $2 AND status <> 'available'`;
    expect(await query(service.databaseUrl, open, [by.id, name])).toEqual([]);
    const orders = [placed, approved, delivered];
    const statuses = await Promise.all(orders.map(({ petId }) => next.petStatus(petId)));
    expect(statuses).toEqual(['available', 'available', 'sold']);
    expect((await next.place(placed.petId)).status).toBe(201);
    for (const { id } of orders) expectError(await next.get(id), 404, 'order_not_found');
  });

  test('leaves an order delivered that another transaction delivers at the same moment', async () => {
    const by = await createAccount(service);
    const { id, petId } = await (await Customer.of(service, by)).orderAt('approved');
    const deliver = `UPDATE orders SET status = 'delivered' WHERE id = ${id}; UPDATE pets SET status = 'sold' WHERE id = ${petId}`;
    expect((await behind(service, deliver, () => close(by))).status).toBe(204);
    const [left] = await query(service.databaseUrl, 'SELECT status FROM orders WHERE id = $1', [id]);
    expect(left).toEqual({ status: 'delivered' });
    expect(await next.petStatus(petId)).toBe('sold');
  });

  test('erases its email and password, its messages and the answers stored for retries', async () => {
    const by = await createAccount(service);
    const key = await createKey(service, by);
    const personal = [by.email, await hashOf(by.id), `For you: ${randomUUID()}`, randomUUID()];
    const [, , message, retry] = personal as [string, string, string, string];
    const headers = { 'Idempotency-Key': retry };
    const sent = await call(service, 'POST', '/v1/messages', { key, headers, body: { message } });
    expect(sent.status).toBe(202);
    expect((await storedOf(service, personal)).toSorted()).toEqual(personal.toSorted());
    await close(by);
    expect(await storedOf(service, personal)).toEqual([]);
    const path = `/v1/messages/${sent.body.id}`;
    expectError(await call(service, 'GET', path, { key: next.key }), 404, 'message_not_found');
  });
});

describe('With SIGN_UP=invite', () => {
  async function invite(expiresAt?: string): Promise<string> {
    const invitation = newSecret(INVITATIONS);
    const sql = 'INSERT INTO invitations (hash, expires_at) VALUES ($1, $2)';
    await query(service.databaseUrl, sql, [hashSecret(invitation), expiresAt]);
    return invitation;
  }

  test('a sign-up needs an invitation of the administrator, which is valid once', async () => {
    const env = { DATABASE_URL: service.databaseUrl };
    const { stdout } = await admin(['invitations', 'create', '--json'], env);
    const { invitation } = JSON.parse(stdout) as { invitation: string };
    expect(invitation).toMatch(/^petstore_invitation_[\da-f]{48}$/);
    const mistyped = invitation.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const expired = await invite('2001-01-01T00:00:00Z');
    for (const code of [undefined, null, 5, '', 'x', mistyped, [invitation], newSecret(INVITATIONS), expired])
      expectError(await signUp({ ...newcomer(), invitation: code }, other), 403, 'sign_up_closed');
    const { email } = account;
    expectError(await signUp({ ...newcomer(), email, invitation: mistyped }, other), 403, 'sign_up_closed');
    expectError(await signUp({ email: 'x' }, other), 403, 'sign_up_closed');
    // Refused for other reasons, it is not used up.
    expectError(await signUp({ ...newcomer(), email, invitation }, other), 409, 'account_exists');
    expectError(await signUp({ email: 'x', invitation }, other), 400, 'validation_failed');
    const answers = await times(4, () => signUp({ ...newcomer(), invitation }, other));
    const [made, ...refused] = answers.toSorted((a, b) => a.status - b.status);
    expect(made!.status).toBe(201);
    for (const answer of refused) expectError(answer, 403, 'sign_up_closed');
    expect(await storedOf(service, [invitation])).toEqual([]);
  });

  test('new accounts get ACCOUNT_PERMISSIONS, and existing accounts keep their permissions', async () => {
    const by = newcomer();
    expect((await signUp({ ...by, invitation: await invite() }, other)).status).toBe(201);
    expect((await get(by, other)).body.permissions).toEqual(ALLOWED);
    const key = await createKey(service, by);
    expect((await list(key, other)).status).toBe(200);
    const add = await call(other, 'POST', '/v1/pets', { key, body: '{' });
    expectError(add, 403, 'permission_denied');
    expect((await get(account, other)).body.permissions).toContain('pets:write');
  });
});
