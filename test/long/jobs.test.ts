import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, ROOT } from '../support/npm.js';
import { type HandledCall, Reminders } from '../support/reminders.js';

// What takes a minute or more, most of it waiting: all of it begins at once, and each test waits for its own.

const FACTS: Record<string, () => Promise<void>> = {
  'A job is handled by workers alone, and again if its worker is killed in it': async () => {
    const api = await Reminders.start({ ROLE: 'api' });
    const env = { DATABASE_URL: api.databaseUrl, ROLE: 'worker' };
    await api.add({ payloads: [{ name: 'hung', hangs: true }] });
    const doomed = await Reminders.start(env);
    await eventually(async () => (await api.calls('hung')).length === 1);
    const other = await Reminders.start(env);
    doomed.service.process.kill('SIGKILL');
    await api.done('hung', 150_000);
    expect((await api.calls('hung')).map(({ pid }) => pid)).toEqual(
      [doomed, other].map(({ service }) => service.process.pid),
    );
    expect(await Promise.all([api, other].map(({ service }) => service.stop()))).toEqual([0, 0]);
  },

  'A try whose job another worker has taken is told so': async () => {
    const reminders = await Reminders.start();
    await reminders.add({ payloads: [{ name: 'taken', isTaken: true }] });
    await eventually(async () => (await reminders.calls('taken')).length === 1);
    const { job_id: id } = (await reminders.calls('taken'))[0]!;
    // As if its worker had been silent for long. No heartbeat of the other one is looked for.
    const take =
      'UPDATE pgboss.job SET retry_count = retry_count + 1, heartbeat_seconds = NULL WHERE id = $1';
    await reminders.query(take, id);
    await eventually(async () => (await reminders.callsOf('taken')).length === 1, 60_000);
    const [{ payload }] = (await reminders.callsOf('taken')) as [HandledCall];
    expect(payload.reason).toMatch(/no longer active/);
    await reminders.service.stop();
  },

  'A schedule makes one job each time, however many workers there are, and some whose code does not have it':
    async () => {
      const begun = Date.now();
      const one = await Reminders.start({ ROLE: 'worker' });
      const database = { DATABASE_URL: one.databaseUrl };
      const checkout = releaseOf('1.0.0');
      const other = await Reminders.start({ ...database, ROLE: 'worker' });
      // An instance of a release before it, and another build of the same release, neither run it nor take it out.
      const older = await Reminders.start({ ...database, WITHOUT_SCHEDULE: '1' }, checkout);
      const build = await Reminders.start({ ...database, WITHOUT_SCHEDULE: '1' });
      await eventually(() => older.service.output().includes('the schedules are left to it'));
      await eventually(async () => (await one.callsOf('every-minute')).length > 2, 240_000);
      // Long enough for another one of the same minute to come.
      await sleep(5_000);
      const calls = await one.callsOf('every-minute');
      const minutes = calls.map(({ at }) => Math.floor(at.getTime() / 60_000));
      // The first job is that of the minute before the start, perhaps, and may run in the minute of the next.
      expect(new Set(minutes.slice(1)).size).toBe(minutes.length - 1);
      expect(minutes.length).toBeLessThanOrEqual(minutes.at(-1)! - Math.floor(begun / 60_000) + 1);
      const pids = calls.map(({ pid }) => pid);
      for (const { service } of [older, build]) expect(pids).not.toContain(service.process.pid);
      // Once no other process has it, the newest release takes it out.
      const found = () => one.query(`SELECT FROM pgboss.schedule WHERE name = 'every-minute'`);
      expect(await Promise.all([one, other].map(({ service }) => service.stop()))).toEqual([0, 0]);
      await eventually(async () => (await found()).length === 0, 30_000);
      expect(await Promise.all([older, build].map(({ service }) => service.stop()))).toEqual([0, 0]);
      rmSync(checkout, { recursive: true });
    },

  'A job is recorded as failed, however its last try has ended: thrown, too slow, too late, or without its process':
    async () => {
      const doomed = await Reminders.start();
      const other = await Reminders.start({ DATABASE_URL: doomed.databaseUrl, ROLE: 'api' });
      // As releases before 3.0 add it: without a dead letter queue. Its worker is busy when the next is added.
      const last = async (name: string, payload: object, expireSeconds: number) => {
        await doomed.query(
          `INSERT INTO pgboss.job (name, data, retry_limit, expire_seconds, heartbeat_seconds)
         VALUES ('recorded', $1, 0, $2, 10)`,
          JSON.stringify({ payload: { name, ...payload } }),
          expireSeconds,
        );
        await eventually(async () => (await doomed.calls(name)).length === 1);
      };
      const names = ['thrown', 'too slow', 'too late', 'killed'];
      await last('thrown', { throws: true }, 120);
      await last('too slow', { hangs: true }, 1);
      await last('too late', { takesMs: 5_000 }, 1);
      await last('killed', { hangs: true }, 120);
      const reasonOf = async (name: string) => {
        const [job] = await doomed.jobs(name);
        const failures = await doomed.callsOf('failed');
        return failures.find(({ job_id: id }) => id === job!.id)?.payload.reason;
      };
      for (const name of names.slice(0, 3))
        await eventually(async () => (await reasonOf(name)) !== undefined, 60_000);
      await eventually(async () => (await doomed.callsOf('ended')).length === 1);
      doomed.service.process.kill('SIGKILL');
      await eventually(async () => (await reasonOf('killed')) !== undefined, 60_000);
      // By its worker, or by whoever looks first.
      const tooLong = expect.stringMatching(/^(?:handler execution exceeded 1s|job timed out)$/);
      expect(await Promise.all(names.map(reasonOf))).toEqual([
        'Nobody is there',
        tooLong,
        tooLong,
        'job heartbeat timeout',
      ]);
      for (const name of names) expect(await doomed.state(name)).toBe('failed');
      expect(await doomed.query(`SELECT FROM pgboss.job WHERE name = '__failed-jobs'`)).toEqual([]);
      expect(await other.service.stop()).toBe(0);
    },

  'A release sets its schedules and removes others, unless a newer one runs': async () => {
    const older = await Reminders.start();
    const database = { DATABASE_URL: older.databaseUrl };
    const names = async () =>
      (await older.query<{ name: string }>('SELECT name FROM pgboss.schedule')).map(({ name }) => name);
    const has = (isThere: boolean) =>
      eventually(async () => (await names()).includes('every-minute') === isThere, 60_000);
    await has(true);
    const checkout = releaseOf('99.0.0');
    const newer = await Reminders.start({ ...database, WITHOUT_SCHEDULE: '1' }, checkout);
    await has(false);
    expect(await older.service.stop()).toBe(0);
    const again = await Reminders.start(database);
    await eventually(() =>
      again.service.output().includes('A newer release (99.0.0) is running, so the schedules are left to it'),
    );
    expect(await names()).not.toContain('every-minute');
    // Rolled back, it runs alone.
    expect(await newer.service.stop()).toBe(0);
    await has(true);
    expect(await again.service.stop()).toBe(0);
    rmSync(checkout, { recursive: true });
  },

  'A job whose handler is gone waits, and the worker says so and goes on': async () => {
    const before = await Reminders.start();
    await before.service.stop();
    await before.query(`INSERT INTO pgboss.job (name, data) VALUES ('send-reminder', '{"payload":{}}')`);
    const env = { DATABASE_URL: before.databaseUrl, WITHOUT_HANDLER: '1' };
    const { service } = await Reminders.start(env);
    await eventually(() => service.output().includes('Nothing handles the jobs of send-reminder: they wait'));
    await before.query(`INSERT INTO pgboss.job (name, data) VALUES ('every-minute', '{"payload":{}}')`);
    await eventually(async () => (await before.callsOf('every-minute')).length > 0);
    expect(await before.query(`SELECT state FROM pgboss.job WHERE name = 'send-reminder'`)).toEqual([
      { state: 'created' },
    ]);
    expect(await service.stop()).toBe(0);
  },
};

/** A copy of the built service that calls itself another release. */
function releaseOf(version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-release-'));
  for (const path of ['dist', 'test/support', 'docs'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const facts = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...facts, version }));
  return folder;
}

const begun = new Map<string, Promise<void>>();
beforeAll(() => {
  for (const [name, begin] of Object.entries(FACTS)) {
    const fact = begin();
    fact.catch(() => {});
    begun.set(name, fact);
  }
});
test.each(Object.keys(FACTS))('%s', (name) => begun.get(name), 300_000);
