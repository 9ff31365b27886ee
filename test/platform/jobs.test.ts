import 'reflect-metadata';
import { Client } from 'pg';
import { HandlesJob, type Job, queueOf, Scheduled } from '../../src/platform/jobs/job.js';
import { call, createAccount, createKey } from '../../src/testing/client.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { jobs as operateJobs } from '../support/commands.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { type HandledCall, Reminders } from '../support/reminders.js';

/** Handlers as TypeScript has them: with what they need of payload and job, and with or without a result. */
class Handlers {
  @HandlesJob('send-reminder', { concurrency: 3 })
  async remind({ visitId }: { visitId: string }, { id }: Job): Promise<string> {
    return `${visitId} ${id}`;
  }

  @Scheduled('nightly-report', '0 3 * * *')
  async report(): Promise<void> {}
}

let reminders: Reminders;
let startAfter: number;
const operate = (...args: string[]) => operateJobs(args, { DATABASE_URL: reminders.databaseUrl });

beforeAll(async () => {
  reminders = await Reminders.start();
  // These take their time, while others are tried.
  startAfter = Date.now() + 3_000;
  await reminders.add({ payloads: [{ name: 'later' }], startAfter });
  for (const fails of ['once', 'oddly'])
    await reminders.add({ payloads: [{ name: `fails ${fails}`, fails }] });
});
afterAll(() => reminders?.service.stop());

describe('A job', () => {
  test('is handled once, with what was given to it', async () => {
    const payload = { name: 'once', visitId: '9007199254740993', text: 'e\u0301 "\u2028' };
    expect(await reminders.add({ payloads: [payload] })).toBe('added');
    await reminders.done('once');
    expect((await reminders.calls('once')).map((one) => one.payload)).toEqual([payload]);
  });

  test('exists only if the transaction that added it commits', async () => {
    const before = await reminders.visits();
    expect(await reminders.add({ payloads: [{ name: 'undone' }], undo: true })).toBe('undone');
    expect([await reminders.visits(), await reminders.jobs('undone')]).toEqual([before, []]);
  });

  test('can be one of several jobs that one statement adds', async () => {
    const payloads = Array.from({ length: 50 }, (_, n) => ({ name: 'many', n }));
    expect(await reminders.add({ payloads })).toBe('added');
    await reminders.done('many');
    const handled = (await reminders.calls('many')).map(({ payload }) => Number(payload.n));
    expect(handled.toSorted((a, b) => a - b)).toEqual(payloads.map(({ n }) => n));
  });

  test('that keeps a transaction for seconds, and nine more, leave requests and readiness their connections', async () => {
    const key = await createKey(reminders.service);
    const payloads = Array.from({ length: 10 }, () => ({ name: 'holds', holdsMs: 3_000 }));
    await reminders.add({ payloads });
    await eventually(async () => (await reminders.calls('holds')).length === 10);
    const body = { name: 'Rex', categoryId: 1 };
    for (let i = 0; i < 5; i++) {
      const statuses = await Promise.all([
        call(reminders.service, 'GET', '/v1/pets', { key }),
        call(reminders.service, 'POST', '/v1/pets', { key, body }),
        fetch(`${reminders.service.url}/health/ready`),
      ]);
      expect(statuses.map(({ status }) => status)).toEqual([200, 201, 200]);
    }
    expect(await reminders.jobs('holds')).not.toEqual([]);
    await reminders.done('holds');
    // Those that waited for a connection of the others have not failed for that.
    expect(await reminders.calls('holds')).toHaveLength(10);
  });

  test('is refused if nothing handles it, or its payload is too large', async () => {
    const before = await reminders.visits();
    const lost = await reminders.add({ queue: 'send-remindr', payloads: [{ name: 'lost' }] });
    expect(lost).toBe('Nothing handles the jobs "send-remindr"');
    expect(await reminders.add({ payloads: [{ text: 'x'.repeat(8_200) }] })).toMatch(/has 82\d\d characters/);
    expect(await reminders.visits()).toBe(before);
  });

  test('that has failed for good stays, is shown to the operator, and can be queued again or dropped', async () => {
    await reminders.add({ payloads: [{ name: 'absent', fails: 'for good' }] });
    await eventually(async () => (await reminders.state('absent')) === 'failed');
    const [job] = await reminders.jobs('absent');
    const failed = ['list', '--failed', '--queue', 'send-reminder'];
    const listed = await operate(...failed);
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    const line = new RegExp(`^${job!.id}  send-reminder  \\S+Z  1 tries  Nobody is there$`, 'm');
    expect(listed.stdout).toMatch(line);
    const done = (stdout: string) => ({ code: 0, stdout, stderr: '' });
    expect(await operate('retry', job!.id)).toEqual(done(`${job!.id} is queued again.\n`));
    await eventually(async () => (await reminders.calls('absent')).length === 2);
    await eventually(async () => (await reminders.state('absent')) === 'failed');
    expect(await operate('drop', '--all', '--queue', 'send-reminder')).toEqual(done('1 job is dropped.\n'));
    expect(await reminders.jobs('absent')).toEqual([]);
    expect(await operate(...failed)).toEqual(done('No job is failed.\n'));
  });

  test('that PostgreSQL refuses a value neither logs the value nor stores it', async () => {
    const bigint = 'a personal text';
    const data = JSON.stringify({ payload: { name: 'refused', bigint } });
    // Without a further try, the failure is logged at once.
    const sql = `INSERT INTO pgboss.job (name, data, retry_limit) VALUES ('send-reminder', $1, 0)`;
    await reminders.query(sql, data);
    await eventually(async () => (await reminders.state('refused')) === 'failed');
    const [job] = await reminders.jobs('refused');
    const output = `SELECT output FROM pgboss.job WHERE id = $1`;
    expect(await reminders.query(output, job!.id)).toEqual([{ output: { reason: 'SQLSTATE 22P02' } }]);
    const { service } = reminders;
    await eventually(() => service.output().includes(`Job ${job!.id} of send-reminder has failed`));
    expect(service.output()).not.toContain(bigint);
  });

  test('that is handled together with others is done once, though the database fails for one of these', async () => {
    await reminders.query(
      `CREATE SEQUENCE faults;
       CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN IF nextval('faults') = 1 THEN RAISE 'a fault'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER fail_once BEFORE INSERT ON pgboss.job FOR EACH ROW
       WHEN (NEW.state = 'retry' AND NEW.data->'payload'->>'name' = 'struck') EXECUTE FUNCTION fail_once()`,
    );
    const payloads = [
      { name: 'struck', fails: 'for now' },
      { name: 'beside', waitsFor: 'fault' },
    ];
    await reminders.add({ payloads });
    const faults = 'SELECT is_called FROM faults';
    await eventually(async () => (await reminders.query<{ is_called: boolean }>(faults))[0]!.is_called);
    await reminders.query(`INSERT INTO calls (payload) VALUES ('{"name":"fault"}')`);
    await reminders.done('beside');
    await reminders.done('struck');
    const calls = await Promise.all(['beside', 'struck'].map((name) => reminders.calls(name)));
    expect(calls.map(({ length }) => length)).toEqual([1, 2]);
  });

  test('that fails is tried again after its pause, though a job that was fetched with it takes longer', async () => {
    // One worker of the queue fetches a single job, the others three.
    const kinds = [
      { name: 'quick to fail', fails: 'once' },
      { name: 'slow', waitsFor: 'retried' },
    ];
    await reminders.add({ payloads: [...kinds, ...kinds, ...kinds] });
    await eventually(async () => (await reminders.calls('quick to fail')).length === 6, 30_000);
    await reminders.query(`INSERT INTO calls (payload) VALUES ('{"name":"retried"}')`);
    await reminders.done('slow');
    expect((await reminders.calls('slow')).length).toBe(3);
  });

  test('that fails for good is recorded at once, though a job that was fetched with it takes longer', async () => {
    const kinds = [
      { name: 'quick to end', fails: 'for good' },
      { name: 'slower', waitsFor: 'recorded' },
    ];
    await reminders.add({ payloads: [...kinds, ...kinds, ...kinds] });
    const ended = async () => (await reminders.jobs('quick to end')).map(({ state }) => state);
    await eventually(async () => (await ended()).every((state) => state === 'failed'), 30_000);
    expect(await ended()).toHaveLength(3);
    await reminders.query(`INSERT INTO calls (payload) VALUES ('{"name":"recorded"}')`);
    await reminders.done('slower');
  });

  test('is handled soon, though handlers of earlier ones go on after their time limit', async () => {
    const data = JSON.stringify({ payload: { name: 'endless', hangs: true } });
    const sql = `INSERT INTO pgboss.job (name, data, retry_limit, expire_seconds)
      SELECT 'recorded', $1, 0, 1 FROM generate_series(1, 10)`;
    await reminders.query(sql, data);
    const failed = async () => (await reminders.jobs('endless')).filter(({ state }) => state === 'failed');
    await eventually(async () => (await failed()).length === 10);
    await reminders.add({ queue: 'recorded', payloads: [{ name: 'after these' }] });
    await reminders.done('after these', 30_000);
  });

  test('that clears a closed account holds nothing of the client but the account; one comes after the longest operation', async () => {
    const { service } = reminders;
    const account = await createAccount(service);
    await reminders.query(
      `CREATE TABLE kept (payload jsonb, seconds int);
       CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO kept VALUES (NEW.data->'payload', extract(epoch FROM NEW.start_after - now())); RETURN NEW; END $$;
       CREATE TRIGGER keep BEFORE INSERT ON pgboss.job FOR EACH ROW
       WHEN (NEW.name = 'clear-closed-account') EXECUTE FUNCTION keep()`,
    );
    expect((await call(service, 'DELETE', '/v1/accounts/current', { account })).status).toBe(204);
    const accountId = String(account.id);
    const kept = await reminders.query<{ seconds: number }>('SELECT * FROM kept ORDER BY seconds');
    const payload = { accountId };
    expect(kept).toEqual([
      { payload, seconds: expect.any(Number) },
      { payload, seconds: expect.any(Number) },
    ]);
    // Beyond OPERATION_MAX_SECONDS.
    expect(kept.map(({ seconds }) => seconds > 30)).toEqual([false, true]);
    await reminders.query('DROP FUNCTION keep CASCADE');
  });

  test('that clears a closed account, queued with its client, leaves the address out of the audit log', async () => {
    const { id } = await createAccount(reminders.service);
    await reminders.query(
      `WITH animal AS (INSERT INTO pets (name, category_id, status) VALUES ('Luna', 1, 'pending') RETURNING id)
       INSERT INTO orders (account_id, pet_id, status) SELECT $1, id, 'placed' FROM animal`,
      id,
    );
    const by = { accountId: String(id), address: '192.0.2.1', requestId: 'of-the-client' };
    const sql = `INSERT INTO pgboss.job (name, data) VALUES ('clear-closed-account', $1)`;
    await reminders.query(sql, JSON.stringify({ payload: by }));
    const records = () =>
      reminders.query(
        `SELECT actor, address, request_id FROM audit_log WHERE account_id = $1 AND action = 'order.cancelled'`,
        id,
      );
    await eventually(async () => (await records()).length > 0);
    expect(await records()).toEqual([{ actor: 'account', address: null, request_id: null }]);
  });

  test('that has not failed is neither retried nor dropped, and the command ends with 1', async () => {
    await reminders.add({ payloads: [{ name: 'tomorrow' }], startAfter: Date.now() + 86_400_000 });
    const [job] = await reminders.jobs('tomorrow');
    expect((await operate('list', '--waiting', '--queue', 'send-reminder')).stdout).toContain(job!.id);
    const stderr = `petstore: Not a failed job: ${job!.id}.\n`;
    for (const change of ['retry', 'drop'])
      expect(await operate(change, job!.id)).toEqual({ code: 1, stdout: '', stderr });
    expect(await reminders.state('tomorrow')).toBe('created');
  });

  test.each(['', 'deliver', 'retry', 'drop', 'retry 1', 'retry --queue messages', 'list --failed --waiting'])(
    'is left alone by a command with wrong usage, which ends with 2: %s',
    async (line) => {
      const { code, stdout, stderr } = await operate(...line.split(' ').filter(Boolean));
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^(?:error: |Usage: )/);
    },
  );

  test('is the actor of its changes in the audit log, by its name; so is a schedule', async () => {
    await reminders.add({ payloads: [{ name: 'audited', audits: '7' }] });
    await reminders.query(`INSERT INTO pgboss.job (name, data) VALUES ('every-minute', '{"payload":{}}')`);
    const columns = 'actor, account_id::int AS account, action, subject_id AS subject';
    const records = (job: string) => reminders.query(`SELECT ${columns} FROM audit_log WHERE job = $1`, job);
    await reminders.done('audited');
    const [{ job_id: subject }] = (await reminders.calls('audited')) as [HandledCall];
    const record = { actor: 'job', account: 7, action: 'visit.reminded', subject };
    expect(await records('send-reminder')).toEqual([record]);
    await eventually(async () => (await records('every-minute')).length > 0);
    const scheduled = { actor: 'job', account: null, action: 'visits.counted', subject: null };
    expect((await records('every-minute'))[0]).toEqual(scheduled);
  });

  test('is counted in the metrics of its queue', async () => {
    const tries = async () => {
      const metrics = await readMetrics(reminders.service);
      return ['done', 'postponed', 'failed'].map((result) =>
        valueOf(metrics, 'petstore_jobs_tries_total', { queue: 'send-reminder', result }),
      );
    };
    const before = await tries();
    const payloads = Array.from({ length: 20 }, (_, n) => ({ name: 'counted', n }));
    const failing = ['once', 'for good'].map((fails) => ({ name: `counted as failing ${fails}`, fails }));
    await reminders.add({ payloads: [...payloads, ...failing] });
    await eventually(async () => {
      const [done, postponed, failed] = (await tries()).map((count, i) => count - before[i]!);
      return done! >= 21 && postponed! >= 1 && failed! >= 1;
    });
    const metrics = await readMetrics(reminders.service);
    const waiting = metrics.filter(({ name }) => name === 'petstore_jobs_waiting');
    const queues = expect.arrayContaining(['every-minute', 'messages', 'send-reminder']);
    expect(waiting.map(({ labels }) => labels.queue)).toEqual(queues);
  });

  test('is not handled before its time', async () => {
    await eventually(async () => (await reminders.calls('later')).length > 0);
    expect((await reminders.calls('later'))[0]!.at.getTime()).toBeGreaterThanOrEqual(startAfter);
  });

  test.each(['once', 'oddly'])('is tried again after an error, after a pause: %s', async (fails) => {
    await reminders.done(`fails ${fails}`);
    const [first, second, ...more] = await reminders.calls(`fails ${fails}`);
    expect([second!.job_id, more]).toEqual([first!.job_id, []]);
    expect(second!.at.getTime() - first!.at.getTime()).toBeGreaterThanOrEqual(2_500);
  });
});

test('A stop in the last try of a job uses no try up', async () => {
  const first = await Reminders.start({ SHUTDOWN_GRACE_MS: '0' });
  const data = JSON.stringify({ payload: { name: 'stopped', hangs: true } });
  await first.query(`INSERT INTO pgboss.job (name, data, retry_limit) VALUES ('recorded', $1, 0)`, data);
  await eventually(async () => (await first.calls('stopped')).length === 1);
  expect(await first.service.stop()).toBe(0);
  expect(await first.state('stopped')).toBe('created');
  await first.query(`INSERT INTO calls (payload) VALUES ('{"name":"go on"}')`);
  const second = await Reminders.start({ DATABASE_URL: first.databaseUrl });
  await second.done('stopped');
  expect([(await second.calls('stopped')).length, await second.callsOf('failed')]).toEqual([2, []]);
  expect(await second.service.stop()).toBe(0);
});

test('A stop while the failure of a job is recorded uses no try of other jobs up', async () => {
  const first = await Reminders.start({ SHUTDOWN_GRACE_MS: '0' });
  const add = (payload: object) =>
    first.query(
      `INSERT INTO pgboss.job (name, data, retry_limit) VALUES ('recorded', $1, 0)`,
      JSON.stringify({ payload }),
    );
  await add({ name: 'not recorded', throws: 'Nobody records this' });
  await eventually(async () => (await first.callsOf('failed')).length === 1);
  await add({ name: 'stopped', hangs: true });
  await eventually(async () => (await first.calls('stopped')).length === 1);
  expect(await first.service.stop()).toBe(0);
  expect(await first.state('stopped')).toBe('created');
  const failures = `SELECT state FROM pgboss.job WHERE name = '__failed-jobs'`;
  expect(await first.query(failures)).toEqual([{ state: 'created' }]);
});

test('A connection for jobs that breaks in a transaction ends no process, and the jobs go on', async () => {
  const earlier = await Reminders.start();
  await earlier.add({
    queue: 'recorded',
    payloads: [{ name: 'earlier' }],
    startAfter: Date.now() + 86_400_000,
  });
  expect(await earlier.service.stop()).toBe(0);
  // As a release before 3.0 has added it; the next start changes it.
  await earlier.query('UPDATE pgboss.job SET dead_letter = NULL, start_after = now()');
  const holder = new Client({ connectionString: earlier.databaseUrl });
  await holder.connect();
  await holder.query('BEGIN; SELECT FROM pgboss.job FOR UPDATE');
  const proxy = await Proxy.start(earlier.databaseUrl);
  const next = await Reminders.start({ DATABASE_URL: earlier.databaseUrl, DATABASE_DIRECT_URL: proxy.url });
  const waiting = `SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE pgboss.job SET dead_letter%'`;
  await eventually(async () => (await next.query(waiting)).length > 0);
  proxy.lead(earlier.databaseUrl);
  await holder.end();
  await next.done('earlier');
  expect(await next.service.stop()).toBe(0);
  proxy.stop();
});

test('A handler takes the parameters that it needs, and may return anything', async () => {
  const [remind, report] = ['remind', 'report'].map((method) => queueOf(new Handlers(), method)!);
  const { signal } = new AbortController();
  const by = { job: 'send-reminder' };
  const job: Job = { id: 'b', payload: { visitId: 'a' }, by, tries: 0, signal };
  expect(remind).toMatchObject({ name: 'send-reminder', concurrency: 3, longestPauseSeconds: 3_600 });
  expect(await remind!.handle!(job)).toBe('a b');
  expect(report).toMatchObject({ name: 'nightly-report', concurrency: 10, cron: '0 3 * * *' });
  expect(await report!.handle!(job)).toBeUndefined();
});

test('An unhandled rejection in a feature ends no process, and is logged without its message', async () => {
  const { service } = reminders;
  expect(await reminders.add({ forgets: true, payloads: [{ forgotten: true }] })).toBe('added');
  await eventually(() => service.output().includes('A promise that nothing awaits has failed'));
  const line = /.*A promise that nothing awaits has failed.*/.exec(service.output())![0];
  expect(line).toContain('with-reminders.js');
  expect(line).not.toContain('a secret');
  expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
});
