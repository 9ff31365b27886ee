import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/npm.js';
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

  'A schedule makes one job each time, however many workers there are': async () => {
    const begun = Date.now();
    const one = await Reminders.start({ ROLE: 'worker' });
    const older = { DATABASE_URL: one.databaseUrl, WITHOUT_SCHEDULE: '1' };
    const two = [one, await Reminders.start({ DATABASE_URL: one.databaseUrl, ROLE: 'worker' })];
    // An instance of a release before it neither runs it nor takes it out.
    two.push(await Reminders.start(older));
    await eventually(async () => (await one.callsOf('every-minute')).length > 2, 240_000);
    // Long enough for another one of the same minute to come.
    await sleep(5_000);
    const calls = await one.callsOf('every-minute');
    const minutes = calls.map(({ at }) => Math.floor(at.getTime() / 60_000));
    // The first job is that of the minute before the start, perhaps, and may run in the minute of the next.
    expect(new Set(minutes.slice(1)).size).toBe(minutes.length - 1);
    expect(minutes.length).toBeLessThanOrEqual(minutes.at(-1)! - Math.floor(begun / 60_000) + 1);
    expect(calls.map(({ pid }) => pid)).not.toContain(two[2]!.service.process.pid);
    expect(await Promise.all(two.map(({ service }) => service.stop()))).toEqual([0, 0, 0]);
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

const begun = new Map<string, Promise<void>>();
beforeAll(() => {
  for (const [name, begin] of Object.entries(FACTS)) {
    const fact = begin();
    fact.catch(() => {});
    begun.set(name, fact);
  }
});
test.each(Object.keys(FACTS))('%s', (name) => begun.get(name), 300_000);
