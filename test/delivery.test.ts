import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, createKey, expectError } from '../src/testing/client.js';
import { jobs as operateJobs } from './support/commands.js';
import { readMetrics, valueOf } from './support/metrics.js';
import { eventually } from './support/npm.js';
import { Proxy } from './support/proxy.js';
import { type Answer, type Behaviour, Receiver } from './support/receiver.js';
import { createDatabase, query, type Service, startService } from '../src/testing/service.js';

/** Tries are at most a second apart. */
const QUICK = { MESSAGES_RETRY_MAX_SECONDS: '1' };

/** The text of a message tells its receiver how to answer. */
const behave: Behaviour = async ({ message }, nth): Promise<Answer> => {
  const [word, argument] = message.split(' ');
  const isFirst = nth === 1;
  if (word === 'always') return { status: Number(argument) };
  if (word === 'once' && isFirst) return { status: Number(argument), headers: { Location: '/elsewhere' } };
  if (word === 'wait' && isFirst) return { status: 503, headers: { 'Retry-After': message.slice(5) } };
  if (word === 'silence') await new Promise(() => {});
  if (word === 'endless') return { status: 200, rest: (response) => void response.write('x'.repeat(100)) };
  return { status: 200 };
};

let receiver: Receiver;
let service: Service;
let key: string;

beforeAll(async () => {
  receiver = await Receiver.start(behave);
  service = await startService({ ...receiver.env, ...QUICK });
  key = await createKey(service);
});
afterAll(async () => {
  receiver.stop();
  await service.stop();
});

async function submit(message: string, { at = service, by = key } = {}): Promise<string> {
  const { status, body } = await call(at, 'POST', '/v1/messages', { key: by, body: { message } });
  expect([status, body.status]).toEqual([202, 'queued']);
  return body.id;
}

const keyed = (key: string): Record<string, string> => (key ? { 'Idempotency-Key': key } : {});

async function statusOf(id: string, { at = service, by = key } = {}): Promise<string> {
  return (await call(at, 'GET', `/v1/messages/${id}`, { key: by })).body.status;
}

const becomes = (id: string, status: string, where = {}, withinMs?: number) =>
  eventually(async () => (await statusOf(id, where)) === status, withinMs);

const jobs = (databaseUrl: string) =>
  query<{ id: string; state: string }>(
    databaseUrl,
    `SELECT id, state FROM pgboss.job WHERE name = 'messages'`,
  );

/** The id of a message that was submitted so many days ago, and a second more. */
function idFrom(daysAgo: number): string {
  const hex = (Date.now() - daysAgo * 24 * 60 * 60 * 1000 - 1_000).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(15)}`;
}

const countMessages = async (databaseUrl: string) =>
  (await query<{ count: number }>(databaseUrl, 'SELECT count(*)::int FROM messages'))[0]!.count;

describe('A message', () => {
  test('arrives once, byte for byte, and is then delivered, visible only to its own account', async () => {
    const text = 'Hi 👩‍👩‍👧‍👦 e\u0301 \u202eשלום "\\u0000" \u2028 <b>';
    const other = await createKey(service);
    const [id, theirs] = [await submit(text), await submit('Theirs', { by: other })];
    await Promise.all([becomes(id, 'delivered'), becomes(theirs, 'delivered', { by: other })]);
    const { createdAt } = (await call(service, 'GET', `/v1/messages/${id}`, { key })).body;
    const calls = receiver.callsFor(id);
    expect(calls).toHaveLength(1);
    expect(calls[0]!.path).toBe('/hook?token=t');
    expect(calls[0]!.headers['content-type']).toBe('application/json');
    expect(calls[0]!.bytes.toString()).toBe(JSON.stringify({ id, message: text, createdAt }));
    expectError(await call(service, 'GET', `/v1/messages/${theirs}`, { key }), 404, 'message_not_found');
  });

  test('is signed with each secret while one replaces another', async () => {
    const next = `whsec_${Buffer.alloc(32, 'another').toString('base64')}`;
    const rotating = await Receiver.start();
    const env = { ...rotating.env, ...QUICK, MESSAGES_WEBHOOK_SECRET: `${next},${rotating.secret}` };
    const other = await startService(env);
    const by = await createKey(other);
    const id = await submit('Signed twice', { at: other, by });
    await becomes(id, 'delivered', { at: other, by });
    const [received] = rotating.callsFor(id);
    for (const secret of [next, rotating.secret])
      expect(rotating.verify(received!, secret)).toMatchObject({ id, message: 'Signed twice' });
    expect(received!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    rotating.stop();
    await other.stop();
  });

  test('is signed as the Standard Webhooks specification requires', async () => {
    const id = await submit('Signed, ünïcode');
    await becomes(id, 'delivered');
    const [received] = receiver.callsFor(id);
    expect(received!.headers['webhook-id']).toBe(id);
    expect(receiver.verify(received!)).toMatchObject({ id, message: 'Signed, ünïcode' });
    const other = `whsec_${Buffer.alloc(24).toString('base64')}`;
    expect(() => receiver.verify(received!, other)).toThrow('No matching signature');
    const forged = {
      ...received!,
      bytes: Buffer.from(received!.bytes.toString().replace('Signed', 'Forged')),
    };
    expect(() => receiver.verify(forged)).toThrow('No matching signature');
  });

  test('is retried, at the same address and under the same id, unless it was accepted or refused for good', async () => {
    const passing = [301, 302, 307, 401, 403, 404, 408, 409, 429, 500, 503];
    const ids = await Promise.all(passing.map((status) => submit(`once ${status}`)));
    await Promise.all(ids.map((id) => becomes(id, 'delivered')));
    for (const id of ids) {
      expect(receiver.callsFor(id).map(({ path }) => path)).toEqual(['/hook?token=t', '/hook?token=t']);
      expect(receiver.callsFor(id).map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
    }
  });

  test('that is answered 400, 410, 413 or 422 has failed, and is not retried', async () => {
    const ids = await Promise.all([400, 410, 413, 422].map((status) => submit(`always ${status}`)));
    await Promise.all(ids.map((id) => becomes(id, 'failed')));
    await sleep(1_600);
    expect(ids.map((id) => receiver.callsFor(id).length)).toEqual([1, 1, 1, 1]);
  });

  test('whose tries have failed for a day has failed', async () => {
    const id = await submit('always 500');
    await eventually(() => receiver.callsFor(id).length > 1);
    expect(await statusOf(id)).toBe('queued');
    const ageJob = `UPDATE pgboss.job SET data = jsonb_build_object('failingSince', now() - interval '1 day') WHERE id = $1`;
    // Again and again, because the try under way writes the job's data too.
    await eventually(async () => {
      await query(service.databaseUrl, ageJob, [id]);
      return (await statusOf(id)) === 'failed';
    });
  });
});

test('As many messages are under way as is set, and slow answers hold up no others', async () => {
  let [open, most] = [0, 0];
  const slow = await Receiver.start(async ({ message }) => {
    most = Math.max(most, ++open);
    if (message === 'slow') await new Promise(() => {});
    await sleep(20);
    open--;
    return { status: 200 };
  });
  const api = await startService({ ROLE: 'api' });
  const where = { at: api, by: await createKey(api) };
  for (let i = 0; i < 6; i++) await submit('slow', where);
  const quick = await Promise.all(Array.from({ length: 30 }, () => submit('quick', where)));
  const env = { ...slow.env, MESSAGES_CONCURRENCY: '8', SHUTDOWN_GRACE_MS: '0', ROLE: 'worker' };
  const worker = await startService({ ...env, DATABASE_URL: api.databaseUrl });
  await Promise.all(quick.map((id) => becomes(id, 'delivered', where)));
  expect(most).toBe(8);
  slow.stop();
  expect(await Promise.all([worker.stop(), api.stop()])).toEqual([0, 0]);
});

test('Messages that are done are removed when their days are over, if a number of days is set, and no others', async () => {
  const databaseUrl = await createDatabase();
  const keeping = await startService({ DATABASE_URL: databaseUrl, ...receiver.env });
  const by = await createKey(keeping);
  const store = async (daysAgo: number, status: string): Promise<string> => {
    const sql = `INSERT INTO messages (id, account_id, message, status) SELECT $1, id, 'x', $2 FROM accounts`;
    const id = idFrom(daysAgo);
    await query(databaseUrl, sql, [id, status]);
    return id;
  };
  const over = [await store(30, 'delivered'), await store(30, 'failed'), await store(3_000, 'delivered')];
  const kept = [await store(29, 'delivered'), await store(29, 'failed'), await store(3_000, 'queued')];
  // More than go into one batch.
  await query(
    databaseUrl,
    `INSERT INTO messages (id, account_id, message, status)
     SELECT (left($1, 24) || lpad(to_hex(n), 12, '0'))::uuid, id, 'x', 'delivered'
     FROM accounts, generate_series(1, 2500) AS n`,
    [idFrom(31)],
  );
  const retention = { DATABASE_URL: databaseUrl, MESSAGES_RETENTION_DAYS: '30', ...receiver.env };
  await (await startService({ ...retention, ROLE: 'api' })).stop();
  expect(await countMessages(databaseUrl)).toBe(2_506);
  const removing = await startService(retention);
  await eventually(async () => (await countMessages(databaseUrl)) <= kept.length);
  const answers = await Promise.all(
    [...kept, ...over].map((id) => call(keeping, 'GET', `/v1/messages/${id}`, { key: by })),
  );
  await Promise.all([keeping, removing].map((one) => one.stop()));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404, 404]);
});

describe('The operator', () => {
  const operate = (...args: string[]) => operateJobs(args, { DATABASE_URL: service.databaseUrl });

  test('sees what has failed and why, but not its text, and can retry it', async () => {
    const id = await submit('always 422 secret');
    await becomes(id, 'failed');
    const listed = await operate('list', '--queue', 'messages');
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout).toMatch(new RegExp(`^${id}  messages  \\S+Z  The receiver answered 422$`, 'm'));
    expect(listed.stdout).not.toContain('secret');
    expect(await operate('retry', id)).toEqual({ code: 0, stdout: `${id} is queued again.\n`, stderr: '' });
    await eventually(() => receiver.callsFor(id).length === 2);
    await becomes(id, 'failed');
  });

  test('can retry everything that has failed, which is `queued` again for its owner, or drop it, which stays `failed`', async () => {
    const api = await startService({ ROLE: 'api' });
    const where = { at: api, by: await createKey(api) };
    const ids = await Promise.all(Array.from({ length: 3 }, () => submit('Hello', where)));
    const end = `UPDATE pgboss.job SET state = 'completed' WHERE name = 'messages'`;
    await query(api.databaseUrl, end);
    await query(api.databaseUrl, `UPDATE messages SET status = 'failed', failure = 'Refused'`);
    const at = (...args: string[]) => operateJobs(args, { DATABASE_URL: api.databaseUrl });
    expect(await at('drop', ids[0]!)).toMatchObject({ code: 0, stdout: `${ids[0]} is dropped.\n` });
    expect(await at('retry', '--all')).toMatchObject({ code: 0, stdout: '2 jobs are queued again.\n' });
    const statuses = Promise.all(ids.map((id) => statusOf(id, where)));
    expect(await statuses).toEqual(['failed', 'queued', 'queued']);
    expect((await at('list')).stdout).toBe('No job is failed.\n');
    const waiting = (await at('list', '--waiting')).stdout;
    expect(waiting.match(/^[\da-f-]{36} {2}messages {2}\S+Z {2}0 tries$/gm)).toHaveLength(2);
    await api.stop();
  });

  test('is told that a message has not failed', async () => {
    const id = await submit('Fine');
    await becomes(id, 'delivered');
    expect(await operate('retry', id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `petstore: No failed job: ${id}.\n`,
    });
    expect(await statusOf(id)).toBe('delivered');
  });
});

describe('A message and its job', () => {
  let api: Service;
  let by: string;

  beforeAll(async () => {
    api = await startService({ ROLE: 'api' });
    by = await createKey(api);
    // Represents any failure of either table.
    await query(api.databaseUrl, `ALTER TABLE messages ADD CONSTRAINT c CHECK (message <> 'refused')`);
    await query(api.databaseUrl, 'CREATE TABLE refusal (how text)');
    await query(
      api.databaseUrl,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF EXISTS (SELECT FROM refusal WHERE how = 'error') THEN RAISE 'no job'; END IF;
         IF EXISTS (SELECT FROM refusal WHERE how = 'skip') THEN RETURN NULL; END IF;
         RETURN NEW;
       END $$`,
    );
    await query(
      api.databaseUrl,
      'CREATE TRIGGER refuse BEFORE INSERT ON pgboss.job_common FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
  });
  afterAll(() => api.stop());

  const post = (message: string, idempotencyKey = '') =>
    call(api, 'POST', '/v1/messages', { key: by, body: { message }, headers: keyed(idempotencyKey) });
  const counts = async () => [await countMessages(api.databaseUrl), (await jobs(api.databaseUrl)).length];

  test('are both missing if the message cannot be stored', async () => {
    const before = await counts();
    for (const idempotencyKey of ['', 'refused']) {
      expectError(await post('refused', idempotencyKey), 500, 'internal_error');
    }
    expect(await counts()).toEqual(before);
  });

  test('are both missing if the transaction around them fails', async () => {
    await query(api.databaseUrl, `ALTER TABLE idempotency_keys ADD CONSTRAINT c CHECK (key <> 'undone')`);
    const before = await counts();
    expectError(await post('Hello', 'undone'), 500, 'internal_error');
    expect(await counts()).toEqual(before);
  });

  test.each(['error', 'skip'])('are both missing if the job cannot be stored: %s', async (how) => {
    const before = await counts();
    await query(api.databaseUrl, 'INSERT INTO refusal VALUES ($1)', [how]);
    for (const idempotencyKey of ['', how]) {
      expectError(await post('Hello', idempotencyKey), 500, 'internal_error');
    }
    await query(api.databaseUrl, 'DELETE FROM refusal');
    expect(await counts()).toEqual(before);
  });

  test('exist once, however often one Idempotency-Key is retried', async () => {
    const [messages, before] = await counts();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('Once', 'once')));
    const accepted = answers.filter(({ status }) => status === 202);
    expect(new Set(accepted.map(({ body }) => body.id)).size).toBe(1);
    expect((await post('Once', 'once')).body).toEqual(accepted[0]!.body);
    expect(await counts()).toEqual([messages! + 1, before! + 1]);
  });

  test('exist for all that came at the same time as one that was refused', async () => {
    const [messages, before] = await counts();
    const texts = Array.from({ length: 60 }, (_, i) => (i === 30 ? 'refused' : `Text ${i}`));
    const answers = await Promise.all(texts.map((text) => post(text)));
    expect(answers.map(({ status }) => status)).toEqual(
      texts.map((text) => (text === 'refused' ? 500 : 202)),
    );
    expect(answers.map(({ body }) => body.message)).toEqual(
      answers.map(({ status }, i) => (status === 202 ? texts[i] : expect.any(String))),
    );
    expect(await counts()).toEqual([messages! + 59, before! + 59]);
    const stored = await query<{ id: string; message: string }>(
      api.databaseUrl,
      'SELECT id, message FROM messages',
    );
    const textOf = new Map(stored.map(({ id, message }) => [id, message]));
    for (const { body, status } of answers)
      if (status === 202) expect(textOf.get(body.id)).toBe(body.message);
  });
});

test('A start with wrong delivery settings is refused, with a message that names them all', async () => {
  const wrong = {
    MESSAGES_WEBHOOK_URL: 'http://user:password@example.com/',
    MESSAGES_WEBHOOK_SECRET: 'whsec_c2hvcnQ=',
    MESSAGES_RETRY_MAX_SECONDS: '0',
    ROLE: 'boss',
  };
  const starts = [wrong, { MESSAGES_WEBHOOK_URL: 'ftp://x/' }, { MESSAGES_WEBHOOK_URL: 'http://x/' }];
  const said = await Promise.all(
    starts.map((env) =>
      startService({ DATABASE_URL: service.databaseUrl, ...(env as Record<string, string>) }).then(
        () => 'started',
        ({ message }: Error) => message,
      ),
    ),
  );
  for (const name of Object.keys(wrong)) expect(said[0]).toContain(name);
  expect(said[1]).toContain('MESSAGES_WEBHOOK_URL must be');
  expect(said[2]).toContain('MESSAGES_WEBHOOK_SECRET, which MESSAGES_WEBHOOK_URL needs');
  expect(said.join()).not.toMatch(/password|c2hvcnQ/);
});

/** The queue's metrics. */
async function backlogOf(at: Service) {
  const metrics = await readMetrics(at);
  const [queued, oldestSeconds] = ['queued', 'oldest_seconds'].map((name) =>
    valueOf(metrics, `petstore_messages_${name}`),
  );
  return { queued, oldestSeconds: oldestSeconds! };
}

/** What takes long: all of it starts at once, and each test waits for its own. */
const SLOW: Record<string, () => Promise<void>> = {
  'A message waits while there is no transport or no worker, and is delivered once there is one':
    async () => {
      const without = await startService();
      const by = await createKey(without);
      const first = await submit('Without a transport', { at: without, by });
      await sleep(1_200);
      expect(await statusOf(first, { at: without, by })).toBe('queued');
      expect(without.output()).toContain('Messages    queued until MESSAGES_WEBHOOK_URL is set\n');
      expect(await backlogOf(without)).toEqual({ queued: 1, oldestSeconds: expect.any(Number) });
      await without.stop();

      const env = { ...receiver.env, DATABASE_URL: without.databaseUrl };
      const api = await startService({ ...env, ROLE: 'api' });
      const second = await submit('To an API without workers', { at: api, by });
      await sleep(1_200);
      expect(await statusOf(first, { at: api, by })).toBe('queued');
      expect(api.output()).toContain('Messages    queued for processes with ROLE=worker\n');
      const { queued, oldestSeconds } = await backlogOf(api);
      expect([queued, oldestSeconds > 2.4, oldestSeconds < 20]).toEqual([2, true, true]);

      const gone = await submit('Delivered by a worker whose job another takes for its own', { at: api, by });
      await query(api.databaseUrl, `UPDATE messages SET status = 'delivered' WHERE id = $1`, [gone]);
      const worker = await startService({ ...env, ROLE: 'worker' });
      await Promise.all([first, second].map((id) => becomes(id, 'delivered', { at: api, by })));
      expect(worker.output()).toMatch(/^ {2}Messages {4}delivered to http:\/\/127\.0\.0\.1:\d+$/m);
      // Scrapes of the same second share what was counted.
      await eventually(async () => (await backlogOf(api)).queued === 0);
      expect(await backlogOf(api)).toEqual({ queued: 0, oldestSeconds: 0 });
      expect(receiver.callsFor(gone)).toEqual([]);
      for (const path of ['/health/live', '/health/ready']) {
        expect((await call(worker, 'GET', path)).status).toBe(200);
      }
      for (const path of ['/v1/pets', '/v1/messages', '/docs', '/openapi.json', '/', '/health']) {
        const answer = await fetch(worker.url + path, { headers: { Authorization: `Bearer ${by}` } });
        expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
          404,
          'route_not_found',
        ]);
      }
      expect(await Promise.all([api.stop(), worker.stop()])).toEqual([0, 0]);
    },
  'A message is delivered after the workers have lost their connection': async () => {
    const proxy = await Proxy.start(await createDatabase());
    const direct = new URL(proxy.url);
    direct.port = new URL(process.env.TEST_DATABASE_URL!).port;
    const other = await startService({
      ...receiver.env,
      DATABASE_URL: direct.href,
      DATABASE_DIRECT_URL: proxy.url,
    });
    const where = { at: other, by: await createKey(other) };
    await becomes(await submit('Before', where), 'delivered', where);
    proxy.stop();
    const id = await submit('Meanwhile', where);
    await sleep(1_200);
    expect(await statusOf(id, where)).toBe('queued');
    expect(other.process.exitCode).toBe(null);
    await proxy.mend();
    // A poll whose answer was lost may have taken it: then it is free again after 20 s without a heartbeat.
    await becomes(id, 'delivered', where, 40_000);
    expect(receiver.callsFor(id)).toHaveLength(1);
    expect(await other.stop()).toBe(0);
    proxy.stop();
  },
  'A message is delivered within ten seconds of the server freezing behind an address that leads to another':
    async () => {
      const proxy = await Proxy.start(await createDatabase());
      const other = await startService({ ...receiver.env, DATABASE_URL: proxy.url });
      const where = { at: other, by: await createKey(other) };
      await becomes(await submit('Before', where), 'delivered', where);
      proxy.strand();
      await eventually(async () => (await call(other, 'GET', '/v1/pets', { key: where.by })).status === 200);
      const id = await submit('After', where);
      await becomes(id, 'delivered', where, 10_000);
      expect(await other.stop()).toBe(0);
      proxy.stop();
    },
  'A message is delivered by another worker if one has to stop in the middle': async () => {
    const never: Behaviour = () => new Promise(() => {});
    const deaf = await Receiver.start(never);
    const env = { SHUTDOWN_GRACE_MS: '300' };
    const first = await startService({ ...deaf.env, ...env });
    const where = { at: first, by: await createKey(first) };
    const id = await submit('slowly', where);
    await eventually(() => deaf.calls.length === 1);
    const begun = performance.now();
    expect(await first.stop()).toBe(0);
    expect(performance.now() - begun).toBeLessThan(5_000);
    deaf.stop();
    const second = await startService({ ...receiver.env, DATABASE_URL: first.databaseUrl });
    await eventually(() => receiver.callsFor(id).length === 1);
    // A stop lets a delivery finish if it can.
    expect(await second.stop()).toBe(0);
    expect(await query(first.databaseUrl, 'SELECT status FROM messages')).toEqual([{ status: 'delivered' }]);
    expect((await jobs(first.databaseUrl)).map(({ state }) => state)).toEqual(['completed']);
  },
  'An answer that does not end delays a delivery by a second': async () => {
    const id = await submit('endless');
    await eventually(() => receiver.callsFor(id).length > 0);
    await eventually(async () => (await statusOf(id)) === 'delivered', 2_500);
    expect(receiver.callsFor(id)).toHaveLength(1);
  },
  'A receiver that does not answer is given up after 15 seconds, and the message retried': async () => {
    const id = await submit('silence');
    expect(await gapOf(id, 20_000)).toBeGreaterThan(14_900);
  },
  'The next try comes after half of 5 to 5 seconds, or when Retry-After says, in seconds or as a date':
    async () => {
      const patient = await startService(receiver.env);
      const by = await createKey(patient);
      const date = new Date(Date.now() + 8_000).toUTCString();
      const ids = await Promise.all(
        ['once 503', 'wait 7', `wait ${date}`].map((text) => submit(text, { at: patient, by })),
      );
      const gaps = await Promise.all(ids.map((id) => gapOf(id, 20_000)));
      const [usual, seconds, until] = await Promise.all(ids.map((id) => pauseOf(id, patient)));
      await patient.stop();
      expect([usual! >= 2_500, usual! < 6_000]).toEqual([true, true]);
      expect([seconds! >= 7_000, seconds! < 8_000]).toEqual([true, true]);
      const untilDate = Date.parse(date) - receiver.callsFor(ids[2]!)[0]!.at;
      expect([until! >= untilDate, until! < untilDate + 1_000]).toEqual([true, true]);
      gaps.forEach((gap, i) => expect(gap).toBeGreaterThanOrEqual([usual!, seconds!, until!][i]!));
    },
  'The next try waits no longer than the longest pause, whatever Retry-After says': async () => {
    const ids = await Promise.all(['999999999999', 'soon', '-1'].map((value) => submit(`wait ${value}`)));
    for (const id of ids) {
      await gapOf(id);
      expect(await pauseOf(id, service)).toBeLessThan(3_000);
    }
  },
};
const begun = new Map<string, Promise<void>>();
beforeAll(() => {
  for (const [name, begin] of Object.entries(SLOW)) {
    const slow = begin();
    slow.catch(() => {});
    begun.set(name, slow);
  }
});
test.each(Object.keys(SLOW))('%s', (name) => begun.get(name), 60_000);

/** Milliseconds from the first try to the time that the second was put off to: on a busy machine it comes later. */
async function pauseOf(id: string, { databaseUrl }: Service): Promise<number> {
  const sql = 'SELECT start_after FROM pgboss.job WHERE id = $1';
  const [job] = await query<{ start_after: Date }>(databaseUrl, sql, [id]);
  return job!.start_after.getTime() - receiver.callsFor(id)[0]!.at;
}

/** Milliseconds between the first and the second try. */
async function gapOf(id: string, withinMs = 12_000): Promise<number> {
  await eventually(() => receiver.callsFor(id).length > 1, withinMs);
  const [first, second] = receiver.callsFor(id);
  return second!.at - first!.at;
}
