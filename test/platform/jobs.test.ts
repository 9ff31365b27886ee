import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HandlesJob, type Job, queueOf, Scheduled } from '../../src/platform/jobs/job.js';
import { createKey, call } from '../../src/testing/client.js';
import { admin, jobs as operateJobs } from '../support/commands.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually } from '../support/npm.js';
import { Receiver } from '../support/receiver.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

/** Handlers as TypeScript has them: with what they need of payload and job, and with or without a result. */
class Handlers {
  @HandlesJob('send-reminder', { concurrency: 3 })
  async remind({ visitId }: { visitId: string }, { id }: Job): Promise<string> {
    return `${visitId} ${id}`;
  }

  @Scheduled('nightly-report', '0 3 * * *')
  async report(): Promise<void> {}
}

const MAIN = fileURLToPath(new URL('../support/with-reminders.js', import.meta.url));

interface Call {
  job_id: string;
  payload: Record<string, unknown>;
  pid: number;
  at: Date;
}

let api: Service;
let worker: Service;
let databaseUrl: string;
const start = (env: Record<string, string> = {}) => startService({ DATABASE_URL: databaseUrl, ...env }, MAIN);

beforeAll(async () => {
  databaseUrl = await prepared();
  api = await start({ ROLE: 'api' });
  worker = await start({ ROLE: 'worker' });
});
afterAll(() => Promise.all([api.stop(), worker.stop()]));

/** A database with what the example writes to. */
async function prepared(): Promise<string> {
  const url = await createDatabase();
  await query(url, 'CREATE TABLE visits (id bigint GENERATED ALWAYS AS IDENTITY)');
  await query(
    url,
    'CREATE TABLE calls (queue text, job_id uuid, payload jsonb, pid int, at timestamptz DEFAULT now())',
  );
  return url;
}

/** Asks the example to add jobs to the transaction that adds a visit; returns what it says. */
async function add(given: Record<string, unknown>, at = api): Promise<string> {
  const address = /Reminders at (\S+)/.exec(at.output())![1]!;
  return (await fetch(address, { method: 'POST', body: JSON.stringify(given) })).text();
}

const calls = (name: string) =>
  query<Call>(databaseUrl, `SELECT * FROM calls WHERE payload->>'name' = $1 ORDER BY at`, [name]);
const visits = async () =>
  (await query<{ count: number }>(databaseUrl, 'SELECT count(*)::int FROM visits'))[0]!.count;
const jobsOf = (name: string) =>
  query<{ id: string; state: string }>(
    databaseUrl,
    `SELECT id, state FROM pgboss.job WHERE data->'payload'->>'name' = $1`,
    [name],
  );
const stateOf = async (name: string) => (await jobsOf(name))[0]?.state;
const operate = (...args: string[]) => operateJobs(args, { DATABASE_URL: databaseUrl });

describe('A job', () => {
  test('is handled once, by a worker, with what was given to it', async () => {
    const payload = { name: 'once', visitId: '9007199254740993', text: 'e\u0301 "\u2028' };
    expect(await add({ payloads: [payload] })).toBe('added');
    await eventually(async () => (await stateOf('once')) === 'completed');
    expect((await calls('once')).map((one) => [one.payload, one.pid])).toEqual([
      [payload, worker.process.pid],
    ]);
  });

  test('is there only if the transaction is that it was added in', async () => {
    const before = await visits();
    expect(await add({ payloads: [{ name: 'undone' }], undo: true })).toBe('undone');
    expect([await visits(), await jobsOf('undone')]).toEqual([before, []]);
  });

  test('is one of several that one statement adds', async () => {
    const payloads = Array.from({ length: 50 }, (_, n) => ({ name: 'many', n }));
    expect(await add({ payloads })).toBe('added');
    await eventually(async () => (await jobsOf('many')).every(({ state }) => state === 'completed'));
    expect((await calls('many')).map(({ payload }) => Number(payload.n)).toSorted((a, b) => a - b)).toEqual(
      payloads.map(({ n }) => n),
    );
  });

  test('is not handled before its time', async () => {
    const startAfter = Date.now() + 3_000;
    await add({ payloads: [{ name: 'later' }], startAfter });
    await eventually(async () => (await calls('later')).length > 0);
    expect((await calls('later'))[0]!.at.getTime()).toBeGreaterThanOrEqual(startAfter);
  });

  test('is refused if nothing handles it, or its payload is too large', async () => {
    const before = await visits();
    expect(await add({ queue: 'send-remindr', payloads: [{ name: 'lost' }] })).toBe(
      'Nothing handles the jobs "send-remindr"',
    );
    expect(await add({ payloads: [{ text: 'x'.repeat(8_200) }] })).toMatch(/has 82\d\d characters/);
    expect(await visits()).toBe(before);
  });

  test('is refused with all that are added with it, if there is one with its id already', async () => {
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    const named = (name: string) => ids.slice(0, 2).map((_id, n) => ({ name, n }));
    expect(await add({ payloads: named('first'), ids })).toBe('added');
    const before = await visits();
    const skipped = 'pg-boss has skipped a job, which has an id of an earlier one';
    expect(await add({ payloads: named('second'), ids: [ids[2], ids[0]] })).toBe(skipped);
    expect([await visits(), await jobsOf('second')]).toEqual([before, []]);
  });

  test.each(['once', 'oddly'])('is tried again after an error: %s', async (fails) => {
    await add({ payloads: [{ name: `fails ${fails}`, fails }] });
    await eventually(async () => (await stateOf(`fails ${fails}`)) === 'completed');
    const [first, second, ...more] = await calls(`fails ${fails}`);
    expect([second!.job_id, more]).toEqual([first!.job_id, []]);
    expect(second!.at.getTime() - first!.at.getTime()).toBeGreaterThanOrEqual(2_500);
  });

  test('that has failed for good stays, is shown to the operator, and can be queued again or dropped', async () => {
    await add({ payloads: [{ name: 'absent', fails: 'for good' }] });
    await eventually(async () => (await stateOf('absent')) === 'failed');
    const [job] = await jobsOf('absent');
    const failed = ['list', '--failed', '--queue', 'send-reminder'];
    const listed = await operate(...failed);
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout).toMatch(
      new RegExp(`^${job!.id}  send-reminder  \\S+Z  1 tries  Nobody is there$`, 'm'),
    );
    const done = (stdout: string) => ({ code: 0, stdout, stderr: '' });
    expect(await operate('retry', job!.id)).toEqual(done(`${job!.id} is queued again.\n`));
    await eventually(async () => (await calls('absent')).length === 2);
    await eventually(async () => (await stateOf('absent')) === 'failed');
    expect(await operate('retry', '--all', '--queue', 'messages')).toEqual(
      done('0 jobs are queued again.\n'),
    );
    expect(await operate('drop', '--all', '--queue', 'send-reminder')).toEqual(done('1 jobs are dropped.\n'));
    expect(await jobsOf('absent')).toEqual([]);
    expect(await operate(...failed)).toEqual(done('No job is failed.\n'));
  });

  test('that has not failed is neither retried nor dropped, and the command ends with 1', async () => {
    await add({ payloads: [{ name: 'tomorrow' }], startAfter: Date.now() + 86_400_000 });
    const [job] = await jobsOf('tomorrow');
    const waiting = ['list', '--waiting', '--queue', 'send-reminder'];
    expect((await operate(...waiting, '--limit', '1')).stdout).toMatch(/^[^\n]+\n$/);
    expect((await operate(...waiting)).stdout).toMatch(
      new RegExp(`^${job!.id}  send-reminder  \\S+Z  0 tries$`, 'm'),
    );
    for (const change of ['retry', 'drop'])
      expect(await operate(change, job!.id)).toEqual({
        code: 1,
        stdout: '',
        stderr: `petstore: No failed job: ${job!.id}.\n`,
      });
    expect(await stateOf('tomorrow')).toBe('created');
  });

  test.each([
    '',
    'deliver',
    'retry',
    'drop',
    'retry 1',
    'retry --queue messages',
    'drop --all 019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70',
    'list --failed --waiting',
    'list --limit 0',
  ])('is not operated on with wrong usage, which ends with 2: %s', async (line) => {
    const { code, stdout, stderr } = await operate(...line.split(' ').filter(Boolean));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^(?:error: |Usage: )/);
  });

  test('is who has made its changes, in the audit log, by its name; and so is a schedule', async () => {
    await add({ payloads: [{ name: 'audited', audits: '7' }] });
    await query(databaseUrl, `INSERT INTO pgboss.job (name, data) VALUES ('every-minute', '{"payload":{}}')`);
    const audit = async (...args: string[]) => {
      const { stdout } = await admin(['audit', ...args], { DATABASE_URL: databaseUrl });
      const lines = stdout.split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as object);
    };
    await eventually(async () => (await stateOf('audited')) === 'completed');
    const [job] = await jobsOf('audited');
    const at = expect.any(String);
    expect(await audit('--account', '7')).toEqual([
      { at, actor: 'job', job: 'send-reminder', accountId: 7, action: 'visit.reminded', subjectId: job!.id },
    ]);
    await eventually(async () => (await audit('--job', 'every-minute')).length > 0);
    expect((await audit('--job', 'every-minute'))[0]).toEqual({
      ...{ at, actor: 'job', job: 'every-minute', action: 'visits.counted' },
    });
    expect(await audit('--account', '7', '--job', 'every-minute')).toEqual([]);
  });

  test('is counted in the metrics of its queue', async () => {
    const tries = async () => {
      const metrics = await readMetrics(worker);
      return ['done', 'postponed', 'failed'].map((result) =>
        valueOf(metrics, 'petstore_jobs_tries_total', { queue: 'send-reminder', result }),
      );
    };
    const before = await tries();
    const payloads = Array.from({ length: 20 }, (_, n) => ({ name: 'counted', n }));
    const failing = ['once', 'for good'].map((fails) => ({ name: `counted as failing ${fails}`, fails }));
    await add({ payloads: [...payloads, ...failing] });
    await eventually(async () => {
      const [done, postponed, failed] = (await tries()).map((count, i) => count - before[i]!);
      return done! >= 21 && postponed! >= 1 && failed! >= 1;
    });
    const waiting = (await readMetrics(api)).filter(({ name }) => name === 'petstore_jobs_waiting');
    expect(waiting.map(({ labels }) => labels.queue)).toEqual(
      expect.arrayContaining(['every-minute', 'messages', 'send-reminder']),
    );
  });
});

test('A job whose handler is gone waits, and the worker says so and goes on', async () => {
  const other = await prepared();
  const env = { DATABASE_URL: other };
  await (await startService(env, MAIN)).stop();
  await query(other, `INSERT INTO pgboss.job (name, data) VALUES ('send-reminder', '{"payload":{}}')`);
  const receiver = await Receiver.start();
  const without = await startService({ ...env, ...receiver.env, WITHOUT_HANDLER: '1' }, MAIN);
  const key = await createKey(without);
  const { body } = await call(without, 'POST', '/v1/messages', { key, body: { message: 'Hello' } });
  await eventually(() => receiver.callsFor(body.id).length === 1);
  await eventually(() => without.output().includes('Nothing handles the jobs of send-reminder: they wait'));
  expect(await query(other, `SELECT state FROM pgboss.job WHERE name = 'send-reminder'`)).toEqual([
    { state: 'created' },
  ]);
  expect(await without.stop()).toBe(0);
  receiver.stop();
});

test('A queue whose tries all fail is paused, and goes on with the first success', async () => {
  let isAway = true;
  const receiver = await Receiver.start(() => ({ status: isAway ? 503 : 200 }));
  const other = await startService({
    ...receiver.env,
    MESSAGES_CONCURRENCY: '40',
    MESSAGES_RETRY_MAX_SECONDS: '1',
  });
  const key = await createKey(other);
  const paused = async () => valueOf(await readMetrics(other), 'petstore_jobs_paused', { queue: 'messages' });
  const submitted = Array.from({ length: 150 }, (_, i) =>
    call(other, 'POST', '/v1/messages', { key, body: { message: `Message ${i}` } }),
  );
  const ids = (await Promise.all(submitted)).map(({ body }) => body.id as string);
  await eventually(async () => (await paused()) === 1);
  // What was under way ends, and then one is tried at a time, a second or more apart; there are 150 due each second.
  const before = receiver.calls.length;
  await sleep(4_000);
  expect(receiver.calls.length - before).toBeLessThan(50);
  isAway = false;
  // A pause lasts for up to a minute.
  await eventually(() => ids.every((id) => receiver.callsFor(id).length > 0), 70_000);
  await eventually(async () => (await paused()) === 0);
  expect(other.output()).toContain('Paused, as all tries have failed for a while');
  const counts = `SELECT count(*)::int FROM messages WHERE status <> 'delivered'`;
  await eventually(async () => (await query<{ count: number }>(other.databaseUrl, counts))[0]!.count === 0);
  expect(await other.stop()).toBe(0);
  receiver.stop();
});

test('A job whose limit an earlier release has left at no tries is tried again', async () => {
  let tries = 0;
  const receiver = await Receiver.start(() => ({ status: ++tries === 1 ? 503 : 200 }));
  const api = await startService({ ROLE: 'api' });
  const { databaseUrl: DATABASE_URL } = api;
  const key = await createKey(api);
  const { body } = await call(api, 'POST', '/v1/messages', { key, body: { message: 'Tried twice' } });
  await query(DATABASE_URL, `UPDATE pgboss.job SET retry_limit = 0 WHERE name = 'messages'`);
  const env = { ...receiver.env, DATABASE_URL, ROLE: 'worker', MESSAGES_RETRY_MAX_SECONDS: '1' };
  const worker = await startService(env);
  await eventually(() => receiver.callsFor(body.id as string).length === 2);
  await eventually(
    async () => (await call(api, 'GET', `/v1/messages/${body.id}`, { key })).body.status === 'delivered',
  );
  expect(await Promise.all([worker.stop(), api.stop()])).toEqual([0, 0]);
  receiver.stop();
});

/** What takes long: all of it starts at once, and each test waits for its own. */
const SLOW: Record<string, () => Promise<void>> = {
  'A job is handled again if its worker is killed in it': async () => {
    const env = { DATABASE_URL: await prepared() };
    const doomed = await startService(env, MAIN);
    await add({ payloads: [{ hangs: true }] }, doomed);
    const pids = async () =>
      (
        await query<Call>(env.DATABASE_URL, `SELECT pid FROM calls WHERE queue = 'send-reminder' ORDER BY at`)
      ).map(({ pid }) => pid);
    await eventually(async () => (await pids()).length === 1);
    const other = await startService(env, MAIN);
    doomed.process.kill('SIGKILL');
    await eventually(async () => (await pids()).length === 2, 90_000);
    expect(await pids()).toEqual([doomed.process.pid, other.process.pid]);
    const states = `SELECT state FROM pgboss.job WHERE name = 'send-reminder' AND state <> 'completed'`;
    await eventually(async () => (await query(env.DATABASE_URL, states)).length === 0);
    await other.stop();
  },
  'A try whose job another worker has taken is told so': async () => {
    await add({ payloads: [{ name: 'taken', isTaken: true }] });
    await eventually(async () => (await calls('taken')).length === 1);
    const { job_id: id } = (await calls('taken'))[0]!;
    // As if its worker had been silent for long. No heartbeat of the other one is looked for.
    const take =
      'UPDATE pgboss.job SET retry_count = retry_count + 1, heartbeat_seconds = NULL WHERE id = $1';
    await query(databaseUrl, take, [id]);
    const told = `SELECT payload->>'reason' AS reason FROM calls WHERE queue = 'taken'`;
    await eventually(async () => (await query(databaseUrl, told)).length === 1, 20_000);
    expect(await query(databaseUrl, told)).toEqual([{ reason: 'Another worker has the job' }]);
  },
  'A schedule makes one job each time, however many workers there are': async () => {
    const env = { DATABASE_URL: await prepared(), ROLE: 'worker' };
    const begun = Date.now();
    const two = await Promise.all([startService(env, MAIN), startService(env, MAIN)]);
    const count = async (sql: string) =>
      (await query<{ count: number }>(env.DATABASE_URL, `SELECT count(*)::int FROM ${sql}`))[0]!.count;
    const handled = () => count(`calls WHERE queue = 'every-minute'`);
    await eventually(async () => (await handled()) > 0, 120_000);
    // Long enough for another one of the same minute to come.
    await sleep(5_000);
    const made = await count(`pgboss.job WHERE name = 'every-minute'`);
    // That of the minute that it was started in counts too.
    const minutes = Math.floor(Date.now() / 60_000) - Math.floor((begun - 60_000) / 60_000);
    expect(made).toBeLessThanOrEqual(minutes);
    expect(await handled()).toBeLessThanOrEqual(made);
    expect(await Promise.all(two.map((one) => one.stop()))).toEqual([0, 0]);
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
test.each(Object.keys(SLOW))('%s', (name) => begun.get(name), 180_000);

test('A handler takes what it needs, and gives back what it likes', async () => {
  const [remind, report] = ['remind', 'report'].map((method) => queueOf(new Handlers(), method)!);
  const { signal } = new AbortController();
  const job: Job = { id: 'b', payload: { visitId: 'a' }, by: { job: 'send-reminder' }, tries: 0, signal };
  expect(remind).toMatchObject({ name: 'send-reminder', concurrency: 3, longestPauseSeconds: 3_600 });
  expect(await remind!.handle!(job)).toBe('a b');
  expect(report).toMatchObject({ name: 'nightly-report', concurrency: 10, cron: '0 3 * * *' });
  expect(await report!.handle!(job)).toBeUndefined();
});

test('A promise that a feature forgets ends no process, and is in the log without what it says', async () => {
  expect(await add({ forgets: true, payloads: [{ forgotten: true }] })).toBe('added');
  await eventually(() => api.output().includes('A promise was forgotten'));
  const line = api
    .output()
    .split('\n')
    .find((one) => one.includes('A promise was forgotten'))!;
  expect(line).toContain('with-reminders.js');
  expect(line).not.toContain('a secret');
  expect((await fetch(`${api.url}/health/ready`)).status).toBe(200);
});
