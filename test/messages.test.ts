import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { readConfig } from '../src/config.js';
import {
  call,
  type CallOptions,
  createAccount,
  createKey,
  expectError,
  send,
  TIMESTAMP,
} from '../src/testing/client.js';
import {
  createDatabase,
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../src/testing/service.js';
import { hasOpenssl, localCertificate } from './support/certificate.js';
import { jobs as operateJobs } from './support/commands.js';
import { CHARACTER } from './support/character.js';
import { addJob } from './support/jobs.js';
import { readMetrics, valueOf } from './support/metrics.js';
import { eventually, ROOT } from './support/npm.js';
import { type Answer, type Behaviour, Receiver } from './support/receiver.js';

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const ADDRESSES = ['/messages', '/v1/messages'];

/** Where messages wait, as there is nobody to deliver them to. */
const service = sharedService();
let account: { id: number; email: string; password: string };
let key: string;

beforeAll(async () => {
  account = await createAccount(service);
  key = await createKey(service, account);
});

const submit = (body: unknown, options: CallOptions = {}, path = '/messages') =>
  call(service, 'POST', path, { key, body, ...options });
const get = (id: string, path = '/messages') => call(service, 'GET', `${path}/${id}`, { key });
const stored = (id: string) =>
  query<object>(service.databaseUrl, 'SELECT message, account_id FROM messages WHERE id = $1', [id]);

describe.each(ADDRESSES)('POST %s', (path) => {
  test('answers 202 with exactly id, message, status and createdAt, and the address', async () => {
    const before = Date.now();
    const { status, body, headers } = await submit({ message: 'Hello, world!' }, {}, path);
    expect(status).toBe(202);
    expect(body).toEqual({
      id: expect.stringMatching(UUID_V7),
      message: 'Hello, world!',
      status: 'queued',
      createdAt: expect.stringMatching(TIMESTAMP),
    });
    expect(headers.get('location')).toBe(`${service.url}${path}/${body.id}`);
    for (const from of ADDRESSES) expect((await get(body.id.toUpperCase(), from)).body).toEqual(body);
    // A UUID v7 has its time, to the millisecond.
    const ofId = Number.parseInt(body.id.replace('-', '').slice(0, 12), 16);
    for (const time of [Date.parse(body.createdAt), ofId]) {
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(Date.now() + 1);
    }
  });

  test('answers 400 as the quickstart does', async () => {
    expectError(await submit('{"message":', {}, path), 400, 'invalid_json');
    const missing = expectError(await submit({}, {}, path), 400, 'validation_failed');
    expect(missing).toBe('message is required.');
    const body = '{"message":"Hello"}';
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}`;
    const untyped = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expectError(await send(service, untyped, { method: 'POST', path }), 400, 'invalid_content_type');
  });

  test('answers 401 without a valid key', async () => {
    const body = { message: 'Hello' };
    expectError(await call(service, 'POST', path, { body }), 401, 'missing_api_key');
    expectError(await call(service, 'POST', path, { key: 'nonsense', body }), 401, 'invalid_api_key');
    expectError(await call(service, 'GET', `${path}/x`), 401, 'missing_api_key');
  });
});

describe('A message', () => {
  test('takes its id, status and time only from the service, and is in the database when it is answered', async () => {
    const id = '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70';
    const sent = { id, message: 'Mine', status: 'delivered', createdAt: '2000-01-01T00:00:00.000Z' };
    const { body } = await submit(sent);
    expect(await stored(body.id)).toEqual([{ message: 'Mine', account_id: String(account.id) }]);
    expect(body).toMatchObject({ message: 'Mine', status: 'queued' });
    expect([body.id === id, body.createdAt === sent.createdAt]).toEqual([false, false]);
  });

  test('of any text is kept exactly as sent', async () => {
    const text = fc.string({ unit: CHARACTER, minLength: 1 }).filter((one) => !one.includes('\0'));
    const odd = [' ', '  \t\r\ne\u0301 \u2028\u00a0\n', '\u0001\u001b[31m\u007f\ufeff"\'\\u0000\\'];
    await fc.assert(
      fc.asyncProperty(text, async (message) => {
        const { body } = await submit({ message });
        expect(body.message).toBe(message);
        expect((await get(body.id)).body.message).toBe(message);
        expect(await stored(body.id)).toMatchObject([{ message }]);
      }),
      { numRuns: 30, examples: odd.map((one) => [one]) },
    );
  });

  test('has up to 65,536 characters; of four bytes each, fewer fit into a body', async () => {
    for (const message of ['x'.repeat(65_536), '🐈'.repeat(25_000)]) {
      const { status, body } = await submit({ message });
      expect([status, body.message === message]).toEqual([202, true]);
      expect((await get(body.id)).body.message === message).toBe(true);
    }
    expectError(await submit({ message: 'x'.repeat(65_537) }), 400, 'validation_failed');
    expectError(await submit({ message: '🐈'.repeat(65_536) }), 413, 'payload_too_large');
  });

  test('that is refused is not stored', async () => {
    const own = 'SELECT FROM messages WHERE account_id = $1';
    const before = await query(service.databaseUrl, own, [account.id]);
    const refused = [{ message: '' }, { message: 'a\0b' }, '{"message":"\\udc08\\ud83d"}', { Message: 'x' }];
    for (const body of refused) expectError(await submit(body), 400, 'validation_failed');
    expect(await query(service.databaseUrl, own, [account.id])).toHaveLength(before.length);
  });
});

/** A service that is told of as the one that messages are sent to, and a key for it. */
interface At {
  at: TestedService;
  by: string;
}

async function queue(message: string, { at, by }: At): Promise<string> {
  const { status, body } = await call(at, 'POST', '/v1/messages', { key: by, body: { message } });
  expect([status, body.status]).toEqual([202, 'queued']);
  return body.id;
}
const statusOf = async (id: string, { at, by }: At): Promise<string> =>
  (await call(at, 'GET', `/v1/messages/${id}`, { key: by })).body.status;
const becomes = (id: string, status: string, where: At, withinMs?: number) =>
  eventually(async () => (await statusOf(id, where)) === status, withinMs);

describe('The receiver of messages', () => {
  const ONCE = [301, 302, 307, 401, 403, 404, 408, 409, 429, 500, 503].map((status) => `once ${status}`);
  const FINAL = [400, 410, 413, 422].map((status) => `always ${status}`);
  const DATE = new Date(Date.now() + 30_000).toUTCString();
  const WAITING = ['7', DATE, '999999999999', 'soon', '-1'].map((value) => `wait ${value}`);
  const HELLO = 'Hi 👩‍👩‍👧‍👦 e\u0301 \u202eשלום "\\u0000" \u2028 <b>';
  const NEXT_SECRET = `whsec_${Buffer.alloc(32, 'another').toString('base64')}`;
  const LONGEST_S = 40;

  /** The text of a message tells its receiver how to answer. */
  const behave: Behaviour = async ({ message }, nth): Promise<Answer> => {
    const [word, argument] = message.split(' ');
    const isFirst = nth === 1;
    if (word === 'always') return { status: Number(argument) };
    if (word === 'once' && isFirst) return { status: Number(argument), headers: { Location: '/elsewhere' } };
    if (word === 'wait' && isFirst) return { status: 503, headers: { 'Retry-After': message.slice(5) } };
    if (word === 'silent' && isFirst) return { status: 503 };
    if (word === 'silence' || word === 'silent') await new Promise(() => {});
    if (word === 'cut') return { status: 200, rest: (response) => void response.destroy() };
    if (word === 'endless') return { status: 200, rest: (response) => void response.write('x'.repeat(100)) };
    return { status: 200 };
  };

  let receiver: Receiver;
  let delivering: Service;
  let where: At;
  /** By text: all are sent at once, and each test waits for its own. */
  const ids = new Map<string, string>();
  const idOf = (text: string) => ids.get(text)!;
  const callsFor = (text: string) => receiver.callsFor(idOf(text));

  beforeAll(async () => {
    receiver = await Receiver.start(behave);
    delivering = await startService({
      ...receiver.env,
      MESSAGES_WEBHOOK_SECRET: `${NEXT_SECRET},${receiver.secret}`,
      MESSAGES_RETRY_MAX_SECONDS: String(LONGEST_S),
      // A URL, whose scheme is of any case.
      MESSAGES_WEBHOOK_URL: receiver.env.MESSAGES_WEBHOOK_URL!.replace('http:', 'Http:'),
    });
    where = { at: delivering, by: await createKey(delivering) };
    for (const text of [
      ...['silence', 'silent', 'cut', 'endless', 'always 500'],
      HELLO,
      ...FINAL,
      ...ONCE,
      ...WAITING,
    ])
      ids.set(text, await queue(text, where));
  });
  afterAll(async () => {
    receiver.stop();
    await delivering.stop();
  });

  test('gets each once, byte for byte, with its address, id and time', async () => {
    const id = idOf(HELLO);
    await becomes(id, 'delivered', where);
    expect(delivering.output()).toMatch(/^ {2}Messages {4}delivered to http:\/\/127\.0\.0\.1:\d+$/m);
    const { createdAt } = (await call(delivering, 'GET', `/v1/messages/${id}`, { key: where.by })).body;
    const [received, ...others] = callsFor(HELLO);
    expect([received!.path, others]).toEqual(['/hook?token=t', []]);
    expect(received!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': id });
    expect(received!.bytes.toString()).toBe(JSON.stringify({ id, message: HELLO, createdAt }));
  });

  test('finds each signed as the Standard Webhooks specification requires, with each secret', async () => {
    await becomes(idOf(HELLO), 'delivered', where);
    const [received] = callsFor(HELLO);
    for (const secret of [NEXT_SECRET, receiver.secret])
      expect(receiver.verify(received!, secret)).toMatchObject({ message: HELLO });
    expect(received!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    const other = `whsec_${Buffer.alloc(24).toString('base64')}`;
    expect(() => receiver.verify(received!, other)).toThrow('No matching signature');
    const forged = { ...received!, bytes: Buffer.from(received!.bytes.toString().replace('Hi', 'Ho')) };
    expect(() => receiver.verify(forged)).toThrow('No matching signature');
  });

  test('is retried, at the same address and under the same id, unless it has accepted or refused for good', async () => {
    await Promise.all(ONCE.map((text) => becomes(idOf(text), 'delivered', where)));
    for (const text of ONCE) {
      expect(callsFor(text).map(({ path }) => path)).toEqual(['/hook?token=t', '/hook?token=t']);
      expect(callsFor(text).map(({ headers }) => headers['webhook-id'])).toEqual([idOf(text), idOf(text)]);
    }
    for (const text of FINAL) {
      expect(await statusOf(idOf(text), where)).toBe('failed');
      expect(callsFor(text)).toHaveLength(1);
    }
  });

  test('is asked again after three seconds or more, or when its Retry-After says, if that is not too late', async () => {
    await eventually(() => WAITING.every((text) => callsFor(text).length > 0));
    const [date, late] = [await pauseOf(`wait ${DATE}`), await pauseOf('wait 999999999999')];
    const until = Date.parse(DATE) - callsFor(`wait ${DATE}`)[0]!.at;
    expect(date).toBeGreaterThanOrEqual(until);
    expect(date).toBeLessThan(until + 10_000);
    expect(late).toBeGreaterThan(LONGEST_S * 500);
    expect(late).toBeLessThan((LONGEST_S + 10) * 1_000);
    for (const text of ['wait 7', 'wait soon', 'wait -1', 'always 500']) {
      await eventually(() => callsFor(text).length > 1);
      const [first, second] = callsFor(text);
      expect(second!.at - first!.at).toBeGreaterThanOrEqual(text === 'wait 7' ? 7_000 : 3_000);
    }
  });

  /** Milliseconds from the first try to the time that the second is put off to, or to the second on a busy machine. */
  async function pauseOf(text: string): Promise<number> {
    const sql = `SELECT start_after FROM pgboss.job WHERE id = $1 AND state = 'retry'`;
    let jobs: { start_after: Date }[] = [];
    await eventually(async () => {
      jobs = await query(delivering.databaseUrl, sql, [idOf(text)]);
      return jobs.length > 0 || callsFor(text).length > 1;
    });
    const [first, second] = callsFor(text);
    return (jobs[0]?.start_after.getTime() ?? second!.at) - first!.at;
  }

  test('that closes the connection before its answer has not accepted, and delays no other message', async () => {
    await eventually(() => callsFor('cut').length > 1);
    expect(await statusOf(idOf('cut'), where)).toBe('queued');
  });

  test('that does not end its answer has accepted', async () => {
    await becomes(idOf('endless'), 'delivered', where);
    expect(callsFor('endless')).toHaveLength(1);
  });

  test('that does not answer is given up after 15 seconds, and asked again', async () => {
    await eventually(() => callsFor('silence').length > 1, 40_000);
    const [first, second] = callsFor('silence');
    expect(second!.at - first!.at).toBeGreaterThan(14_900);
  });

  test('that fails for a day makes the message failed', async () => {
    await eventually(() => callsFor('always 500').length > 1);
    const age = `UPDATE pgboss.job SET start_after = now(), retry_limit = retry_count
                 WHERE id = $1 AND state = 'retry'`;
    // Again and again, as it may be tried at this moment.
    await eventually(async () => {
      await query(delivering.databaseUrl, age, [idOf('always 500')]);
      return (await statusOf(idOf('always 500'), where)) === 'failed';
    });
  });

  test('that answers nothing until the last try is cut off makes the message failed', async () => {
    const last = `UPDATE pgboss.job SET start_after = now(), retry_limit = retry_count + 1, expire_seconds = 1
                  WHERE id = $1 AND state = 'retry' RETURNING 1`;
    await eventually(async () => (await query(delivering.databaseUrl, last, [idOf('silent')])).length > 0);
    await becomes(idOf('silent'), 'failed', where, 30_000);
  });
});

describe('A message and its job', () => {
  let api: Service;
  let where: At;
  beforeAll(async () => {
    api = await startService({ ROLE: 'api' });
    where = { at: api, by: await createKey(api) };
    // Represents any failure of either table, and of what is stored with them.
    await query(
      api.databaseUrl,
      `ALTER TABLE messages ADD CONSTRAINT c CHECK (message <> 'refused');
       ALTER TABLE idempotency_keys ADD CONSTRAINT c CHECK (key <> 'undone')`,
    );
  });

  const post = (message: string, idempotencyKey?: string) => {
    const headers: Record<string, string> = idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {};
    return call(api, 'POST', '/v1/messages', { key: where.by, body: { message }, headers });
  };
  const counts = async () => {
    const sql = `SELECT (SELECT count(*)::int FROM messages) AS messages,
                   (SELECT count(*)::int FROM pgboss.job WHERE name = 'messages') AS jobs`;
    const [found] = await query<{ messages: number; jobs: number }>(api.databaseUrl, sql);
    return found!;
  };

  test('are both missing if one of them, or the transaction around them, fails', async () => {
    const before = await counts();
    for (const idempotencyKey of [undefined, 'refused'])
      expectError(await post('refused', idempotencyKey), 500, 'internal_error');
    expectError(await post('Hello', 'undone'), 500, 'internal_error');
    await query(
      api.databaseUrl,
      `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
       CREATE TRIGGER leave_out BEFORE INSERT ON pgboss.job_common FOR EACH ROW EXECUTE FUNCTION leave_out()`,
    );
    for (const idempotencyKey of [undefined, 'left-out'])
      expectError(await post('Hello', idempotencyKey), 500, 'internal_error');
    await query(api.databaseUrl, 'DROP FUNCTION leave_out CASCADE');
    expect(await counts()).toEqual(before);
  });

  test('wait for a worker, outlive a service that is killed, and are taken over from a worker that has to stop', async () => {
    expect(service.output()).toContain('Messages    queued until MESSAGES_WEBHOOK_URL is set\n');
    expect(api.output()).toContain('Messages    queued for processes with ROLE=worker\n');
    const slow = await Promise.all(Array.from({ length: 6 }, () => queue('slow', where)));
    const gone = await queue('Taken by another worker', where);
    await query(api.databaseUrl, `UPDATE messages SET status = 'delivered' WHERE id = $1`, [gone]);
    const quick = await Promise.all(Array.from({ length: 30 }, () => queue('quick', where)));
    const waiting = (await query(api.databaseUrl, `SELECT FROM messages WHERE status = 'queued'`)).length;
    // The job of the one that was delivered is there still.
    await eventually(async () => valueOf(await readMetrics(api), 'petstore_messages_queued') === waiting + 1);
    expect(valueOf(await readMetrics(api), 'petstore_messages_oldest_seconds')).toBeGreaterThan(0);
    const [over, kept] = [await oldMessages(30), await oldMessages(29)];
    api.process.kill('SIGKILL');
    await once(api.process, 'exit');

    let [open, most] = [0, 0];
    const receiver = await Receiver.start(async ({ message }, nth) => {
      most = Math.max(most, ++open);
      if (message === 'slow' && nth === 1) await new Promise(() => {});
      open--;
      return { status: 200 };
    });
    const limits = { MESSAGES_CONCURRENCY: '8', MESSAGES_RETENTION_DAYS: '30', SHUTDOWN_GRACE_MS: '0' };
    const env = { ...receiver.env, DATABASE_URL: api.databaseUrl, ...limits };
    const worker = await startService({ ...env, ROLE: 'worker' });
    const count = async (ids: string[], status: string) => {
      const sql = 'SELECT FROM messages WHERE id = ANY ($1) AND status = $2';
      return (await query(api.databaseUrl, sql, [ids, status])).length;
    };
    await eventually(async () => (await count(quick, 'delivered')) === quick.length);
    // Some may be answered before others are under way.
    expect([most > slow.length, most <= 8]).toEqual([true, true]);
    for (const path of ['/health/live', '/health/ready'])
      expect((await call(worker, 'GET', path)).status).toBe(200);
    for (const path of ['/v1/pets', '/v1/messages', '/docs', '/openapi.json', '/', '/health']) {
      const answer = await fetch(worker.url + path, { headers: { Authorization: `Bearer ${where.by}` } });
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'route_not_found' }]);
    }
    expect(await worker.stop()).toBe(0);
    expect(await count(slow, 'queued')).toBe(slow.length);

    const next = await startService(env);
    await Promise.all(slow.map((id) => becomes(id, 'delivered', { ...where, at: next })));
    for (const id of slow) expect(receiver.callsFor(id)).toHaveLength(2);
    expect(receiver.callsFor(gone)).toEqual([]);
    // More were over than go into one batch; what is not done stays, however old.
    await addJob(api.databaseUrl, 'sweep-messages');
    const left = 'SELECT id FROM messages WHERE id = ANY ($1)';
    await eventually(async () => (await query(api.databaseUrl, left, [over])).length === 1);
    expect(await query(api.databaseUrl, left, [kept])).toHaveLength(kept.length);
    receiver.stop();
    await next.stop();
  });

  /** Messages from so many days ago, and a second more, as many as go into more than one batch; one of them is queued. */
  async function oldMessages(daysAgo: number): Promise<string[]> {
    const hex = (Date.now() - daysAgo * 24 * 60 * 60 * 1000 - 1_000).toString(16).padStart(12, '0');
    const first = `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(15)}`;
    const rows = await query<{ id: string }>(
      api.databaseUrl,
      `INSERT INTO messages (id, account_id, message, status)
       SELECT (left($1, 24) || lpad(to_hex(n), 12, '0'))::uuid, (SELECT id FROM accounts LIMIT 1), 'x',
         CASE n WHEN 1 THEN 'queued' WHEN 2 THEN 'failed' ELSE 'delivered' END
       FROM generate_series(1, 1100) AS n RETURNING id`,
      [first],
    );
    return rows.map(({ id }) => id);
  }
});

test('A message is delivered at once, however many deliveries beside those that are done take long', async () => {
  const open: (() => void)[] = [];
  const receiver = await Receiver.start(async ({ message }) => {
    if (message === 'slow') await new Promise<void>((resolve) => open.push(resolve));
    return { status: 200 };
  });
  const at = await startService(receiver.env);
  const where = { at, by: await createKey(at) };
  // All but one of the 16 that fetch messages wait for one of those that they have fetched together.
  for (let count = 1; count < 16; count++) {
    await query(
      at.databaseUrl,
      `WITH made AS (
         INSERT INTO messages (id, account_id, message, status)
         SELECT gen_random_uuid(), (SELECT id FROM accounts LIMIT 1), CASE n WHEN 5 THEN 'slow' ELSE 'quick' END, 'queued'
         FROM generate_series(1, 5) AS n RETURNING id, message)
       INSERT INTO pgboss.job (id, name, created_on, heartbeat_seconds)
       SELECT id, 'messages', now() + (message = 'slow')::int * interval '1 ms', 4 FROM made`,
    );
    await eventually(() => open.length === count);
  }
  const alive = `SELECT FROM pgboss.job WHERE name = 'messages' AND heartbeat_on > started_on + interval '1 s'`;
  await eventually(async () => (await query(at.databaseUrl, alive)).length === open.length);
  const begun = Date.now();
  for (const message of ['one', 'two', 'three'])
    await becomes(await queue(message, where), 'delivered', where);
  expect(Date.now() - begun).toBeLessThan(5_000);
  for (const end of open) end();
  expect(await at.stop()).toBe(0);
  receiver.stop();
});

(hasOpenssl ? test : test.skip)(
  'An https address of any case is delivered to over TLS, and not where the certificate is of another host',
  async () => {
    const { folder, certFile, key, cert } = localCertificate();
    const received: string[] = [];
    const server = createServer({ key, cert }, (call, response) => {
      received.push(String(call.headers['webhook-id']));
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const start = (host: string, DATABASE_URL?: string) =>
      startService({
        MESSAGES_WEBHOOK_URL: `Https://${host}:${port}/`,
        MESSAGES_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')}`,
        NODE_EXTRA_CA_CERTS: certFile,
        ...(DATABASE_URL && { DATABASE_URL }),
      });
    const wrong = await start('127.0.0.1');
    const where = { at: wrong, by: await createKey(wrong) };
    const id = await queue('Secret', where);
    const operate = (...args: string[]) => operateJobs(args, { DATABASE_URL: wrong.databaseUrl });
    await eventually(async () =>
      (await operate('list', '--waiting')).stdout.includes('ERR_TLS_CERT_ALTNAME_INVALID'),
    );
    expect(await wrong.stop()).toBe(0);
    expect(received).toEqual([]);
    const right = await start('localhost', wrong.databaseUrl);
    await becomes(id, 'delivered', { ...where, at: right });
    expect(received).toEqual([id]);
    expect(await right.stop()).toBe(0);
    server.close();
    rmSync(folder, { recursive: true });
  },
);

test('Messages of 1.1 are carried over, each once: queued, put off, and failed', async () => {
  const databaseUrl = await createDatabase();
  await query(databaseUrl, readFileSync(join(ROOT, 'released/data-1.1.0.sql'), 'utf8'));
  // As 1.1.0 has them: it keeps no job of a failed message, and is told by itself alone when a job is tried again.
  const add = (text: string, count: number, status: string) =>
    query(
      databaseUrl,
      `INSERT INTO messages (id, account_id, message, status, failure)
       SELECT gen_random_uuid(), 1, $1 || ' ' || n, $3, CASE $3 WHEN 'failed' THEN 'The receiver answered 410' END
       FROM generate_series(1, $2::int) AS n`,
      [text, count, status],
    );
  await add('queued', 1_000, 'queued');
  await add('later', 3, 'queued');
  await add('failed', 10, 'failed');
  await query(
    databaseUrl,
    `INSERT INTO pgboss.job (id, name, state, retry_limit, retry_count, retry_delay, expire_seconds, deletion_seconds,
       start_after, keep_until, policy, heartbeat_seconds, data)
     SELECT id, 'messages', (CASE WHEN message LIKE '%7' THEN 'retry' ELSE 'created' END)::pgboss.job_state, 2147483647,
       CASE WHEN message LIKE '%7' THEN 3 ELSE 0 END, 1, 150, 600,
       now() + CASE WHEN message LIKE 'later%' THEN interval '20 s' ELSE interval '0' END,
       now() + interval '60 years', 'standard', 20,
       CASE WHEN message LIKE '%7' THEN jsonb_build_object('failingSince', now() - interval '1 hour') END
     FROM messages WHERE message LIKE 'queued%' OR message LIKE 'later%'`,
  );
  const due = Date.now() + 20_000;
  const receiver = await Receiver.start();
  const upgraded = await startService({ ...receiver.env, DATABASE_URL: databaseUrl });
  const operate = (...args: string[]) => operateJobs(args, { DATABASE_URL: databaseUrl });
  const { stdout } = await operate('list', '--failed');
  expect(stdout.match(/ messages .* The receiver answered 410$/gm)).toHaveLength(10);
  expect(await operate('retry', '--all')).toMatchObject({ code: 0, stdout: '10 jobs are queued again.\n' });
  const undelivered = `SELECT FROM messages WHERE status <> 'delivered'`;
  await eventually(async () => (await query(databaseUrl, undelivered)).length === 0);
  const jobs = `SELECT FROM pgboss.job WHERE name = 'messages'`;
  await eventually(async () => (await query(databaseUrl, jobs)).length === 0);
  const texts = receiver.calls.map(({ message }) => message);
  expect([texts.length, new Set(texts).size]).toEqual([1_014, 1_014]);
  for (const { message, at } of receiver.calls)
    if (message.startsWith('later')) expect(at).toBeGreaterThan(due - 2_000);
  expect(await upgraded.stop()).toBe(0);
  receiver.stop();
});

test('Wrong settings of the delivery are refused all together, without their secrets', () => {
  const wrong = {
    MESSAGES_WEBHOOK_URL: 'http://user:password@example.com/',
    MESSAGES_WEBHOOK_SECRET: 'whsec_c2hvcnQ=',
    MESSAGES_RETRY_MAX_SECONDS: '0',
    ROLE: 'boss',
  };
  const read = (env: Record<string, string>) => () => readConfig(env);
  for (const name of Object.keys(wrong)) expect(read(wrong)).toThrow(name);
  expect(read(wrong)).not.toThrow(/password|c2hvcnQ/);
  expect(read({ MESSAGES_WEBHOOK_URL: 'ftp://x/' })).toThrow('MESSAGES_WEBHOOK_URL must be');
  const missing = 'MESSAGES_WEBHOOK_SECRET, which MESSAGES_WEBHOOK_URL needs';
  expect(read({ MESSAGES_WEBHOOK_URL: 'http://x/' })).toThrow(missing);
});
