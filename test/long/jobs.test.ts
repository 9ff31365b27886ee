import { setTimeout as sleep } from 'node:timers/promises';
import { call, createKey } from '../../src/testing/client.js';
import { query, startService } from '../../src/testing/service.js';
import { times } from '../support/customer.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually } from '../support/npm.js';
import { Receiver } from '../support/receiver.js';
import { Reminders } from '../support/reminders.js';

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
    await eventually(async () => (await api.state('hung')) === 'completed', 150_000);
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
    expect((await reminders.callsOf('taken'))[0]!.payload).toEqual({ reason: 'Another worker has the job' });
    await reminders.service.stop();
  },

  'A schedule makes one job each time, however many workers there are': async () => {
    const begun = Date.now();
    const one = await Reminders.start({ ROLE: 'worker' });
    const two = [one, await Reminders.start({ DATABASE_URL: one.databaseUrl, ROLE: 'worker' })];
    await eventually(async () => (await one.callsOf('every-minute')).length > 0, 120_000);
    // Long enough for another one of the same minute to come.
    await sleep(5_000);
    const made = (await one.query(`SELECT FROM pgboss.job WHERE name = 'every-minute'`)).length;
    // That of the minute that it was started in counts too.
    const minutes = Math.floor(Date.now() / 60_000) - Math.floor((begun - 60_000) / 60_000);
    expect(made).toBeLessThanOrEqual(minutes);
    expect((await one.callsOf('every-minute')).length).toBeLessThanOrEqual(made);
    expect(await Promise.all(two.map(({ service }) => service.stop()))).toEqual([0, 0]);
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

  'A queue whose tries all fail is paused, and goes on with the first success': async () => {
    let isAway = true;
    const receiver = await Receiver.start(() => ({ status: isAway ? 503 : 200 }));
    const service = await startService({
      ...receiver.env,
      MESSAGES_CONCURRENCY: '40',
      MESSAGES_RETRY_MAX_SECONDS: '1',
    });
    const key = await createKey(service);
    const paused = async () =>
      valueOf(await readMetrics(service), 'petstore_jobs_paused', { queue: 'messages' });
    const ids: string[] = [];
    while (ids.length < 150) {
      const submitted = await times(15, () =>
        call(service, 'POST', '/v1/messages', { key, body: { message: 'Is anybody there?' } }),
      );
      ids.push(...submitted.flatMap(({ status, body }) => (status === 202 ? [body.id as string] : [])));
    }
    await eventually(async () => (await paused()) === 1, 60_000);
    // What was under way ends, and then one is tried at a time, a second or more apart; there are 150 due each second.
    const before = receiver.calls.length;
    await sleep(4_000);
    expect(receiver.calls.length - before).toBeLessThan(50);
    isAway = false;
    // A pause lasts for up to a minute.
    await eventually(() => ids.every((id) => receiver.callsFor(id).length > 0), 90_000);
    await eventually(async () => (await paused()) === 0);
    expect(service.output()).toContain('Paused, as all tries have failed for a while');
    const undelivered = `SELECT FROM messages WHERE status <> 'delivered'`;
    await eventually(async () => (await query(service.databaseUrl, undelivered)).length === 0);
    expect(await service.stop()).toBe(0);
    receiver.stop();
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
test.each(Object.keys(FACTS))('%s', (name) => begun.get(name), 240_000);
