import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { AppModule } from '../../dist/src/app.module.js';
import { Transactions } from '../../dist/src/platform/data/transactions.js';
import { HandlesJob, JobError, Scheduled } from '../../dist/src/platform/jobs/job.js';
import { AuditLog } from '../../dist/src/platform/safeguards/audit-log.js';
import { Jobs } from '../../dist/src/platform/jobs/jobs.js';

// The service with a feature that has jobs. A request to the feature's own address adds jobs.
class Reminders {
  constructor(database, transactions, jobs, audit) {
    Object.assign(this, { database, transactions, jobs, audit });
    jobs.declare({
      name: 'recorded',
      concurrency: 10,
      longestPauseSeconds: 1,
      handle: async ({ id, payload }) => {
        await this.note('recorded', id, payload);
        if (payload.throws) throw new Error(payload.throws === true ? 'Nobody is there' : payload.throws);
        if (payload.hangs && !(await this.isNoted('go on'))) await new Promise(() => {});
        if (payload.takesMs) {
          await sleep(payload.takesMs);
          await this.note('ended', id, {});
        }
      },
      recordFailure: async (id, reason) => {
        await this.note('failed', id, { reason });
        if (reason === 'Nobody records this') await new Promise(() => {});
      },
    });
  }

  /** @param undo whether the transaction fails after all; @param ids of the jobs, if they are several */
  add({ queue = 'send-reminder', payloads, ids = [], undo, startAfter, forgets }) {
    if (forgets) void Promise.reject(new Error('a secret'));
    return this.transactions.run(async (transaction) => {
      await transaction.query('INSERT INTO visits DEFAULT VALUES');
      const when = startAfter && new Date(startAfter);
      const jobs = payloads.map((payload, i) => ({ id: ids[i], payload, startAfter: when }));
      if (jobs.length === 1) await this.jobs.add(queue, jobs[0].payload, { startAfter: when });
      else await this.jobs.addAll(queue, jobs);
      if (undo) throw new Error('undone');
    });
  }

  async remind(payload, { id, by, tries, signal }) {
    if (payload.audits)
      await this.audit.add({
        by: { ...by, accountId: payload.audits },
        action: 'visit.reminded',
        subjectId: id,
      });
    await this.note('send-reminder', id, payload);
    if (payload.holdsMs)
      await this.transactions.run(async (transaction) => {
        await transaction.query('SELECT 1');
        await sleep(payload.holdsMs);
      });
    if (payload.hangs && tries === 0) await new Promise(() => {});
    if (payload.bigint) await this.database.query('SELECT $1::bigint', [payload.bigint]);
    while (payload.waitsFor && !(await this.isNoted(payload.waitsFor))) await sleep(20);
    if (payload.isTaken) {
      await once(signal, 'abort');
      await this.note('taken', id, { reason: signal.reason.message });
      throw new Error('The job is no longer here');
    }
    if (payload.fails === 'once' && tries === 0) throw new Error(`\0${'x'.repeat(499)}🐈`);
    if (payload.fails === 'oddly' && tries === 0) throw undefined;
    if (payload.fails === 'for now' && tries === 0) throw new JobError('Not yet', { retryAfterSeconds: 1 });
    if (payload.fails === 'for good') throw new JobError('Nobody is there', { isFinal: true });
  }

  async everyMinute(_payload, { by }) {
    await this.audit.add({ by, action: 'visits.counted' });
    return this.note('every-minute', null, {});
  }

  async isNoted(name) {
    const sql = `SELECT FROM calls WHERE payload->>'name' = $1`;
    return (await this.database.query(sql, [name])).length > 0;
  }

  note(queue, id, payload) {
    const sql = 'INSERT INTO calls (queue, job_id, payload, pid) VALUES ($1, $2, $3, $4)';
    return this.database.query(sql, [queue, id, payload, process.pid]);
  }

  async onApplicationBootstrap() {
    const server = createServer(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      await this.add(body).then(
        () => response.end('added'),
        (error) => response.end(error.message),
      );
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    console.log(`Reminders at http://127.0.0.1:${server.address().port}/`);
  }
}

function decorate(method, decorator) {
  decorator(Reminders.prototype, method, Object.getOwnPropertyDescriptor(Reminders.prototype, method));
}
if (process.env.WITHOUT_HANDLER === undefined) decorate('remind', HandlesJob('send-reminder'));
if (process.env.WITHOUT_SCHEDULE === undefined)
  decorate('everyMinute', Scheduled('every-minute', '* * * * *'));

const reminders = {
  provide: Reminders,
  inject: [DataSource, Transactions, Jobs, AuditLog],
  useFactory: (...given) => new Reminders(...given),
};

function RemindersModule() {}

const own = AppModule.with.bind(AppModule);
AppModule.with = (...args) => ({ module: RemindersModule, imports: [own(...args)], providers: [reminders] });

await import('../../dist/src/main.js');
