import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import {
  type Answer,
  call,
  createCheapAccount,
  createKey,
  type Credentials,
  credentialsFor,
  expectError,
  send,
} from '../../src/testing/client.js';
import { addressOf, contentOf, isPublic, operations } from '../../src/testing/document.js';
import { isOfProduct } from '../support/product.js';
import { type Service, sharedService, startService, type TestedService } from '../../src/testing/service.js';
import { eventually } from '../support/npm.js';
import { freePorts } from '../support/ports.js';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis) console.warn('The tests with Redis are skipped: no redis-server is installed.');

const { databaseUrl: DATABASE_URL } = sharedService();
const PASSWORD = 'correct horse battery';
const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;
const newAccount = () => createCheapAccount(sharedService());
const from = (ip?: string): { headers: Record<string, string> } => ({
  headers: ip === undefined ? {} : { 'X-Forwarded-For': ip },
});
const signUp = (service: TestedService, ip?: string, email = newEmail()) =>
  call(service, 'POST', '/v1/accounts', { body: { email, password: PASSWORD }, ...from(ip) });
const wrong = ({ email }: { email: string }) => ({ email, password: 'wrong' });
const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

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

/** Behind a proxy: each test comes from addresses of its own. */
let proxied: Service;
beforeAll(async () => {
  // Its sockets know an IPv4 address as ::ffff:127.0.0.1.
  const env = { AUTH_LIMIT_PER_MINUTE: '3', TRUST_PROXY: '1', HOST: '::', DATABASE_URL };
  const dual = await startService(env);
  proxied = { ...dual, url: dual.url.replace(/\/\/.*:/, '//127.0.0.1:') };
});
afterAll(() => proxied.stop());

describe('Sign-ups and log-ins', () => {
  const logIn = (account: Credentials, ip: string) =>
    call(proxied, 'GET', '/v1/api-keys', { account, ...from(ip) });
  const change = (account: Credentials, body: object, ip: string) =>
    call(proxied, 'PATCH', '/v1/accounts/current', { account, body, ...from(ip) });

  test('are limited per address, with what is left in the headers', async () => {
    const ip = '203.0.113.1';
    const answers = await times(3, () => signUp(proxied, ip));
    expect(statuses(answers)).toEqual([201, 201, 201]);
    const left = answers.map(({ headers }) => headers.get('ratelimit')?.split(';')[1]);
    expect(left).toEqual(['r=2', 'r=1', 'r=0']);
    expectLimited(await signUp(proxied, ip), '"auth";q=3;w=60');
    const empty = await call(proxied, 'POST', '/v1/accounts', { body: {}, ...from(ip) });
    expectError(empty, 400, 'validation_failed');
    // What was refused has left the account as it was.
    const wanted = newEmail();
    expect((await signUp(proxied, ip, wanted)).status).toBe(429);
    expect((await signUp(proxied, '203.0.113.9', wanted)).status).toBe(201);
  });

  test('that fail are limited per address, whose right passwords are then refused too', async () => {
    const account = await newAccount();
    const ip = '203.0.113.2';
    expect(statuses(await times(8, () => logIn(account, ip)))).toEqual(Array(8).fill(200));
    expect(statuses(await times(3, () => logIn(wrong(account), ip)))).toEqual([401, 401, 401]);
    expectLimited(await logIn(account, ip), '"auth";q=3;w=60');
    expectLimited(await logIn(wrong(account), ip), '"auth";q=3;w=60');
  });

  test('that fail are limited per account, from whatever address, but its owner is let in from another', async () => {
    const account = await newAccount();
    for (const ip of ['203.0.113.3', '203.0.113.4', '2001:db8::1'])
      expect((await logIn(wrong(account), ip)).status).toBe(401);
    expectLimited(await logIn(wrong(account), '203.0.113.5'), '"auth";q=3;w=60');
    const loud = wrong({ email: account.email.toUpperCase() });
    expectLimited(await logIn(loud, '203.0.113.6'), '"auth";q=3;w=60');
    expect((await logIn(account, '203.0.113.7')).status).toBe(200);
  });

  test.each([
    ['an IPv6 network', '2001:db8:1::1 2001:db8:1::b:c:d 2001:db8:1:0:ffff:: 2001:db8:1:0:1::', 429],
    ['an IPv4 address', '192.0.2.1 ::ffff:192.0.2.1 ::ffff:c000:201 192.0.2.1', 429],
    ['an IPv4 address with ports', '192.0.2.2:1 192.0.2.2:2 [::ffff:192.0.2.2]:3 192.0.2.2', 429],
    ['a network with ports', '[2001:db8:2::1]:1 [2001:db8:2::1]:2 2001:db8:2::2 2001:db8:2::3', 429],
    ['a link-local address in zones', 'fe80::1%a-b fe80::1%eth0.100 fe80:0::1 fe80::1%1', 429],
    ['what is no address', 'unknown _hidden 1.2.3 x:1', 429],
    ['different networks', '2001:db8:3::1 2001:db8:3:1::1 fe80::2%a-b fe80::3%a-b', 201],
  ])('from %s are counted together, however the address is written', async (_name, addresses, last) => {
    const answers: Answer[] = [];
    for (const ip of addresses.split(' ')) answers.push(await signUp(proxied, ip));
    expect(statuses(answers)).toEqual([201, 201, 201, last]);
  });

  test('cannot be got round by changing the email of an account, which is counted with them', async () => {
    const [account, taken] = [await newAccount(), await newAccount()];
    const ip = '203.0.113.20';
    expect((await signUp(proxied, ip)).status).toBe(201);
    const tries = await times(2, () => change(account, { email: taken.email }, ip));
    expect(statuses(tries)).toEqual([409, 409]);
    expectLimited(await change(account, { email: taken.email.toUpperCase() }, ip), '"auth";q=3;w=60');
    expectLimited(await signUp(proxied, ip), '"auth";q=3;w=60');
    // By account, too: the one that is changed, and the one whose email is asked for.
    const others = await times(4, newAccount);
    const [asking, asked] = [await newAccount(), await newAccount()];
    const tried: Answer[] = [];
    for (const [i, { email }] of others.entries())
      tried.push(await change(asking, { email }, `203.0.113.${21 + i}`));
    for (const [i, other] of others.entries())
      tried.push(await change(other, { email: asked.email }, `203.0.113.${31 + i}`));
    expect(statuses(tried)).toEqual([409, 409, 409, 429, 409, 409, 409, 429]);
    // What changes only its case or something else is not counted, nor what is refused before.
    const harmless = [{ password: PASSWORD }, { email: asked.email.toUpperCase() }, { revokeKeys: true }];
    for (const body of [...harmless, ...harmless])
      expect((await change(asked, body, '203.0.113.40')).status).toBe(200);
    expect((await change(asked, { email: 'none' }, '203.0.113.40')).status).toBe(400);
    expect(statuses(await times(3, () => signUp(proxied, '203.0.113.40')))).toEqual([201, 201, 201]);
  });

  test('can come in a burst if they succeed, but not if they fail', async () => {
    const account = await newAccount();
    const burst = (one: Credentials) =>
      Promise.all(Array.from({ length: 20 }, () => logIn(one, '203.0.113.10')));
    // 503 is the answer of a machine that is too busy.
    const welcome = statuses(await burst(account)).filter((status) => status !== 503);
    expect(new Set(welcome)).toEqual(new Set([200]));
    const failures = statuses(await burst(wrong(account))).filter((status) => status !== 503);
    expect(failures.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
    expect(new Set(failures)).toEqual(new Set([401, 429]));
  });
});

test.each([
  ['https', 'https'],
  ['HTTPS', 'https'],
  ['https, http', 'https'],
  ['!', 'http'],
  ['ftp', 'http'],
])('Links behind a proxy take the scheme from X-Forwarded-Proto: %s', async (scheme, expected) => {
  const lines = ['GET /v1/categories?limit=1 HTTP/1.1', 'Host: x', `X-Forwarded-Proto: ${scheme}`];
  const authorization = `Authorization: Bearer ${await createKey(sharedService())}`;
  const { headers } = await send(proxied, `${[...lines, authorization].join('\r\n')}\r\n\r\n`);
  expect(headers.get('link')).toMatch(new RegExp(`^<${expected}://x/v1/`));
});

/** Without a proxy; beside another that shares its counts by Redis, if that is installed. */
describe('A service', () => {
  let redis: ChildProcess | undefined;
  let direct: Service;
  let other: Service | undefined;
  beforeAll(async () => {
    const [port] = await freePorts(1);
    if (hasRedis) redis = await startRedis(port!);
    const env = { DATABASE_URL, AUTH_LIMIT_PER_MINUTE: '6', KEY_LIMIT_PER_MINUTE: '5' };
    const start = () => startService(redis ? { ...env, REDIS_URL: `redis://127.0.0.1:${port}` } : env);
    [direct, other] = await Promise.all([start(), redis && start()]);
  });
  afterAll(async () => {
    redis?.kill('SIGKILL');
    expect(await Promise.all([direct.stop(), other?.stop() ?? 0])).toEqual([0, 0]);
  });

  test('counts together with all others on its Redis, and ignores X-Forwarded-For without TRUST_PROXY', async () => {
    const forged = (at: Service) => signUp(at, `192.0.2.${Math.floor(Math.random() * 255)}`);
    const alternately = await times(4, async () => [await forged(direct), await forged(other ?? direct)]);
    expect(statuses(alternately.flat())).toEqual([...Array(6).fill(201), 429, 429]);
  });

  test('counts the requests of each key separately', async () => {
    const [one, next] = [await createKey(sharedService()), await createKey(sharedService())];
    const list = (key: string) => call(direct, 'GET', '/v1/pets', { key });
    const answers = await times(7, () => list(one));
    expect(statuses(answers)).toEqual([...Array(5).fill(200), 429, 429]);
    expectLimited(answers[6]!, '"key";q=5;w=60');
    expect((await list(next)).headers.get('ratelimit')).toMatch(/^"key";r=4;t=\d+$/);
  });

  // What a feature opens to everybody asks for no key and no account, and has no limit.
  test('answers 429 to every operation once its limit is used up', async () => {
    const account = await newAccount();
    const key = await createKey(sharedService(), account);
    await times(5, () => call(direct, 'GET', '/v1/pets', { key }));
    await times(6, () => signUp(direct));
    await times(6, () => call(direct, 'GET', '/v1/api-keys', { account: wrong(account) }));
    for (const one of operations.filter((each) => !isPublic(each) || isOfProduct(each))) {
      const options = { ...credentialsFor(one, { key, account }), ...contentOf(one) };
      const answer = await call(direct, one.method, addressOf(one), options);
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });

  (hasRedis ? test : test.skip)('goes on, and counts by itself, while its Redis is away', async () => {
    redis!.kill('SIGKILL');
    await once(redis!, 'exit');
    expect((await signUp(direct)).status).toBe(201);
    await eventually(() => direct.output().includes('Redis is away'));
  });
});

async function startRedis(port: number): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const redis = spawn('redis-server', args);
  await new Promise<void>((resolve) => {
    redis.stdout.on('data', (chunk: Buffer) => chunk.includes('Ready to accept') && resolve());
  });
  return redis;
}
