import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import {
  type Answer,
  call,
  type CallOptions,
  createCheapAccount,
  createKey,
  credentialsFor,
  expectError,
} from '../../src/testing/client.js';
import {
  addressOf,
  codesOf,
  contentOf,
  exampleOf,
  isPublic,
  operations,
  type Placed,
} from '../../src/testing/document.js';
import { isOfProduct } from '../support/product.js';
import { PROVOKED, testEveryOperation } from '../../src/testing/every-operation.js';
import {
  createDatabase,
  query,
  type Service,
  sharedService,
  startService,
} from '../../src/testing/service.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';

testEveryOperation();

describe('Every operation', () => {
  const service = sharedService();

  test('that needs credentials answers 401 before it looks at anything else, however invalid the rest is', async () => {
    for (const one of operations.filter((each) => !isPublic(each))) {
      const isBasic = 'basicAuth' in one.operation.security[0]!;
      const address = addressOf(one, () => 'x', { limit: 'x' });
      for (const body of one.method === 'GET' ? [undefined] : [undefined, '{', '\0']) {
        const answer = await call(service, one.method, address, { body });
        expectError(answer, 401, isBasic ? 'invalid_credentials' : 'missing_api_key');
        expect(answer.headers.get('www-authenticate')).toMatch(isBasic ? /^Basic realm=/ : /^Bearer realm=/);
      }
    }
  });

  test('answers 405 with Allow to a method that its path does not have', async () => {
    for (const [, all] of Map.groupBy(operations, ({ path }) => path)) {
      const own = all.map(({ method }) => method);
      const other = ['PUT', 'PATCH', 'DELETE', 'POST', 'GET'].find((method) => !own.includes(method))!;
      const answer = await call(service, other, addressOf(all[0]!));
      expectError(answer, 405, 'method_not_allowed');
      const heads = own.includes('GET') ? ['HEAD'] : [];
      const allowed = [...own, ...heads, 'OPTIONS'].toSorted().join(', ');
      expect(answer.headers.get('allow')).toBe(allowed);
    }
  });

  test('documents no code but those above, unless a test expects it', () => {
    const tests = globSync('test/{,platform/}*.test.ts').map((file) => readFileSync(file, 'utf8'));
    const own = new Set(operations.flatMap(codesOf).filter((code) => !(code in PROVOKED)));
    const untested = [...own].filter((code) => !tests.some((text) => text.includes(`'${code}'`)));
    expect(untested.map((code) => `Test when ${code} is answered`)).toEqual([]);
  });
});

/** One after the other, on one service; the last of them it does not survive. */
describe('A failing database', () => {
  let proxy: Proxy;
  let service: Service;
  let databaseUrl: string;
  beforeAll(async () => {
    databaseUrl = await createDatabase('TEMPLATE migrated');
    proxy = await Proxy.start(databaseUrl);
    service = await startService({ DATABASE_URL: proxy.url, LOG_LEVEL: 'debug' });
  });
  afterAll(async () => {
    await service.stop();
    proxy.stop();
  });

  /** What asks the database for a key or an account; what a feature opens to everybody may not. */
  const checked = operations.filter((one) => !isPublic(one) || isOfProduct(one));
  const everywhere = (has: CallOptions): Promise<Answer[]> => {
    const optionsOf = (one: Placed) => ({ ...credentialsFor(one, has), ...contentOf(one) });
    return Promise.all(checked.map((one) => call(service, one.method, addressOf(one), optionsOf(one))));
  };
  const credentials = async () => {
    const account = await createCheapAccount({ ...service, databaseUrl });
    return { account, key: await createKey(service, account) };
  };
  /** Sends requests of one account, each of which tells how long it took. */
  const client =
    (key: string) =>
    async (method: string, path: string, body?: object, headers = {}) => {
      const begun = performance.now();
      const answer = await call(service, method, path, { key, body, headers });
      return { ...answer, ms: performance.now() - begun };
    };
  const keyed = () => ({ 'Idempotency-Key': randomUUID() });
  const PET = { name: 'Luna', categoryId: 1, status: 'available' };

  test('that is away makes every operation answer 503, until it is back', async () => {
    const has = await credentials();
    proxy.stop();
    for (const answer of await everywhere(has)) {
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expectError(await call(service, 'GET', '/health/ready'), 503, 'service_unavailable');
    expect((await call(service, 'GET', '/health/live')).status).toBe(200);
    await proxy.mend();
    await eventually(async () => (await everywhere(has)).every(({ status }) => status !== 503));
  });

  const READ_ONLY = 'default_transaction_read_only';
  /** Sets or resets something of the database, and ends its sessions. It is done from another one: this may be read only. */
  const alter = async (change: string) => {
    const name = new URL(databaseUrl).pathname.slice(1);
    const server = process.env.TEST_DATABASE_URL!;
    await query(server, `ALTER DATABASE ${name} ${change}`);
    await query(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  };

  test.each<[string, () => unknown, () => unknown]>([
    ['is gone', () => proxy.stop(), () => proxy.mend()],
    ['is silent', () => proxy.swallow(), () => (proxy.stop(), proxy.pass(), proxy.mend())],
    ['cannot be written', () => alter(`SET ${READ_ONLY} = on`), () => alter(`RESET ${READ_ONLY}`)],
  ])(
    'that %s makes the service not ready, and is written within 2 s of its address leading to another server',
    async (_how, lose, lead) => {
      const ask = client((await credentials()).key);
      const isReady = async () => (await call(service, 'GET', '/health/ready')).status === 200;
      expect((await ask('POST', '/v1/pets', PET)).status).toBe(201);
      await lose();
      await eventually(async () => (await ask('POST', '/v1/pets', PET)).status === 503);
      await eventually(async () => !(await isReady()));
      await lead();
      const begun = performance.now();
      await eventually(async () => (await ask('POST', '/v1/pets', PET)).status === 201);
      const followed = performance.now() - begun;
      const next = await ask('POST', '/v1/pets', PET);
      expect(next.status).toBe(201);
      // Beyond the two seconds, so many times what a write takes on a busy machine.
      expect(followed).toBeLessThan(2_000 + 10 * next.ms);
      await eventually(isReady);
      expect(service.output()).not.toContain(new URL(databaseUrl).password);
    },
  );

  test('that answers late, or not at all, makes no complete request wait longer than three seconds', async () => {
    const { key } = await credentials();
    const ask = client(key);
    const { id: petId } = (await ask('POST', '/v1/pets', PET)).body;
    const headers = keyed();
    // Later than this one, a statement is given up by itself; what needs several of them is not.
    for (const lateMs of [1_100, Infinity]) {
      if (lateMs === Infinity) proxy.swallow();
      else proxy.delay(lateMs);
      const answers = await Promise.all([
        ask('GET', '/v1/pets?status=available'),
        ask('POST', '/v1/pets', PET, headers),
        ask('POST', '/v1/store/orders', { petId }),
        ask('PATCH', '/v1/store/orders/1', { status: 'cancelled' }),
        ask('POST', '/v1/messages', { message: 'late' }),
      ]);
      const statuses = answers.map(({ status }) => status);
      if (lateMs === Infinity) expect(statuses).toEqual([503, 503, 503, 503, 503]);
      expect(statuses.filter((status) => ![200, 201, 202, 404, 503].includes(status))).toEqual([]);
      // A busy machine may take its time; five statements would take longer still.
      for (const { ms } of answers) expect(ms).toBeLessThan(5_000);
    }
    proxy.pass();
    proxy.delay(0);
    await eventually(async () => (await ask('POST', '/v1/pets', PET, headers)).status === 201);
    const kept = 'SELECT FROM idempotency_keys WHERE key = $1';
    expect(await query(databaseUrl, kept, [headers['Idempotency-Key']])).toHaveLength(1);
  });

  test('whose columns change, and whose sessions forget their prepared statements, fails no read, and no write for good', async () => {
    const { key } = await credentials();
    const ask = client(key);
    const { id } = (await ask('POST', '/v1/pets', PET)).body;
    const paths = ['/v1/pets?status=available', `/v1/pets/${id}`, '/v1/store/orders', '/v1/categories'];
    const order = async () => {
      const added = await ask('POST', '/v1/pets', PET);
      if (added.status !== 201) return added;
      const placed = await ask('POST', '/v1/store/orders', { petId: added.body.id }, keyed());
      if (placed.status !== 201) return placed;
      return ask('PATCH', `/v1/store/orders/${placed.body.id}`, { status: 'approved' }, keyed());
    };
    const failed = { reads: [] as Answer[], writes: [] as Answer[] };
    const isFailure = ({ status }: Answer) => status >= 300;
    const thrice = (send: () => Promise<Answer>[]) => Promise.all([send(), send(), send()].flat());
    /** Sends everything over several connections, and says whether all writes are made. */
    const useAll = async () => {
      const [reads, writes] = await Promise.all([
        thrice(() => paths.map((path) => ask('GET', path))),
        thrice(() => [
          ask('POST', '/v1/pets', PET),
          ask('POST', '/v1/pets', PET, keyed()),
          ask('POST', '/v1/messages', { message: 'Hello' }, keyed()),
          order(),
        ]),
      ]);
      failed.reads.push(...reads.filter(isFailure));
      failed.writes.push(...writes.filter(isFailure));
      return !writes.some(isFailure);
    };
    const column: Record<string, string> = {
      ...{ pets: 'status', orders: 'status', messages: 'message', idempotency_keys: 'body' },
      ...{ categories: 'name', api_keys: 'name' },
    };
    const forget = `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$;`;
    const changes = [
      ...['varchar(9999)', 'text'].map((type) =>
        Object.entries(column)
          .map(([table, name]) => `ALTER TABLE ${table} ALTER ${name} TYPE ${type};`)
          .join(''),
      ),
      ['pets', 'idempotency_keys'].reduce(
        (sql, table) => `${sql} CREATE TRIGGER forget AFTER INSERT ON ${table} EXECUTE FUNCTION forget();`,
        forget,
      ),
    ];
    await useAll();
    for (const sql of changes) {
      await query(databaseUrl, sql);
      await eventually(useAll);
    }
    await query(databaseUrl, 'DROP FUNCTION forget CASCADE');
    await eventually(useAll);
    expect([...failed.reads, ...failed.writes].filter(({ status }) => status !== 503)).toEqual([]);
    // A read may be too late on a busy machine, but not because of its statement.
    const logged = () => service.output().split('\n');
    const reasonOf = ({ headers }: Answer) =>
      logged().find((line) => line.includes(headers.get('x-request-id')!) && line.includes('unavailable: '));
    await eventually(() => failed.reads.every(reasonOf));
    const reasons = failed.reads.map(reasonOf);
    expect(reasons.filter((line) => /cached plan|prepared statement/.test(line!))).toEqual([]);
  });

  test('that lacks a table makes every operation answer 500, disclosing nothing', async () => {
    const has = await credentials();
    const before = service.output().length;
    await query(databaseUrl, 'DROP TABLE accounts, api_keys CASCADE');
    for (const answer of await everywhere(has))
      expect(expectError(answer, 500, 'internal_error')).toBe('Something went wrong on our side.');
    const logged = () => service.output().slice(before);
    await eventually(() => logged().includes('relation \\"api_keys\\" does not exist'));
    const sent = operations.filter(isOfProduct).flatMap((one) => Object.values(exampleOf(one) ?? {}));
    // A single word may be one that a feature of a team has in its paths and names, and so in the log.
    const texts = sent.filter((value) => /[ @]/.test(String(value)));
    const never = [has.key, has.account.email, has.account.password, ...texts];
    expect(never.filter((text) => logged().includes(text))).toEqual([]);
  });
});
