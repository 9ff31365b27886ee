import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import {
  type Answer,
  call,
  type CallOptions,
  createCheapAccount,
  createKey,
  type Credentials,
  credentialsFor,
  expectError,
  send,
} from '../../src/testing/client.js';
import {
  addressOf,
  codesOf,
  contentOf,
  exampleOf,
  isOfProduct,
  isPublic,
  operations,
  type Placed,
} from '../../src/testing/document.js';
import { PROVOKED, testEveryOperation } from '../../src/testing/every-operation.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

let service: Service;
let key: string;
let account: Credentials & { id: number };

beforeAll(async () => {
  service = await startService();
  account = await createCheapAccount(service);
  key = await createKey(service, account);
});
afterAll(() => service.stop());

/** Sends the example of an operation with its credentials, unless `options` say otherwise. */
const ask = (one: Placed, options: CallOptions = {}, at = service) =>
  call(at, one.method, addressOf(one), {
    ...credentialsFor(one, { key, account }),
    ...contentOf(one),
    ...options,
  });

/** Sends the start of a request for an operation over a socket. */
const begin = (one: Placed, rest: string) =>
  send(service, `${one.method} ${addressOf(one)} HTTP/1.1\r\nHost: x\r\n${authorization(one)}${rest}`, {
    method: one.method,
    path: addressOf(one),
  });

function authorization(one: Placed): string {
  const { key: bearer, account: basic } = credentialsFor(one, { key, account });
  if (basic) return `Authorization: Basic ${btoa(`${basic.email}:${basic.password}`)}\r\n`;
  return bearer ? `Authorization: Bearer ${bearer}\r\n` : '';
}

testEveryOperation();

/** Codes that come in time or with the state of the service, so for all operations at once. */
const AT_ONCE = ['request_timeout', 'rate_limited', 'internal_error', 'service_unavailable'];

/** What asks the database for a key or an account; what a feature opens to everybody may not, and has no limit. */
const checked = operations.filter((one) => !isPublic(one) || isOfProduct(one));

describe('Every operation', () => {
  test('answers 429 once its limit is used up', async () => {
    const env = { DATABASE_URL: service.databaseUrl, AUTH_LIMIT_PER_MINUTE: '1', KEY_LIMIT_PER_MINUTE: '1' };
    const limited = await startService(env);
    await call(limited, 'POST', '/v1/accounts', {
      body: { email: 'one@example.com', password: 'correct horse battery' },
    });
    await call(limited, 'GET', '/v1/api-keys', { account: { ...account, password: 'wrong' } });
    await call(limited, 'GET', '/v1/pets', { key });
    for (const one of checked) {
      const answer = await ask(one, {}, limited);
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await limited.stop();
  });

  test('answers 408 to a request that does not end', async () => {
    const answers = await Promise.all(operations.map((one) => begin(one, 'X:')));
    for (const answer of answers) expectError(answer, 408, 'request_timeout');
  });

  test('documents no code but those above, unless a test expects it', () => {
    const tests = globSync('test/{,platform/}*.test.ts').map((file) => readFileSync(file, 'utf8'));
    const here = new Set([...Object.keys(PROVOKED), ...AT_ONCE]);
    const own = new Set(operations.flatMap(codesOf).filter((code) => !here.has(code)));
    const untested = [...own].filter((code) => !tests.some((text) => text.includes(`'${code}'`)));
    expect(untested.map((code) => `Test when ${code} is answered`)).toEqual([]);
  });
});

describe('A failing database', () => {
  /** As an account that may be closed, should the database not fail. */
  let has: CallOptions;
  beforeAll(async () => {
    const own = await createCheapAccount(service);
    has = { account: own, key: await createKey(service, own) };
  });
  const everywhere = async (failing: Service): Promise<Answer[]> =>
    Promise.all(checked.map((one) => ask(one, credentialsFor(one, has), failing)));

  test('that is away makes every operation answer 503, until it is back', async () => {
    const proxy = await Proxy.start(service.databaseUrl);
    const other = await startService({ DATABASE_URL: proxy.url });
    proxy.stop();
    for (const answer of await everywhere(other)) {
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expectError(await call(other, 'GET', '/health/ready'), 503, 'service_unavailable');
    expect((await call(other, 'GET', '/health/live')).status).toBe(200);
    await proxy.mend();
    await eventually(async () => (await everywhere(other)).every(({ status }) => status !== 503));
    await other.stop();
    proxy.stop();
  });

  test('that answers late, or not at all, makes no complete request wait longer than three seconds', async () => {
    const proxy = await Proxy.start(service.databaseUrl);
    const other = await startService({ DATABASE_URL: proxy.url });
    const own = await createKey(service);
    const keyed = { 'Idempotency-Key': randomUUID() };
    const ask = async (method: string, path: string, body?: unknown, headers = {}) => {
      const begun = performance.now();
      const { status } = await call(other, method, path, { key: own, body, headers });
      return { status, ms: performance.now() - begun };
    };
    await ask('GET', '/v1/pets');
    for (const late of [450, 700, Infinity]) {
      if (late === Infinity) proxy.swallow();
      else proxy.delay(late);
      const answers = await Promise.all([
        ask('GET', '/v1/pets?status=available'),
        ask('POST', '/v1/pets', { name: 'Luna', categoryId: 1 }, keyed),
        ask('POST', '/v1/store/orders', { petId: 1 }, { 'Idempotency-Key': randomUUID() }),
        ask('PATCH', '/v1/store/orders/1', { status: 'cancelled' }),
        ask('POST', '/v1/messages', { message: 'late' }),
      ]);
      for (const { ms } of answers) expect(ms).toBeLessThan(3_500);
      if (late === Infinity) expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    }
    proxy.pass();
    proxy.delay(0);
    await eventually(
      async () => (await ask('POST', '/v1/pets', { name: 'Luna', categoryId: 1 }, keyed)).status === 201,
    );
    const [{ pets }] = (await query(
      service.databaseUrl,
      `SELECT count(*)::int AS pets FROM idempotency_keys WHERE key = $1`,
      [keyed['Idempotency-Key']],
    )) as [{ pets: number }];
    expect(pets).toBe(1);
    await other.stop();
    proxy.stop();
  });

  test('that falls silent to connections which were idle for a while is connected to anew', async () => {
    const proxy = await Proxy.start(service.databaseUrl);
    const other = await startService({ DATABASE_URL: proxy.url, DATABASE_POOL_SIZE: '2' });
    const own = await createKey(service);
    const list = () => call(other, 'GET', '/v1/pets', { key: own });
    expect((await list()).status).toBe(200);
    await sleep(2_000);
    proxy.strand();
    await eventually(async () => (await list()).status === 200);
    await other.stop();
    proxy.stop();
  });

  test('that answers late leaves a line in the log that names a request which ran out of its time', async () => {
    const proxy = await Proxy.start(service.databaseUrl);
    const other = await startService({ DATABASE_URL: proxy.url });
    await call(other, 'GET', '/v1/pets', { key: await createKey(service) });
    const key = await createKey(service);
    const pet = { name: 'Luna', categoryId: 1, status: 'available' };
    const { id: petId } = (await call(service, 'POST', '/v1/pets', { key, body: pet })).body;
    // The look-up of the API key, and a transaction of several statements, which a write without a key of its own is.
    proxy.delay(600);
    const headers = { 'X-Request-Id': 'a-late-one' };
    const answer = await call(other, 'POST', '/v1/store/orders', { key, body: { petId }, headers });
    const line = 'POST /v1/store/orders, request a-late-one';
    await eventually(() => other.output().includes(line), 5_000).catch(() => {});
    await other.stop();
    proxy.stop();
    expectError(answer, 503, 'service_unavailable');
    expect(other.output()).toContain(line);
  });

  test.each([
    [
      'whose columns get another type, there and back,',
      ['pets', 'orders', 'messages', 'idempotency_keys', 'categories', 'api_keys'].flatMap((table) => {
        const column = {
          messages: 'message',
          idempotency_keys: 'body',
          categories: 'name',
          api_keys: 'name',
        }[table];
        const alter = (type: string) => `ALTER TABLE ${table} ALTER ${column ?? 'status'} TYPE ${type}`;
        return [alter('varchar(9999)'), alter('text')];
      }),
      [],
    ],
    [
      'whose sessions forget their prepared statements',
      [
        `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$`,
        'CREATE TRIGGER forget AFTER INSERT ON pets EXECUTE FUNCTION forget()',
        'CREATE TRIGGER forget AFTER INSERT ON idempotency_keys EXECUTE FUNCTION forget()',
      ],
      ['DROP TRIGGER forget ON pets', 'DROP TRIGGER forget ON idempotency_keys'],
    ],
  ])(
    '%s answers reads all the time, writes again within three seconds, and none with 500',
    async (_what, changes, ends) => {
      const other = await startService();
      const own = await createKey(other);
      const ask = (method: string, path: string, body?: object, headers = {}) =>
        call(other, method, path, { key: own, body, headers });
      const keyed = () => ({ 'Idempotency-Key': randomUUID() });
      const pet = { name: 'Luna', categoryId: 1, status: 'available' };
      const first = (await ask('POST', '/v1/pets', pet)).body.id as number;
      const reads = [
        () => ask('GET', '/v1/pets?status=available'),
        () => ask('GET', `/v1/pets/${first}`),
        () => ask('GET', '/v1/store/orders'),
        () => ask('GET', '/v1/categories'),
      ];
      const writes = [
        () => ask('POST', '/v1/pets', pet),
        () => ask('POST', '/v1/pets', pet, keyed()),
        () => ask('POST', '/v1/messages', { message: 'Hello' }, keyed()),
        async () => {
          const added = await ask('POST', '/v1/pets', pet);
          if (added.status !== 201) return added;
          const order = await ask('POST', '/v1/store/orders', { petId: added.body.id }, keyed());
          if (order.status !== 201) return order;
          return ask('PATCH', `/v1/store/orders/${order.body.id}`, { status: 'approved' }, keyed());
        },
      ];
      const failed = { reads: new Set<number>(), writes: new Set<number>() };
      let lastFailure = 0;
      const end = new AbortController();
      const run = async (kind: 'reads' | 'writes', send: () => Promise<Answer>) => {
        while (!end.signal.aborted) {
          const { status } = await send();
          if (status < 300) continue;
          failed[kind].add(status);
          lastFailure = performance.now();
        }
      };
      // Twice, so that each has been sent over most of the connections.
      const load = [...reads, ...reads].map((send) => run('reads', send));
      load.push(...[...writes, ...writes].map((send) => run('writes', send)));
      await sleep(500);
      for (const sql of changes) {
        await query(other.databaseUrl, sql);
        await sleep(100);
      }
      const changed = performance.now();
      await sleep(4_000);
      end.abort();
      await Promise.all(load);
      for (const sql of ends) await query(other.databaseUrl, sql);
      expect([...failed.reads]).toEqual([]);
      expect([...failed.writes].filter((status) => status !== 503)).toEqual([]);
      expect(lastFailure - changed).toBeLessThan(3_000);
      expect(other.output()).toContain('Prepared statements are lost');
      await other.stop();
    },
  );

  test('that lacks a table makes every operation answer 500, disclosing nothing', async () => {
    const databaseUrl = await createDatabase();
    const other = await startService({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'debug' });
    await query(databaseUrl, 'DROP TABLE accounts, api_keys CASCADE');
    for (const answer of await everywhere(other)) {
      const message = expectError(answer, 500, 'internal_error');
      expect(message).toBe('Something went wrong on our side.');
    }
    await eventually(() => other.output().includes('relation \\"api_keys\\" does not exist'));
    const sent = operations.flatMap((one) =>
      Object.values((exampleOf(one) ?? {}) as Record<string, unknown>),
    );
    const personal = [
      has.key!,
      has.account!.email,
      has.account!.password,
      ...sent.filter((value) => typeof value === 'string'),
    ];
    for (const text of personal) expect(other.output()).not.toContain(text);
    await other.stop();
  });
});
