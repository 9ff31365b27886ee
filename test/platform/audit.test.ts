import { call, createAccount, createKey, type Credentials } from '../../src/testing/client.js';
import { createDatabase, query, sharedService, startService } from '../../src/testing/service.js';
import { Customer } from '../support/customer.js';
import { admin } from '../support/commands.js';
import { addJob } from '../support/jobs.js';
import { eventually } from '../support/npm.js';

const service = sharedService();
let account: Credentials & { id: number };
beforeEach(async () => (account = await createAccount(service)));

const run = (args: string[], DATABASE_URL = service.databaseUrl) => admin(args, { DATABASE_URL });

type Records = Record<string, unknown>[];

/** What `npm run admin -- audit` prints. */
async function audit(args: string[], databaseUrl?: string): Promise<Records> {
  const { code, stdout, stderr } = await run(['audit', ...args], databaseUrl);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}

const auditOf = ({ email }: Credentials) => audit(['--account', email]);
const send = (method: string, path: string, body?: unknown, id = 'asked-by-a-test') =>
  call(service, method, path, { account, body, headers: { 'X-Request-Id': id } });

describe('The audit log', () => {
  test('has every change of an account and of its keys, with who, what, when, request and address', async () => {
    const begun = Date.now();
    const permissions = ['pets:read'];
    const { body: key } = await send('POST', '/v1/api-keys', { name: 'Key of Grace Hopper', permissions });
    await send('PATCH', `/v1/api-keys/${key.id}`, { permissions: ['pets:write'] });
    const overlap = { overlapSeconds: 60 };
    const { body: rolled } = await send('POST', `/v1/api-keys/${key.id}/roll`, overlap);
    await send('DELETE', `/v1/api-keys/${key.id}`);
    await call(service, 'DELETE', '/v1/api-keys/current', { key: rolled.key });
    await send('PATCH', '/v1/accounts/current', { password: 'correct horse battery', revokeKeys: true });
    await run(['accounts', 'set-permissions', account.email, 'pets:read,orders:write']);
    // What fails leaves no record.
    expect((await send('PATCH', '/v1/api-keys/0', { name: 'None' })).status).toBe(404);
    await send('DELETE', '/v1/accounts/current');
    const records = await audit(['--account', String(account.id)]);
    const at = expect.any(String);
    const requestId = 'asked-by-a-test';
    const by = { at, accountId: account.id, actor: 'account', requestId, address: '127.0.0.1' };
    const unnamed = { requestId: expect.any(String) };
    expect(records).toEqual([
      { ...by, ...unnamed, action: 'account.created', details: { permissions: 'all' } },
      { ...by, action: 'api_key.created', subjectId: key.id, details: { permissions } },
      { ...by, action: 'api_key.changed', subjectId: key.id, details: { permissions: ['pets:write'] } },
      { ...by, action: 'api_key.rolled', subjectId: key.id, details: { apiKeyId: rolled.id, ...overlap } },
      { ...by, action: 'api_key.revoked', subjectId: key.id },
      { ...by, ...unnamed, action: 'api_key.revoked', subjectId: rolled.id, keyId: rolled.id },
      { ...by, action: 'account.changed', details: { email: false, password: true, revokeKeys: true } },
      {
        at,
        actor: 'operator',
        accountId: account.id,
        action: 'account.permissions_changed',
        details: { permissions: ['pets:read', 'orders:write'] },
      },
      { ...by, action: 'account.closed' },
    ]);
    for (const record of records.slice(1)) {
      expect(Date.parse(record.at as string)).toBeGreaterThanOrEqual(begun - 1);
      expect(Date.parse(record.at as string)).toBeLessThanOrEqual(Date.now() + 1);
    }
    // No secret, and no personal text.
    const text = JSON.stringify(records);
    const secrets = [account.email, account.password, key.key, rolled.key, 'Hopper'];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('has every status of an order with the key that set it, and no refused change', async () => {
    const key = await createKey(service, account);
    const customer = await Customer.of(service, account);
    const { id, petId } = await customer.orderAt('placed');
    expect((await customer.place(petId)).status).toBe(409);
    for (const [status, answered] of Object.entries({ approved: 200, placed: 409, cancelled: 200 })) {
      const answer = await call(service, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status } });
      expect(answer.status).toBe(answered);
    }
    const { body: keys } = await call(service, 'GET', '/v1/api-keys', { account });
    const [own, others] = keys.slice(-2).map((one: { id: number }) => one.id);
    const told = (await auditOf(account)).filter(({ action }) => String(action).startsWith('order.'));
    expect(told.map(({ action, subjectId, keyId, details }) => [action, subjectId, keyId, details])).toEqual([
      ['order.placed', id, others, { petId }],
      ['order.approved', id, own, { petId, from: 'placed' }],
      ['order.cancelled', id, own, { petId, from: 'approved' }],
    ]);
  });

  test('can be filtered by account, key, action, request and time, alone or combined', async () => {
    const key = await createKey(service, account);
    const { body } = await call(service, 'GET', '/v1/api-keys', { account });
    const headers = { 'X-Request-Id': `the-last-of-${account.id}` };
    await call(service, 'DELETE', '/v1/api-keys/current', { key, headers });
    const actions = async (...args: string[]) => (await audit(args)).map(({ action }) => action);
    const own = ['--account', account.email];
    const long = '2020-01-01T00:00:00Z';
    const all = ['account.created', 'api_key.created', 'api_key.revoked'];
    expect(await actions(...own, '--since', long)).toEqual(all);
    for (const by of [
      ['--key', String(body[0].id)],
      ['--request', headers['X-Request-Id']],
    ])
      expect(await actions(...by)).toEqual(['api_key.revoked']);
    expect(await actions(...own, '--action', 'api_key.created')).toEqual(['api_key.created']);
    expect(await actions(...own, '--until', long)).toEqual([]);
    expect(await run(['audit', '--since', 'yesterday'])).toMatchObject({ code: 2 });
  });

  test('is not changed by anyone, and loses no record before its time', async () => {
    for (const sql of [`UPDATE audit_log SET action = 'x'`, `DELETE FROM audit_log`])
      await expect(query(service.databaseUrl, sql)).rejects.toThrow('cannot be changed');
  });

  test('has invitations, without their code; and keeps records for as many days as AUDIT_RETENTION_DAYS says', async () => {
    const databaseUrl = await createDatabase('TEMPLATE migrated');
    // The last one with empty texts, as features may tell them.
    await query(
      databaseUrl,
      `INSERT INTO audit_log (created_at, actor, account_id, action, job, subject_id, request_id, address, details)
       SELECT now() - make_interval(days => days), 'job', 0, days || ' days', '', '', '', '', '{}'
       FROM unnest(ARRAY[40, 3, 2, 1]) AS days`,
    );
    const env = { DATABASE_URL: databaseUrl, SIGN_UP: 'invite', AUDIT_RETENTION_DAYS: '3' };
    const invited = await startService(env);
    const expiresAt = '2100-01-31T12:00:00.000Z';
    const create = async (...args: string[]) =>
      JSON.parse((await run(['invitations', 'create', '--json', ...args], databaseUrl)).stdout);
    const [used, revoked] = [await create(), await create('--expires-at', expiresAt)];
    const headers = { 'X-Request-Id': 'signed-up' };
    const signUp = { email: account.email, password: account.password, invitation: used.invitation };
    const { body: newcomer } = await call(invited, 'POST', '/v1/accounts', { body: signUp, headers });
    await run(['invitations', 'revoke', String(revoked.id)], databaseUrl);
    await addJob(databaseUrl, 'sweep-audit-log');
    const left = 'SELECT FROM audit_log WHERE account_id = 0';
    await eventually(async () => (await query(databaseUrl, left)).length === 2);
    const at = expect.any(String);
    const empty = { job: '', subjectId: '', requestId: '', address: '', details: {} };
    const operator = { at, actor: 'operator' };
    const records = await audit([], databaseUrl);
    expect(records).toEqual([
      { at, actor: 'job', accountId: 0, action: '2 days', ...empty },
      { at, actor: 'job', accountId: 0, action: '1 days', ...empty },
      { ...operator, action: 'invitation.created', subjectId: used.id },
      { ...operator, action: 'invitation.created', subjectId: revoked.id, details: { expiresAt } },
      expect.objectContaining({ accountId: newcomer.id, action: 'account.created' }),
      {
        ...{ at, actor: 'account', accountId: newcomer.id, action: 'invitation.used', subjectId: used.id },
        ...{ requestId: 'signed-up', address: '127.0.0.1' },
      },
      { ...operator, action: 'invitation.revoked', subjectId: revoked.id },
    ]);
    for (const { invitation } of [used, revoked]) expect(JSON.stringify(records)).not.toContain(invitation);
    await invited.stop();
  });
});
