import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { networkOf } from '../../src/platform/api/request.js';
import { type Answer, call, createKey, type Credentials, expectError } from '../../src/testing/client.js';
import { type Service, startService } from '../../src/testing/service.js';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis) console.warn('The tests with Redis are skipped: no redis-server is installed.');

const PASSWORD = 'correct horse battery';
const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;
const from = (ip?: string): { headers: Record<string, string> } => ({
  headers: ip === undefined ? {} : { 'X-Forwarded-For': ip },
});
const signUp = (service: Service, ip?: string, email = newEmail()) =>
  call(service, 'POST', '/v1/accounts', { body: { email, password: PASSWORD }, ...from(ip) });
const logIn = (service: Service, account: Credentials, ip?: string) =>
  call(service, 'GET', '/v1/api-keys', { account, ...from(ip) });
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
  /** Behind a proxy: each test comes from addresses of its own. */
  let service: Service;
  beforeAll(async () => {
    service = await startService({ AUTH_LIMIT_PER_MINUTE: '3', TRUST_PROXY: '1' });
  });
  afterAll(() => service.stop());

  const newAccount = async () => {
    const email = newEmail();
    expect((await signUp(service, `198.51.100.${accounts++}`, email)).status).toBe(201);
    return { email, password: PASSWORD };
  };
  let accounts = 1;

  test('are limited per address, with what is left in the headers', async () => {
    const ip = '203.0.113.1';
    const answers = await times(3, () => signUp(service, ip));
    expect(statuses(answers)).toEqual([201, 201, 201]);
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).toEqual([
      'r=2',
      'r=1',
      'r=0',
    ]);
    expectLimited(await signUp(service, ip), '"auth";q=3;w=60');
    const empty = await call(service, 'POST', '/v1/accounts', { body: {}, ...from(ip) });
    expectError(empty, 400, 'validation_failed');
  });

  test('that fail are limited per address, whose right passwords are then refused too', async () => {
    const account = await newAccount();
    const ip = '203.0.113.2';
    expect(statuses(await times(8, () => logIn(service, account, ip)))).toEqual(Array(8).fill(200));
    expect(statuses(await times(3, () => logIn(service, wrong(account), ip)))).toEqual([401, 401, 401]);
    expectLimited(await logIn(service, account, ip), '"auth";q=3;w=60');
    expectLimited(await logIn(service, wrong(account), ip), '"auth";q=3;w=60');
  });

  test('that fail are limited per account, from whatever address, but its owner is let in from another', async () => {
    const account = await newAccount();
    await createKey(service, account);
    for (const ip of ['203.0.113.3', '203.0.113.4', '2001:db8::1'])
      expect((await logIn(service, wrong(account), ip)).status).toBe(401);
    expectLimited(await logIn(service, wrong(account), '203.0.113.5'), '"auth";q=3;w=60');
    const loud = wrong({ email: account.email.toUpperCase() });
    expectLimited(await logIn(service, loud, '203.0.113.6'), '"auth";q=3;w=60');
    const { status, body } = await logIn(service, account, '203.0.113.7');
    expect(status).toBe(200);
    const options = { account, ...from('203.0.113.7') };
    expect((await call(service, 'DELETE', `/v1/api-keys/${body[0].id}`, options)).status).toBe(204);
  });

  test.each([
    [
      'an IPv6 network',
      ['2001:db8:1::1', '2001:db8:1::b:c:d', '2001:db8:1:0:ffff:ffff:ffff:ffff', '2001:db8:1:0:1::'],
      429,
    ],
    ['an IPv4 address', ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '192.0.2.1'], 429],
    ['an IPv4 address with ports', ['192.0.2.2:1', '192.0.2.2:2', '[::ffff:192.0.2.2]:3', '192.0.2.2'], 429],
    [
      'an IPv6 network with ports',
      ['[2001:db8:2::1]:1', '[2001:db8:2::1]:2', '[2001:db8:2::2]', '2001:db8:2::3'],
      429,
    ],
    ['what is no address', ['unknown', '_hidden', '1.2.3', 'x:1'], 429],
    ['different networks', ['2001:db8:3::1', '2001:db8:3:1::1', '2001:db8:4::1', '192.0.2.3'], 201],
  ])('from %s are counted together, however the address is written', async (_name, addresses, last) => {
    const answers: Answer[] = [];
    for (const ip of addresses) answers.push(await signUp(service, ip));
    expect(statuses(answers)).toEqual([201, 201, 201, last]);
  });

  test('from an address that has none left leave the account as it was', async () => {
    await times(3, () => signUp(service, '203.0.113.8'));
    const refused = await times(5, () => signUp(service, '203.0.113.8', 'wanted@example.com'));
    expect(statuses(refused)).toEqual(Array(5).fill(429));
    expect((await signUp(service, '203.0.113.9', 'wanted@example.com')).status).toBe(201);
  });

  describe('cannot be got round by changing the email of an account, which', () => {
    const change = (account: Credentials, body: object, ip: string) =>
      call(service, 'PATCH', '/v1/accounts/current', { account, body, ...from(ip) });

    test('is counted per address with the sign-ups, and says for how long to wait', async () => {
      const [taken, account] = [await newAccount(), await newAccount()];
      const ip = '203.0.113.20';
      expect((await signUp(service, ip)).status).toBe(201);
      const tries = await times(2, () => change(account, { email: taken.email }, ip));
      expect(statuses(tries)).toEqual([409, 409]);
      expectLimited(await change(account, { email: taken.email.toUpperCase() }, ip), '"auth";q=3;w=60');
      expectLimited(await change(account, { email: newEmail() }, ip), '"auth";q=3;w=60');
      expectLimited(await signUp(service, ip), '"auth";q=3;w=60');
    });

    test('is counted per account, from whatever address: that which is changed, and that which is asked for', async () => {
      const [account, taken] = [await newAccount(), await newAccount()];
      const others = await times(4, newAccount);
      const tried = [];
      for (const [i, { email }] of others.entries())
        tried.push(await change(account, { email }, `203.0.113.${21 + i}`));
      expect(statuses(tried)).toEqual([409, 409, 409, 429]);
      const asked = [];
      for (const [i, other] of others.entries())
        asked.push(await change(other, { email: taken.email }, `203.0.113.${31 + i}`));
      // The account that has this email has signed up with it in this minute.
      expect(statuses(asked)).toEqual([409, 409, 429, 429]);
    });

    test('is not counted if it changes only its case or something else, nor if it is refused before', async () => {
      const account = await newAccount();
      const ip = '203.0.113.40';
      const password = { password: PASSWORD };
      const harmless = [password, { email: account.email.toUpperCase(), ...password }, { revokeKeys: true }];
      for (const body of [...harmless, ...harmless])
        expect((await change(account, body, ip)).status).toBe(200);
      expect((await change(account, { email: 'none' }, ip)).status).toBe(400);
      expect(statuses(await times(3, () => signUp(service, ip)))).toEqual([201, 201, 201]);
    });
  });

  test('can come in a burst if they succeed, but not if they fail', async () => {
    const account = await newAccount();
    const burst = (one: Credentials) =>
      Promise.all(Array.from({ length: 20 }, () => logIn(service, one, '203.0.113.10')));
    // 503 is the answer of a machine that is too busy: a password takes it 36 ms.
    const welcome = statuses(await burst(account)).filter((status) => status !== 503);
    expect(new Set(welcome)).toEqual(new Set([200]));
    const failures = statuses(await burst(wrong(account))).filter((status) => status !== 503);
    expect(failures.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
    expect(new Set(failures)).toEqual(new Set([401, 429]));
  });

  test.each(['%a-b', '%br-1f', '%eth0.100', '%1'])(
    'count a link-local address for itself, whatever its zone %s',
    async (zone) => {
      const [one, other] = [randomBytes(2).toString('hex'), randomBytes(2).toString('hex')];
      const answers = await times(3, () => signUp(service, `fe80::${one}${zone}`));
      expect(statuses(answers)).toEqual([201, 201, 201]);
      expectLimited(await signUp(service, `fe80:0::${one}`), '"auth";q=3;w=60');
      expectLimited(await signUp(service, `fe80::${one}%other`), '"auth";q=3;w=60');
      expect((await signUp(service, `fe80::${other}${zone}`)).status).toBe(201);
    },
  );

  test('are counted by whatever text a proxy has for an address', async () => {
    const part = fc.constantFrom(
      'fe80::',
      '::',
      '::ffff:',
      '1',
      '%',
      '%a-b',
      '.',
      ':',
      '[',
      ']',
      '/',
      '1.2.3.4',
    );
    const parts = fc.array(fc.oneof(part, fc.string({ maxLength: 3 })), { maxLength: 8 });
    const address = fc.oneof(fc.ipV6(), fc.ipV4(), fc.ipV4Extended());
    const text = fc.oneof(
      parts.map((all) => all.join('')),
      fc.tuple(address, fc.string()).map(([ip, zone]) => `${ip}%${zone}`),
      address.map((ip) => `[${ip}]:80`),
    );
    const ask = (ip: string) => fetch(`${service.url}/health/live`, from(ip));
    // What no header can hold is not sent.
    const isSent = (value: string) => /^[\t\x20-\x7e]*$/.test(value);
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        expect(typeof networkOf(value)).toMatch(/string|undefined/);
        if (isIP(value)) expect(networkOf(value)).toBe(networkOf(value.replace(/%.*/, '')));
        if (isSent(value)) expect((await ask(value)).status).toBe(200);
      }),
      { numRuns: 1_000 },
    );
  });

  test('ignore X-Forwarded-For without TRUST_PROXY', async () => {
    const direct = await startService({ AUTH_LIMIT_PER_MINUTE: '3' });
    const forged = () => signUp(direct, `192.0.2.${Math.floor(Math.random() * 255)}`);
    expect(statuses(await times(4, forged))).toEqual([201, 201, 201, 429]);
    await direct.stop();
  });

  test('do not limit requests with a key', async () => {
    const key = await createKey(service, await newAccount());
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
