import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Answer,
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
} from './support/client.js';
import { type Service, startService } from './support/service.js';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis) console.warn('The tests with Redis are skipped: no redis-server is installed.');

const signUp = (service: Service, headers: Record<string, string> = {}) => {
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  return call(service, 'POST', '/v1/accounts', {
    body: { email, password: 'correct horse battery' },
    headers,
  });
};
const logIn = (service: Service, account: Credentials) => call(service, 'GET', '/v1/api-keys', { account });
const wrong = ({ email }: { email: string }) => ({ email, password: 'wrong' });
const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

/** Runs one call after another. */
async function times<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let i = 0; i < count; i++) results.push(await run());
  return results;
}

function expectLimited(answer: Answer, policy: string): void {
  expectError(answer, 429, 'rate_limited');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(answer.headers.get('ratelimit-policy')).toBe(policy);
  expect(answer.headers.get('ratelimit')).toBe(`${policy.split(';')[0]};r=0;t=${seconds}`);
}

describe('Sign-ups and log-ins', () => {
  let service: Service;
  beforeEach(async () => {
    service = await startService({ AUTH_LIMIT_PER_MINUTE: '3' });
  });
  afterEach(() => service.stop());

  test('are limited per address, with what is left in the headers', async () => {
    const answers = await times(3, () => signUp(service));
    expect(statuses(answers)).toEqual([201, 201, 201]);
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).toEqual([
      'r=2',
      'r=1',
      'r=0',
    ]);
    expectLimited(await signUp(service), '"auth";q=3;w=60');
    expectError(await call(service, 'POST', '/v1/accounts', { body: {} }), 400, 'validation_failed');
  });

  test('that fail are limited per address, whose right passwords are then refused too', async () => {
    const account = await createAccount(service);
    expect(statuses(await times(8, () => logIn(service, account)))).toEqual(Array(8).fill(200));
    expect(statuses(await times(3, () => logIn(service, wrong(account))))).toEqual([401, 401, 401]);
    expectLimited(await logIn(service, wrong(account)), '"auth";q=3;w=60');
    expectLimited(await logIn(service, account), '"auth";q=3;w=60');
  });

  test('that fail are limited per account, from whatever address, but its owner is let in from another', async () => {
    const proxied = await startService({
      AUTH_LIMIT_PER_MINUTE: '3',
      TRUST_PROXY: '1',
      DATABASE_URL: service.databaseUrl,
    });
    const from = (ip: string, as: Credentials, method = 'GET', path = '/v1/api-keys') =>
      call(proxied, method, path, { account: as, headers: { 'X-Forwarded-For': ip } });
    const account = await createAccount(proxied);
    await createKey(proxied, account);
    for (const ip of ['192.0.2.1', '192.0.2.2', '2001:db8::1'])
      expect((await from(ip, wrong(account))).status).toBe(401);
    expectLimited(await from('192.0.2.4', wrong(account)), '"auth";q=3;w=60');
    expectLimited(await from('192.0.2.5', wrong({ email: account.email.toUpperCase() })), '"auth";q=3;w=60');
    const { status, body } = await from('192.0.2.6', account);
    expect(status).toBe(200);
    expect((await from('192.0.2.6', account, 'DELETE', `/v1/api-keys/${body[0].id}`)).status).toBe(204);
    await proxied.stop();
  });

  test.each([
    [
      'an IPv6 network',
      ['2001:db8:1::1', '2001:db8:1::b:c:d', '2001:db8:1:0:ffff:ffff:ffff:ffff', '2001:db8:1:0:1::'],
      429,
    ],
    ['an IPv4 address', ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '192.0.2.1'], 429],
    ['an IPv4 address with ports', ['192.0.2.1:1', '192.0.2.1:2', '[::ffff:192.0.2.1]:3', '192.0.2.1'], 429],
    [
      'an IPv6 network with ports',
      ['[2001:db8:1::1]:1', '[2001:db8:1::1]:2', '[2001:db8:1::2]', '2001:db8:1::3'],
      429,
    ],
    ['what is no address', ['unknown', '_hidden', '1.2.3', 'x:1'], 429],
    ['different networks', ['2001:db8:1::1', '2001:db8:1:1::1', '2001:db8:2::1', '192.0.2.1'], 201],
  ])('from %s are counted together, however the address is written', async (_name, addresses, last) => {
    const proxied = await startService({
      AUTH_LIMIT_PER_MINUTE: '3',
      TRUST_PROXY: '1',
      DATABASE_URL: service.databaseUrl,
    });
    const answers: Answer[] = [];
    for (const ip of addresses) answers.push(await signUp(proxied, { 'X-Forwarded-For': ip }));
    expect(statuses(answers)).toEqual([201, 201, 201, last]);
    await proxied.stop();
  });

  test('from an address that has none left leave the account as it was', async () => {
    const proxied = await startService({
      AUTH_LIMIT_PER_MINUTE: '3',
      TRUST_PROXY: '1',
      DATABASE_URL: service.databaseUrl,
    });
    const from = (ip: string, account: Credentials) =>
      call(proxied, 'POST', '/v1/accounts', { body: account, headers: { 'X-Forwarded-For': ip } });
    const account = { email: 'wanted@example.com', password: 'correct horse battery' };
    await times(3, () => signUp(proxied, { 'X-Forwarded-For': '192.0.2.1' }));
    const refused = await times(5, () => from('192.0.2.1', account));
    expect(statuses(refused)).toEqual(Array(5).fill(429));
    expect((await from('192.0.2.2', account)).status).toBe(201);
    await proxied.stop();
  });

  test('can come in a burst if they succeed, but not if they fail', async () => {
    const account = await createAccount(service);
    const burst = (one: Credentials) => Promise.all(Array.from({ length: 20 }, () => logIn(service, one)));
    // 503 is the answer of a machine that is too busy: a password takes it 36 ms.
    const welcome = statuses(await burst(account)).filter((status) => status !== 503);
    expect(new Set(welcome)).toEqual(new Set([200]));
    const failures = statuses(await burst(wrong(account))).filter((status) => status !== 503);
    expect(failures.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
    expect(new Set(failures)).toEqual(new Set([401, 429]));
  });

  test('ignore X-Forwarded-For without TRUST_PROXY', async () => {
    const forged = () => {
      const email = `${randomBytes(6).toString('hex')}@example.com`;
      const headers = { 'X-Forwarded-For': `192.0.2.${Math.floor(Math.random() * 255)}` };
      return call(service, 'POST', '/v1/accounts', {
        body: { email, password: 'correct horse battery' },
        headers,
      });
    };
    expect(statuses(await times(4, forged))).toEqual([201, 201, 201, 429]);
  });

  test('do not limit requests with a key', async () => {
    const key = await createKey(service);
    expect(new Set(statuses(await times(30, () => call(service, 'GET', '/v1/pets', { key }))))).toEqual(
      new Set([200]),
    );
  });
});

describe('A limit per key', () => {
  test('counts each key separately', async () => {
    const service = await startService({ KEY_LIMIT_PER_MINUTE: '5' });
    const [one, other] = [await createKey(service), await createKey(service)];
    const list = (key: string) => call(service, 'GET', '/v1/pets', { key });
    const answers = await times(7, () => list(one));
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expectLimited(answers[6]!, '"key";q=5;w=60');
    expect((await list(other)).headers.get('ratelimit')).toMatch(/^"key";r=4;t=\d+$/);
    await service.stop();
  });
});

(hasRedis ? describe : describe.skip)('Redis', () => {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const startRedis = async () => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const redis = spawn('redis-server', args);
    await new Promise<void>((resolve) => {
      redis.stdout.on('data', (chunk: Buffer) => chunk.includes('Ready to accept') && resolve());
    });
    return redis;
  };

  test('makes all instances count together, and is not needed while it is away', async () => {
    const redis = await startRedis();
    const env = { AUTH_LIMIT_PER_MINUTE: '6', REDIS_URL: `redis://127.0.0.1:${port}` };
    const one = await startService(env);
    const other = await startService({ ...env, DATABASE_URL: one.databaseUrl });
    const alternately = await times(4, async () => [await signUp(one), await signUp(other)]);
    expect(statuses(alternately.flat())).toEqual([201, 201, 201, 201, 201, 201, 429, 429]);
    redis.kill('SIGKILL');
    await once(redis, 'exit');
    expect((await signUp(one)).status).toBe(201);
    while (!one.output().includes('Redis is away')) await sleep(50);
    expect(await Promise.all([one.stop(), other.stop()])).toEqual([0, 0]);
  });
});
