import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type Answer,
  call,
  type CallOptions,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  send,
} from './support/client.js';
import { document, inWorkingOrder, operations, pathFrom, type Placed, seen } from './support/contract.js';
import { eventually } from './support/npm.js';
import { Proxy } from './support/proxy.js';
import { createDatabase, query, type Service, startService } from './support/service.js';

/** Milliseconds that the last fact waits for the files that still run beside this one. */
const OTHERS_MS = 90_000;

let service: Service;
let key: string;
let account: Credentials & { id: number };

beforeAll(async () => {
  service = await startService();
  account = await createAccount(service);
  key = await createKey(service, account);
});
afterAll(() => service.stop());

const all = operations.map((one) => [one.operation.operationId, one] as const);
const withBody = all.filter(([, { operation }]) => operation.requestBody);

/** A path of an operation, with its parameters filled in. */
const pathOf = ({ path }: Placed) =>
  pathFrom(path.replace('{messageId}', '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70').replace(/\{\w+\}/g, '1'));

const exampleOf = ({ operation }: Placed) => operation.requestBody?.content['application/json']!.example;

/** The credentials that an operation requires. */
function credentials({ operation }: Placed): CallOptions {
  const scheme = Object.keys(operation.security[0] ?? {})[0];
  if (scheme === 'basicAuth') return { account };
  return scheme ? { key } : {};
}

/** Sends the start of a request for an operation over a socket. */
const begin = (one: Placed, rest: string) =>
  send(service, `${one.method} ${pathOf(one)} HTTP/1.1\r\nHost: x\r\n${authorization(one)}${rest}`, {
    method: one.method,
    path: pathOf(one),
    waitMs: 100,
  });

function authorization(one: Placed): string {
  const { key: bearer, account: basic } = credentials(one);
  if (basic) return `Authorization: Basic ${btoa(`${basic.email}:${basic.password}`)}\r\n`;
  return bearer ? `Authorization: Bearer ${bearer}\r\n` : '';
}

describe('The examples of the document', () => {
  test('work as they stand, one after another, on a fresh database', async () => {
    const fresh = await startService();
    const statuses: string[] = [];
    let owner: Credentials | undefined;
    let ownKey = '';
    let messageId = '';
    const lasting = inWorkingOrder(operations).filter(({ method }) => method !== 'DELETE');
    for (const one of lasting) {
      const { operationId, security } = one.operation;
      const access = Object.keys(security[0] ?? {})[0];
      const auth: CallOptions = access === 'basicAuth' ? { account: owner } : access ? { key: ownKey } : {};
      const path = pathOf(one).replace('019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70', messageId);
      const answer = await call(fresh, one.method, path, { ...auth, body: exampleOf(one) });
      statuses.push(`${operationId} ${answer.status}`);
      if (operationId === 'createAccount') owner = exampleOf(one) as Credentials;
      if (operationId === 'createApiKey') ownKey = answer.body.key;
      if (operationId === 'submitMessage') messageId = answer.body.id;
      if (operationId === 'createAccount') ownKey = await createKey(fresh, owner);
    }
    await fresh.stop();
    expect(statuses.filter((line) => !/ 20[012]$/.test(line))).toEqual([]);
    expect(statuses).toHaveLength(lasting.length);
  });

  test.each(withBody)('%s has one that its own schema accepts', (_id, one) => {
    expect(exampleOf(one)).toEqual(expect.any(Object));
  });
});

describe('Every operation', () => {
  test.each(withBody)(
    '%s refuses a body that is not JSON, has no type, is too large or strangely encoded',
    async (_id, one) => {
      const attempt = (body: unknown, headers: Record<string, string> = {}) =>
        call(service, one.method, pathOf(one), { ...credentials(one), body, headers });
      expectError(await attempt('{'), 400, 'invalid_json');
      expectError(await attempt('{}', { 'Content-Type': 'text/plain' }), 400, 'invalid_content_type');
      expectError(await attempt('[]'), 400, 'validation_failed');
      expectError(await attempt(`"${'x'.repeat(103_000)}"`), 413, 'payload_too_large');
      expectError(await attempt('{}', { 'Content-Encoding': 'rot13' }), 415, 'unsupported_encoding');
    },
  );

  test.each(all.filter(([, { path }]) => path.includes('{')))(
    '%s refuses an invalid id',
    async (_id, one) => {
      const path = pathFrom(one.path.replace(/\{\w+\}/g, 'x'));
      expectError(
        await call(service, one.method, path, { ...credentials(one), body: exampleOf(one) }),
        400,
        'validation_failed',
      );
    },
  );

  test.each(all.filter(([, { operation }]) => operation.parameters?.some(({ name }) => name === 'limit')))(
    '%s refuses an invalid limit and cursor',
    async (_id, one) => {
      const list = (search: string) => call(service, 'GET', pathOf(one) + search, credentials(one));
      expectError(await list('?limit=0'), 400, 'validation_failed');
      expectError(await list('?cursor=x'), 400, 'invalid_cursor');
    },
  );

  test.each(all)('%s answers 417 and 431 to headers that cannot be served', async (_id, one) => {
    expectError(await begin(one, 'Expect: miracles\r\n\r\n'), 417, 'expectation_failed');
    expectError(await begin(one, `X: ${'x'.repeat(17_000)}\r\n\r\n`), 431, 'headers_too_large');
    expectError(await begin(one, 'no header\r\n\r\n'), 400, 'bad_request');
  });

  test('answers 429 once its limit is used up', async () => {
    const env = { DATABASE_URL: service.databaseUrl, AUTH_LIMIT_PER_MINUTE: '1', KEY_LIMIT_PER_MINUTE: '1' };
    const limited = await startService(env);
    await call(limited, 'POST', '/v1/accounts', {
      body: { email: 'one@example.com', password: 'correct horse battery' },
    });
    await call(limited, 'GET', '/v1/api-keys', { account: { ...account, password: 'wrong' } });
    await call(limited, 'GET', '/v1/pets', { key });
    for (const one of operations) {
      const answer = await call(limited, one.method, pathOf(one), {
        ...credentials(one),
        body: exampleOf(one),
      });
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await limited.stop();
  });

  test('answers 408 to a request that does not end', async () => {
    const answers = await Promise.all(operations.map((one) => begin(one, 'X:')));
    for (const answer of answers) expectError(answer, 408, 'request_timeout');
  });
});

describe('Every keyed operation', () => {
  const keyed = all.filter(([, { operation }]) =>
    operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
  );
  const attempt = (one: Placed, idempotencyKey: string) => {
    const headers = { 'Idempotency-Key': idempotencyKey };
    return call(service, one.method, pathOf(one), { ...credentials(one), body: exampleOf(one), headers });
  };

  test.each(keyed)('%s refuses an invalid Idempotency-Key', async (_id, one) => {
    expectError(await attempt(one, 'a b'), 400, 'validation_failed');
  });

  test.each(keyed)('%s refuses one that was used for another request', async (id, one) => {
    const body = { name: 'Luna', categoryId: 1, status: 'sold' };
    await call(service, 'POST', '/v1/pets', { key, body, headers: { 'Idempotency-Key': `used-${id}` } });
    expectError(await attempt(one, `used-${id}`), 422, 'idempotency_key_reused');
  });

  test.each(keyed)('%s refuses one whose first request is still running', async (id, one) => {
    const database = new Client({ connectionString: service.databaseUrl });
    await database.connect();
    const lock = 'SELECT pg_advisory_lock(hashtextextended($1, $2::bigint))';
    await database.query(lock, [`running-${id}`, account.id]);
    expectError(await attempt(one, `running-${id}`), 409, 'idempotency_key_in_use');
    await database.end();
  });
});

describe('A failing database', () => {
  const everywhere = async (failing: Service): Promise<Answer[]> =>
    Promise.all(
      operations.map((one) =>
        call(failing, one.method, pathOf(one), { ...credentials(one), body: exampleOf(one) }),
      ),
    );

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
    for (const answer of await everywhere(other)) expect(answer.status).not.toBe(503);
    await other.stop();
    proxy.stop();
  });

  test('that lacks a table makes every operation answer 500, disclosing nothing', async () => {
    const databaseUrl = await createDatabase();
    const other = await startService({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'debug' });
    await query(databaseUrl, 'DROP TABLE messages, orders, pets, categories, api_keys, accounts CASCADE');
    for (const answer of await everywhere(other)) {
      const message = expectError(answer, 500, 'internal_error');
      expect(message).toBe('Something went wrong on our side.');
    }
    await eventually(() => other.output().includes('relation \\"api_keys\\" does not exist'), 2_000);
    const sent = operations.flatMap((one) =>
      Object.values((exampleOf(one) ?? {}) as Record<string, unknown>),
    );
    const personal = [
      key,
      account.email,
      account.password,
      ...sent.filter((value) => typeof value === 'string'),
    ];
    for (const text of personal) expect(other.output()).not.toContain(text);
    await other.stop();
  });
});

const allFilesRun = process.env.TEST_ALL_FILES === 'yes';
if (!allFilesRun)
  console.warn('Not all files run, so it is not checked that every documented status was seen.');

describe('Over all tests', () => {
  (allFilesRun ? test : test.skip)(
    'every documented status has been answered and checked against the document',
    async () => {
      const documented = operations.flatMap(({ operation }) =>
        Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
      );
      const missing = () => documented.filter((pair) => !seen().has(pair));
      // The file before this one may still be running.
      for (let waited = 0; waited < OTHERS_MS && missing().length > 0; waited += 500) await sleep(500);
      expect(missing()).toEqual([]);
      expect(document.openapi).toBe('3.1.0');
    },
    120_000,
  );
});
