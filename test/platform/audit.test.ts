import { call, createAccount, createKey, type Credentials } from '../../src/testing/client.js';
import { admin } from '../support/commands.js';
import { Customer } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { query, type Service, startService } from '../../src/testing/service.js';

let service: Service;
let account: Credentials & { id: number };

beforeAll(async () => (service = await startService()));
afterAll(() => service.stop());
beforeEach(async () => (account = await createAccount(service)));

const run = (...args: string[]) => admin(args, { DATABASE_URL: service.databaseUrl });

/** What `npm run admin -- audit` prints. */
async function audit(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await run('audit', ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout === ''
    ? []
    : stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
}

const send = (method: string, path: string, body?: unknown, id = 'asked-by-a-test') =>
  call(service, method, path, { account, body, headers: { 'X-Request-Id': id } });

describe('The audit log', () => {
  test('has every change of an account and of its keys, with who, what, when, request and address', async () => {
    const begun = Date.now();
    const { body: key } = await send('POST', '/v1/api-keys', {
      name: 'Secret name',
      permissions: ['pets:read'],
    });
    await send('PATCH', `/v1/api-keys/${key.id}`, { permissions: ['pets:write'] });
    const { body: rolled } = await send('POST', `/v1/api-keys/${key.id}/roll`, { overlapSeconds: 60 });
    await send('DELETE', `/v1/api-keys/${key.id}`);
    await call(service, 'DELETE', '/v1/api-keys/current', { key: rolled.key });
    await send('PATCH', '/v1/accounts/current', { password: 'correct horse battery', revokeKeys: true });
    await run('accounts', 'set-permissions', account.email, 'pets:read,orders:write');
    const records = await audit('--account', account.email);
    const by = {
      accountId: account.id,
      actor: 'account',
      requestId: 'asked-by-a-test',
      address: '127.0.0.1',
    };
    const at = expect.any(String);
    expect(records).toEqual([
      {
        ...by,
        at,
        action: 'account.created',
        details: { permissions: 'all' },
        requestId: expect.any(String),
      },
      { ...by, at, action: 'api_key.created', subjectId: key.id, details: { permissions: ['pets:read'] } },
      {
        ...by,
        at,
        action: 'api_key.changed',
        subjectId: key.id,
        details: { permissions: ['pets:write'] },
      },
      {
        ...by,
        at,
        action: 'api_key.rolled',
        subjectId: key.id,
        details: { apiKeyId: rolled.id, overlapSeconds: 60 },
      },
      { ...by, at, action: 'api_key.revoked', subjectId: key.id },
      {
        ...by,
        at,
        action: 'api_key.revoked',
        subjectId: rolled.id,
        keyId: rolled.id,
        requestId: expect.any(String),
      },
      { ...by, at, action: 'account.changed', details: { email: false, password: true, revokeKeys: true } },
      {
        at,
        actor: 'operator',
        accountId: account.id,
        action: 'account.permissions_changed',
        details: { permissions: ['pets:read', 'orders:write'] },
      },
    ]);
    for (const record of records.slice(1)) {
      expect(Date.parse(record.at as string)).toBeGreaterThanOrEqual(begun - 1);
      expect(Date.parse(record.at as string)).toBeLessThanOrEqual(Date.now() + 1);
    }
  });

  test('has every state of an order, with the key that brought it there', async () => {
    const key = await createKey(service, account);
    const customer = await Customer.of(service, account);
    const { id, petId } = await customer.orderAt('placed');
    await call(service, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status: 'approved' } });
    await call(service, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status: 'placed' } });
    await call(service, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status: 'cancelled' } });
    const { body: keys } = await call(service, 'GET', '/v1/api-keys', { account });
    const [own, others] = keys.slice(-2).map((one: { id: number }) => one.id);
    const told = (await audit('--account', String(account.id))).filter(
      ({ action, subjectId }) => subjectId === id && String(action).startsWith('order.'),
    );
    expect(told.map(({ action, keyId, details }) => [action, keyId, details])).toEqual([
      ['order.placed', others, { petId }],
      ['order.approved', own, { petId, from: 'placed' }],
      ['order.cancelled', own, { petId, from: 'approved' }],
    ]);
  });

  test('has the making, the use and the revocation of invitations, and no code', async () => {
    const invited = await startService({ DATABASE_URL: service.databaseUrl, SIGN_UP: 'invite' });
    const expiresAt = '2100-01-31T12:00:00.000Z';
    const create = async (...args: string[]) =>
      JSON.parse((await run('invitations', 'create', '--json', ...args)).stdout);
    const [used, revoked] = [await create(), await create('--expires-at', expiresAt)];
    const signUp = (email: string) =>
      call(invited, 'POST', '/v1/accounts', {
        body: { email, password: account.password, invitation: used.invitation },
        headers: { 'X-Request-Id': 'signed-up' },
      });
    // Refused, so there is nothing of it.
    expect((await signUp(account.email)).status).toBe(409);
    const { body: newcomer } = await signUp(`invited.${account.email}`);
    await run('invitations', 'revoke', String(revoked.id));
    const records = (await audit()).filter(({ action }) => String(action).startsWith('invitation.'));
    const by = { at: expect.any(String), actor: 'operator' };
    expect(records).toEqual([
      { ...by, action: 'invitation.created', subjectId: used.id },
      { ...by, action: 'invitation.created', subjectId: revoked.id, details: { expiresAt } },
      {
        at: expect.any(String),
        actor: 'account',
        accountId: newcomer.id,
        action: 'invitation.used',
        subjectId: used.id,
        requestId: 'signed-up',
        address: '127.0.0.1',
      },
      { ...by, action: 'invitation.revoked', subjectId: revoked.id },
    ]);
    for (const { invitation } of [used, revoked]) expect(JSON.stringify(records)).not.toContain(invitation);
    await invited.stop();
  });

  test('has nothing of a change that fails', async () => {
    const customer = await Customer.of(service, account);
    const { petId } = await customer.orderAt('placed');
    const before = await audit();
    expect((await customer.place(petId)).status).toBe(409);
    const answer = await send('PATCH', '/v1/api-keys/0', { name: 'None' });
    expect(answer.status).toBe(404);
    expect(await audit()).toEqual(before);
  });

  test('can be asked for an account, a key, an action, a request and a time, one or several', async () => {
    const newcomer = await createAccount(service);
    const key = await createKey(service, newcomer);
    const { body } = await call(service, 'GET', '/v1/api-keys', { account: newcomer });
    await call(service, 'DELETE', '/v1/api-keys/current', { key, headers: { 'X-Request-Id': 'the-last' } });
    const actions = async (...args: string[]) => (await audit(...args)).map(({ action }) => action);
    expect(await actions('--account', newcomer.email)).toEqual([
      'account.created',
      'api_key.created',
      'api_key.revoked',
    ]);
    expect(await actions('--key', String(body[0].id))).toEqual(['api_key.revoked']);
    expect(await actions('--request', 'the-last')).toEqual(['api_key.revoked']);
    const own = ['--account', newcomer.email];
    expect(await actions(...own, '--action', 'api_key.created')).toEqual(['api_key.created']);
    expect(await actions(...own, '--until', '2020-01-01T00:00:00Z')).toEqual([]);
    expect(await actions(...own, '--since', '2020-01-01T00:00:00Z')).toHaveLength(3);
    expect(await run('audit', '--since', 'yesterday')).toMatchObject({ code: 2 });
  });

  test('holds no secret and no personal text', async () => {
    const newcomer = await createAccount(service);
    const body = { name: 'Key of Grace Hopper' };
    const { body: made } = await call(service, 'POST', '/v1/api-keys', { account: newcomer, body });
    await call(service, 'PATCH', `/v1/api-keys/${made.id}`, {
      account: newcomer,
      body: { name: 'Ada Lovelace' },
    });
    await call(service, 'DELETE', '/v1/accounts/current', { account: newcomer });
    const records = await audit('--account', String(newcomer.id));
    expect(records.at(-1)).toMatchObject({ action: 'account.closed' });
    const text = JSON.stringify(records);
    for (const secret of [newcomer.email, newcomer.password, made.key, body.name, 'Ada'])
      expect(text).not.toContain(secret);
  });

  test('is not changed by anyone, and what is not old is not removed', async () => {
    for (const sql of [`UPDATE audit_log SET action = 'x'`, `DELETE FROM audit_log`])
      await expect(query(service.databaseUrl, sql)).rejects.toThrow('cannot be changed');
  });

  test('is printed with empty texts, as features may tell them', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO audit_log (actor, account_id, action, job, subject_id, request_id, address, details)
       VALUES ('job', 1, 'emptied', '', '', '', '', '{}')`,
    );
    const [record] = await audit('--action', 'emptied');
    const empty = { job: '', subjectId: '', requestId: '', address: '', details: {} };
    expect(record).toEqual({
      at: expect.any(String),
      actor: 'job',
      accountId: 1,
      action: 'emptied',
      ...empty,
    });
  });

  test('keeps records for as many days as AUDIT_RETENTION_DAYS says', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO audit_log (created_at, actor, account_id, action)
       SELECT now() - make_interval(days => days), 'account', 0, days || ' days' FROM unnest(ARRAY[1, 2, 3, 40]) AS days`,
    );
    const kept = () => audit('--account', '0').then((all) => all.map(({ action }) => action));
    expect(await kept()).toHaveLength(4);
    const other = await startService({ DATABASE_URL: service.databaseUrl, AUDIT_RETENTION_DAYS: '3' });
    await eventually(async () => (await kept()).length === 2);
    expect(await kept()).toEqual(['1 days', '2 days']);
    await other.stop();
  });
});
