import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type Answer,
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  expectRevoked,
  TIMESTAMP,
} from '../src/testing/client.js';
import { admin } from './support/commands.js';
import { Customer, times } from './support/customer.js';
import { eventually } from './support/npm.js';
import { everythingStored, query, type Service, startService } from '../src/testing/service.js';

let service: Service;
let other: Service;

beforeAll(async () => {
  service = await startService();
  other = await startService({ DATABASE_URL: service.databaseUrl });
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const CURRENT = '/v1/accounts/current';
const get = (account: Credentials, at = service) => call(at, 'GET', CURRENT, { account });
const change = (account: Credentials, body: unknown) => call(service, 'PATCH', CURRENT, { account, body });
const close = (account: Credentials) => call(service, 'DELETE', CURRENT, { account });
const revokeItself = (key: string) => call(service, 'DELETE', '/v1/api-keys/current', { key });
const list = (key: string, at = service): Promise<Answer> => call(at, 'GET', '/v1/pets?limit=1', { key });
const operate = (...args: string[]) => admin(args, { DATABASE_URL: service.databaseUrl });

describe('GET /accounts/current', () => {
  test('answers with exactly id, email, createdAt and permissions, to the password alone', async () => {
    const account = await createAccount(service);
    const { status, body } = await get(account);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: account.id,
      email: account.email,
      createdAt: expect.stringMatching(TIMESTAMP),
      permissions: expect.arrayContaining(['pets:read', 'orders:manage']),
    });
    const key = await createKey(service, account);
    expectError(await call(service, 'GET', CURRENT, { key }), 401, 'invalid_credentials');
    expectError(await get({ ...account, password: 'wrong horse battery' }), 401, 'invalid_credentials');
  });
});

describe('PATCH /accounts/current', () => {
  test('changes the email alone, which then logs in, in any case', async () => {
    const account = await createAccount(service);
    const email = `New.${account.email}`;
    const { status, body } = await change(account, { email });
    expect([status, body.email, body.id]).toEqual([200, email, account.id]);
    expectError(await get(account), 401, 'invalid_credentials');
    expect((await get({ ...account, email: email.toUpperCase() })).body).toEqual(body);
    expect((await change({ ...account, email }, { email: email.toLowerCase() })).status).toBe(200);
  });

  test('changes the password alone, and leaves the keys valid unless they are to be revoked', async () => {
    const account = await createAccount(service);
    const key = await createKey(service, account);
    const password = 'another horse battery';
    expect((await change(account, { password })).status).toBe(200);
    expectError(await get(account), 401, 'invalid_credentials');
    expect((await list(key)).status).toBe(200);
    const now = { ...account, password };
    expect((await change(now, { revokeKeys: false })).status).toBe(200);
    expect((await list(key, other)).status).toBe(200);
    expect((await change(now, { revokeKeys: true })).status).toBe(200);
    expectError(await list(key), 401, 'invalid_api_key');
    await expectRevoked(async () => [await list(key, other)]);
    expect((await list(await createKey(service, now))).status).toBe(200);
    expect(await everythingStored(service)).not.toContain(password);
  });

  test('refuses the email of another account, in any case, and then changes nothing', async () => {
    const [account, another] = [await createAccount(service), await createAccount(service)];
    const key = await createKey(service, account);
    const body = { email: another.email.toUpperCase(), password: 'another horse battery', revokeKeys: true };
    expectError(await change(account, body), 409, 'account_exists');
    expect((await get(account)).status).toBe(200);
    expect((await list(key)).status).toBe(200);
  });

  test.each([
    ['nothing', {}],
    ['nothing that it knows', { permissions: ['pets:read'], id: 7 }],
    ['an email that is null', { email: null }],
    ['an email that is none', { email: 'ada' }],
    ['a short password', { password: 'short' }],
    ['a flag that is a text', { revokeKeys: 'true' }],
  ])('refuses %s', async (_what, body) => {
    expectError(await change(await createAccount(service), body), 400, 'validation_failed');
  });
});

describe('DELETE /accounts/current', () => {
  test('closes the account: nothing logs in any more, and its email is free', async () => {
    const account = await createAccount(service);
    const keys = [await createKey(service, account), await createKey(service, account)];
    for (const key of keys) expect((await list(key, other)).status).toBe(200);
    const { status, text } = await close(account);
    expect([status, text]).toEqual([204, '']);
    for (const key of keys) expectError(await list(key), 401, 'invalid_api_key');
    await expectRevoked(() => Promise.all(keys.map((key) => list(key, other))));
    expectError(await get(account), 401, 'invalid_credentials');
    expectError(await close(account), 401, 'invalid_credentials');
    expectError(
      await call(service, 'POST', '/v1/api-keys', { account, body: { name: 'x' } }),
      401,
      'invalid_credentials',
    );
    const again = await call(service, 'POST', '/v1/accounts', {
      body: { email: account.email, password: account.password },
    });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(account.id);
  });

  test('cancels its open orders, whose animals are available again, and keeps the others', async () => {
    const account = await createAccount(service);
    const customer = await Customer.of(service, account);
    const orders = {
      placed: await customer.orderAt('placed'),
      approved: await customer.orderAt('approved'),
      delivered: await customer.orderAt('delivered'),
    };
    await close(account);
    const next = await Customer.of(service);
    expect(await next.petStatus(orders.placed.petId)).toBe('available');
    expect(await next.petStatus(orders.approved.petId)).toBe('available');
    expect(await next.petStatus(orders.delivered.petId)).toBe('sold');
    expect((await next.place(orders.placed.petId)).status).toBe(201);
    for (const { id } of Object.values(orders)) expectError(await next.get(id), 404, 'order_not_found');
  });

  test.each([
    ['POST', '/v1/api-keys', { name: 'Late' }],
    ['PATCH', CURRENT, { revokeKeys: true }],
  ])('is in time for %s %s, whose password was good before', async (method, path, body) => {
    const account = await createAccount(service);
    const closer = new Client({ connectionString: service.databaseUrl });
    await closer.connect();
    await closer.query(`BEGIN; UPDATE accounts SET closed_at = now() WHERE id = ${account.id}`);
    const late = call(service, method, path, { account, body });
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR NO KEY UPDATE%'`;
    await eventually(async () => (await query(service.databaseUrl, waiting)).length > 0);
    await closer.query('COMMIT');
    await closer.end();
    expectError(await late, 401, 'invalid_credentials');
  });

  test('leaves an order that is delivered in the moment in which it would be cancelled', async () => {
    const account = await createAccount(service);
    const { id, petId } = await (await Customer.of(service, account)).orderAt('approved');
    const deliverer = new Client({ connectionString: service.databaseUrl });
    await deliverer.connect();
    await deliverer.query(
      `BEGIN; UPDATE orders SET status = 'delivered' WHERE id = ${id}; UPDATE pets SET status = 'sold' WHERE id = ${petId}`,
    );
    const closed = close(account);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE "orders"%'`;
    await eventually(async () => (await query(service.databaseUrl, waiting)).length > 0);
    await deliverer.query('COMMIT');
    await deliverer.end();
    expect((await closed).status).toBe(204);
    const [left] = await query(service.databaseUrl, 'SELECT status FROM orders WHERE id = $1', [id]);
    expect(left).toEqual({ status: 'delivered' });
    expect(await (await Customer.of(service)).petStatus(petId)).toBe('sold');
  });

  test('erases its email and password, its messages and the answers that are kept for retries', async () => {
    const account = await createAccount(service);
    const [row] = await query<{ hash: string }>(
      service.databaseUrl,
      'SELECT password_hash AS hash FROM accounts WHERE id = $1',
      [account.id],
    );
    const key = await createKey(service, account);
    const text = `Only for you: ${randomUUID()}`;
    const headers = { 'Idempotency-Key': randomUUID() };
    const message = await call(service, 'POST', '/v1/messages', { key, headers, body: { message: text } });
    expect(message.status).toBe(202);
    expect(await everythingStored(service)).toContain(text);
    await close(account);
    const stored = await everythingStored(service);
    for (const personal of [text, account.email, row!.hash, headers['Idempotency-Key']])
      expect(stored).not.toContain(personal);
    const path = `/v1/messages/${message.body.id}`;
    const another = await createKey(service);
    expectError(await call(service, 'GET', path, { key: another }), 404, 'message_not_found');
  });

  test('clears more orders than one statement takes', async () => {
    const account = await createAccount(service);
    await query(
      service.databaseUrl,
      `WITH animals AS (
         INSERT INTO pets (name, category_id, status) SELECT 'Many', 1, 'pending' FROM generate_series(1, 1200)
         RETURNING id)
       INSERT INTO orders (account_id, pet_id, status) SELECT $1, id, 'placed' FROM animals`,
      [account.id],
    );
    expect((await close(account)).status).toBe(204);
    const left = await query(
      service.databaseUrl,
      `SELECT status FROM orders WHERE account_id = $1 AND status <> 'cancelled'
       UNION ALL SELECT status FROM pets WHERE name = 'Many' AND status <> 'available'`,
      [account.id],
    );
    expect(left).toEqual([]);
  });

  test('nor is a password that was changed good for a body that comes later', async () => {
    const account = await createAccount(service);
    const { hostname, port } = new URL(service.url);
    const auth = `${account.email}:${account.password}`;
    const headers = { 'Content-Type': 'application/json' };
    const slow = request({ hostname, port, auth, method: 'PATCH', path: CURRENT, headers });
    const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
    slow.write('{"password":');
    await sleep(500);
    const password = 'another correct horse';
    expect((await change(account, { password, revokeKeys: true })).status).toBe(200);
    slow.end('"the password of a thief"}');
    const [answer] = await answered;
    expect(answer.resume().statusCode).toBe(401);
    expect((await get({ ...account, password })).status).toBe(200);
  });

  test.each([
    ['its account was closed', (account: Credentials) => close(account)],
    ['it was revoked', (_account: Credentials, key: string) => revokeItself(key)],
  ])('and a key opens nothing to a request whose body comes after %s', async (_what, end) => {
    const account = await createAccount(service);
    const customer = await Customer.of(service, account);
    const petId = await customer.addPet('available');
    const { hostname, port } = new URL(service.url);
    const slow = request({
      hostname,
      port,
      method: 'POST',
      path: '/v1/store/orders',
      headers: { Authorization: `Bearer ${customer.key}`, 'Content-Type': 'application/json' },
    });
    const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
    slow.write('{"petId":');
    await sleep(200);
    expect((await end(account, customer.key)).status).toBe(204);
    slow.end(`${petId}}`);
    const [answer] = await answered;
    expect(answer.resume().statusCode).toBe(401);
    expect(await (await Customer.of(service)).petStatus(petId)).toBe('available');
  });

  test('also cancels what another instance has accepted in the second after', async () => {
    const account = await createAccount(service);
    const customer = await Customer.of(other, account);
    const petId = await customer.addPet('available');
    await close(account);
    const { status } = await customer.place(petId);
    expect([201, 401]).toContain(status);
    const next = await Customer.of(service);
    await eventually(async () => (await next.petStatus(petId)) === 'available');
  });

  test.each(['all', 'api', 'worker'])(
    'cancels that too if both are killed right after, in a process with ROLE=%s',
    async (ROLE) => {
      const one = await startService();
      const { databaseUrl } = one;
      const DATABASE_URL = databaseUrl;
      const late = await startService({ DATABASE_URL });
      let status;
      // Until one comes in the moment in which the other instance still knows its key.
      while (status !== 201) {
        const account = await createAccount(one);
        const customer = await Customer.of(late, account);
        const petId = await customer.addPet('available');
        const over = new AbortController();
        const closed = call(one, 'DELETE', CURRENT, { account }).finally(() => over.abort());
        while (!over.signal.aborted) await list(customer.key, late);
        ({ status } = await customer.place(petId));
        expect((await closed).status).toBe(204);
      }
      for (const { process } of [one, late]) {
        process.kill('SIGKILL');
        await once(process, 'exit');
      }
      const next = await startService({ DATABASE_URL, ROLE });
      const pending = 'SELECT id FROM pets WHERE status = $1';
      await eventually(async () => (await query(databaseUrl, pending, ['pending'])).length === 0);
      const actions = `SELECT actor, action FROM audit_log WHERE action LIKE 'order.%' ORDER BY action`;
      const left = await query<{ action: string }>(databaseUrl, actions);
      const count = (action: string) => left.filter((one) => one.action === action).length;
      expect(count('order.cancelled')).toBe(count('order.placed'));
      await next.stop();
    },
  );
});

describe('SIGN_UP', () => {
  const signUp = (at: Service, body: unknown) => call(at, 'POST', '/v1/accounts', { body });
  const newcomer = () => ({ email: `${randomUUID()}@example.com`, password: 'correct horse battery' });
  const invite = async (...args: string[]): Promise<{ id: number; invitation: string }> =>
    JSON.parse((await operate('invitations', 'create', '--json', ...args)).stdout);

  test('closed refuses everyone before their body is looked at, and leaves accounts as they are', async () => {
    const account = await createAccount(service);
    const closed = await startService({ DATABASE_URL: service.databaseUrl, SIGN_UP: 'closed' });
    for (const body of [newcomer(), {}, '{', 'x'.repeat(200_000), { ...newcomer(), email: account.email }])
      expectError(await signUp(closed, body), 403, 'sign_up_closed');
    expect((await get(account, closed)).status).toBe(200);
    expect((await list(await createKey(closed, account), closed)).status).toBe(200);
    await closed.stop();
  });

  describe('invite', () => {
    let invited: Service;
    beforeAll(async () => {
      invited = await startService({ DATABASE_URL: service.databaseUrl, SIGN_UP: 'invite' });
    });
    afterAll(() => invited.stop());

    test('takes an invitation of the administrator, once, and no other', async () => {
      const taken = await createAccount(service);
      const { invitation } = await invite();
      expect(invitation).toMatch(/^petstore_invitation_[\da-f]{48}$/);
      const mistyped = invitation.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
      const bad = [undefined, null, 5, '', 'x', mistyped, [invitation]];
      for (const code of bad)
        expectError(await signUp(invited, { ...newcomer(), invitation: code }), 403, 'sign_up_closed');
      expectError(await signUp(invited, { ...taken, invitation: mistyped }), 403, 'sign_up_closed');
      expectError(await signUp(invited, { email: 'x' }), 403, 'sign_up_closed');
      // Refused for other reasons, it is not used up.
      expectError(await signUp(invited, { ...taken, invitation }), 409, 'account_exists');
      expectError(await signUp(invited, { email: 'x', invitation }), 400, 'validation_failed');
      expect((await signUp(invited, { ...newcomer(), invitation })).status).toBe(201);
      expectError(await signUp(invited, { ...newcomer(), invitation }), 403, 'sign_up_closed');
      expect(await everythingStored(service)).not.toContain(invitation);
    });

    test('lets one of several in who send one invitation at once', async () => {
      const { id, invitation } = await invite();
      const holder = new Client({ connectionString: service.databaseUrl });
      await holder.connect();
      // All have found it good before one of them can use it up.
      await holder.query('BEGIN');
      await holder.query('SELECT FROM invitations WHERE id = $1 FOR KEY SHARE', [id]);
      const sent = times(2, () => signUp(invited, { ...newcomer(), invitation }));
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM "invitations"%'`;
      await eventually(async () => (await query(service.databaseUrl, waiting)).length === 2);
      await holder.end();
      const [one, another] = (await sent).toSorted((a, b) => a.status - b.status);
      expect(one!.status).toBe(201);
      expectError(another!, 403, 'sign_up_closed');
    });

    test('refuses an invitation that has expired, or was revoked', async () => {
      const expired = await invite('--expires-at', '2099-01-01T00:00:00Z');
      await query(service.databaseUrl, `UPDATE invitations SET expires_at = now()`);
      const revoked = await invite();
      expect(await operate('invitations', 'revoke', String(revoked.id))).toMatchObject({ code: 0 });
      for (const { invitation } of [expired, revoked])
        expectError(await signUp(invited, { ...newcomer(), invitation }), 403, 'sign_up_closed');
    });
  });

  test('open takes an invitation for what it is: an unknown property', async () => {
    expect((await signUp(service, { ...newcomer(), invitation: 'x' })).status).toBe(201);
  });
});
