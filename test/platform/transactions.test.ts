import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import {
  Column,
  DataSource,
  Entity,
  type EntityManager,
  In,
  PrimaryGeneratedColumn,
  QueryFailedError,
} from 'typeorm';
import { Config } from '../../src/config.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { commandOptions } from '../../src/platform/database/connection-options.js';
import { isUnavailable } from '../../src/platform/database/unavailable.js';
import { call } from '../../src/testing/client.js';
import { Customer, times } from '../support/customer.js';
import { connect } from '../support/database.js';
import { cutOff } from '../support/held.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { isThorough } from '../support/thorough.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

@Entity()
class Entry {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text', { unique: true })
  label!: string;
}

let databaseUrl: string;
let database: DataSource;
let transactions: Transactions;
let entries: FastRepository<Entry>;
const stored = (...labels: string[]) => database.getRepository(Entry).countBy({ label: In(labels) });

beforeAll(async () => {
  databaseUrl = await createDatabase();
  ({ database } = await connect(databaseUrl, { entities: [Entry], synchronize: true }));
  transactions = Transactions.of(database);
  entries = new FastRepository(Entry, database.manager);
});
afterAll(() => database.destroy());

describe('A transaction', () => {
  test.each<[how: string, work: (label: string) => Promise<unknown>]>([
    [
      'of its own',
      (label) =>
        transactions.run(async () => {
          await entries.addRow({ label });
          expect(await entries.findRow({ label })).not.toBeNull();
          throw new RangeError('undone');
        }),
    ],
    [
      'of a part, also if that is ignored',
      (label) =>
        transactions.run(async () => {
          await entries.addRow({ label });
          await transactions.run(() => Promise.reject(new RangeError('undone'))).catch(() => {});
        }),
    ],
    [
      'after what a part has written',
      (label) =>
        transactions.run(async () => {
          await transactions.run(() => entries.addRow({ label }));
          throw new RangeError('undone');
        }),
    ],
    [
      "in TypeORM's own transaction, with what a repository of its manager has written",
      (label) =>
        database.transaction(async (own) => {
          await own.withRepository(entries).addRow({ label });
          expect(await own.countBy(Entry, { label })).toBe(1);
          throw new RangeError('undone');
        }),
    ],
    [
      "in TypeORM's own transaction, with what a change has called",
      (label) =>
        database.transaction(async (own) => {
          const { id } = await own.withRepository(entries).addRow({ label: `${label} changed` });
          await own
            .withRepository(entries)
            .changeRow({ id }, 'pet_not_found', () => entries.addRow({ label }));
          throw new RangeError('undone');
        }),
    ],
  ])('is undone whole by an error %s', async (how, work) => {
    await expect(work(how)).rejects.toThrow('undone');
    expect(await stored(how, `${how} changed`)).toBe(0);
  });

  test('is begun for a change on a query runner without one', async () => {
    const { id } = await entries.addRow({ label: 'runner' });
    const runners = [database.createQueryRunner(), database.createQueryRunner()];
    const change = (own: EntityManager) =>
      own.withRepository(entries).changeRow({ id }, 'pet_not_found', (row) => (row.label += '+'));
    await Promise.all(runners.map(({ manager }) => change(manager)));
    await Promise.all(runners.map((runner) => runner.release()));
    expect((await entries.findRow({ id }))!.label).toBe('runner++');
  });

  const ignoring = (label: string) => async (own: EntityManager) => {
    await own.insert(Entry, { label });
    await own.query('SELECT 1 / 0').catch(() => {});
  };
  test.each<[how: string, work: (label: string) => Promise<unknown>]>([
    ['by itself', (label) => transactions.run(ignoring(label))],
    [
      'on a query runner',
      (label) => {
        const runner = database.createQueryRunner();
        return transactions.within(runner.manager, ignoring(label)).finally(() => runner.release());
      },
    ],
    [
      'in a command of an operator',
      async (label) => {
        const config = Object.assign(new Config(), { DATABASE_URL: databaseUrl });
        const command = await new DataSource({ ...commandOptions(config), entities: [Entry] }).initialize();
        return Transactions.of(command)
          .run(ignoring(label))
          .finally(() => command.destroy());
      },
    ],
  ])('in which a failure was ignored fails, as PostgreSQL has undone it: %s', async (how, work) => {
    await expect(work(how)).rejects.toThrow('a failure of one of its statements was ignored');
    expect(await stored(how)).toBe(0);
  });

  test.each<[what: string, ask: () => Promise<unknown>]>([
    ['a row', () => entries.addRow({ label: 'Late' })],
    ['a part', () => transactions.run(() => Promise.resolve())],
  ])('that has ended refuses %s, which is not done outside of it', async (what, ask) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const late = await transactions.run(async () => {
      await entries.addRow({ label: `In time for ${what}` });
      return { asked: ended.then(ask) };
    });
    end();
    await expect(late.asked).rejects.toThrow('The transaction has ended before all of its work was done');
    expect(await stored('Late', `In time for ${what}`)).toBe(1);
  });

  test('has the isolation that its data source has', async () => {
    const { database: strict } = await connect(databaseUrl, { entities: [], isolationLevel: 'SERIALIZABLE' });
    const [found] = await Transactions.of(strict).run((own) => own.query('SHOW transaction_isolation'));
    await strict.destroy();
    expect(found).toEqual({ transaction_isolation: 'serializable' });
  });
});

describe('A subscriber to transactions', () => {
  const MOMENTS = [
    ...(['beforeTransactionStart', 'afterTransactionStart'] as const),
    ...(['beforeTransactionCommit', 'afterTransactionCommit'] as const),
    ...(['beforeTransactionRollback', 'afterTransactionRollback'] as const),
  ];
  const label = 'watched';
  const told: string[] = [];
  let fails: string | undefined;
  let watched: DataSource;
  beforeAll(async () => {
    ({ database: watched } = await connect(databaseUrl, { entities: [Entry], applicationName: label }));
    const tell = (moment: string) => async () => {
      told.push(moment);
      if (moment === fails) throw new RangeError(`fails ${moment}`);
    };
    watched.subscribers.push(Object.fromEntries(MOMENTS.map((moment) => [moment, tell(moment)])));
  });
  afterAll(() => watched.destroy());

  const write = (own: EntityManager) => own.insert(Entry, { label });
  const WORKS: Record<string, () => Promise<unknown>> = {
    reads: () => Transactions.of(watched).run((own) => own.countBy(Entry, { label })),
    writes: () => Transactions.of(watched).run(write),
    fails: () =>
      Transactions.of(watched).run(async (own) => {
        await write(own);
        await own.query('SELECT 1 / 0');
      }),
  };

  test('hears of each transaction', async () => {
    const start = MOMENTS.slice(0, 2);
    await WORKS.writes!();
    expect(told.splice(0)).toEqual([...start, ...MOMENTS.slice(2, 4)]);
    expect(await watched.getRepository(Entry).delete({ label })).toMatchObject({ affected: 1 });
    await expect(WORKS.fails!()).rejects.toThrow('division by zero');
    expect(told).toEqual([...start, ...MOMENTS.slice(4)]);
  });

  test.each(MOMENTS)(
    'leaves no connection in a transaction, nor half of one, where it fails: %s',
    async (moment) => {
      const open = `SELECT FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'`;
      for (const [what, work] of Object.entries(WORKS)) {
        fails = moment;
        const isStored = await work().then(
          () => what === 'writes',
          () => what === 'writes' && moment === 'afterTransactionCommit',
        );
        fails = undefined;
        await eventually(async () => (await query(databaseUrl, open, [label])).length === 0);
        // What is written next, on any connection, is there for all.
        await times(10, (i) => watched.query('INSERT INTO entry (label) VALUES ($1)', [`${label} ${i}`]));
        const rows = await query(databaseUrl, `DELETE FROM entry WHERE label LIKE 'watched%' RETURNING id`);
        expect([what, rows.length]).toEqual([what, isStored ? 11 : 10]);
      }
    },
  );
});

describe('A write of several statements', () => {
  let proxy: Proxy;
  let service: Service;
  beforeAll(async () => {
    proxy = await Proxy.start(await createDatabase('TEMPLATE migrated'));
    service = await startService({ DATABASE_URL: proxy.url });
  });
  afterAll(async () => {
    await service?.stop();
    proxy?.stop();
  });

  const header = () => ({ 'Idempotency-Key': randomUUID() });

  test('is never half done, whenever statements and connections are cut off, and no answer is 500', async () => {
    const customer = await Customer.of(service);
    const marker = `cut ${randomUUID()}`;
    const orders = await times(40, () => customer.orderAt('placed'));
    const seen: { status: number; made?: string | number }[] = [];
    const over = new AbortController();
    const post = (path: string, body: object) =>
      call(service, 'POST', path, { key: customer.key, body, headers: header() });
    const writeAll = async (i: number) => {
      const pet = await post('/v1/pets', { name: marker, categoryId: 1, status: 'available' });
      const message = await post('/v1/messages', { message: marker });
      for (const { status, body } of [pet, message]) seen.push({ status, made: body.id });
      if (pet.status === 201) seen.push({ status: (await customer.place(pet.body.id)).status });
      const { status } = await customer.move(orders[i % orders.length]!.id, 'approved');
      // Whoever tries again finds what was done.
      seen.push({ status: status === 409 ? 200 : status });
    };
    const clients = times(12, async (i) => {
      while (!over.signal.aborted) await writeAll(i);
    });
    for (let i = 0; i < (isThorough ? 80 : 24); i++) {
      const before = seen.length;
      await eventually(() => seen.length > before + 4);
      await cutOff(service, i % 4 === 0 ? 'pg_terminate_backend' : 'pg_cancel_backend', 1);
      // Also those that do nothing, as when the server is restarted.
      if (i % 10 === 9)
        await query(
          process.env.TEST_DATABASE_URL!,
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
          [new URL(service.databaseUrl).pathname.slice(1)],
        );
    }
    over.abort();
    await clients;
    const statuses = new Set(seen.map(({ status }) => status));
    expect([...statuses].filter((status) => ![200, 201, 202, 503].includes(status))).toEqual([]);
    expect(statuses).toContain(503);
    const acknowledged = seen.flatMap(({ status, made }) => (status < 300 && made ? [`${made}`] : []));
    const there = await query<{ id: string }>(
      service.databaseUrl,
      `SELECT id::text FROM pets WHERE name = $1 UNION ALL SELECT id::text FROM messages WHERE message = $1`,
      [marker],
    );
    const ids = new Set(there.map(({ id }) => id));
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    const [wrong] = await query<Record<string, string>>(
      service.databaseUrl,
      `SELECT (SELECT count(*) FROM orders o WHERE NOT EXISTS (
           SELECT FROM audit_log WHERE action = 'order.' || o.status AND subject_id = o.id::text)) AS unaudited,
         (SELECT count(*) FROM orders o JOIN pets p ON p.id = o.pet_id
           WHERE o.status IN ('placed', 'approved') AND p.status IS DISTINCT FROM 'pending') AS torn,
         (SELECT count(*) FROM pets p WHERE status = 'pending' AND NOT EXISTS (
           SELECT FROM orders WHERE pet_id = p.id AND status IN ('placed', 'approved'))) AS lost,
         (SELECT count(*) FROM messages m WHERE NOT EXISTS (
           SELECT FROM pgboss.job WHERE data #>> '{payload}' IS NULL AND id = m.id)) AS jobless`,
    );
    expect(wrong).toEqual({ unaudited: '0', torn: '0', lost: '0', jobless: '0' });
  });
});

test('A lost connection to the database counts as unavailable, whatever the code; any other failure is a bug', () => {
  const failure = (code: string) => Object.assign(new Error('failed'), { code });
  const away = [
    ...[
      'EPROTO',
      'ENETDOWN',
      'EHOSTDOWN',
      'ENETRESET',
      'ECONNRESET',
      'EHOSTUNREACH',
      'EADDRNOTAVAIL',
      'EAI_AGAIN',
    ],
    ...[
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'CERT_HAS_EXPIRED',
      'ERR_STREAM_DESTROYED',
    ],
    ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ].map(failure);
  const wrapped = away.map((cause) => new QueryFailedError('SELECT 1', [], cause));
  expect([...away, ...wrapped].filter((error) => !isUnavailable(error))).toEqual([]);
  const bugs = ['EACCES', 'ENOSPC', 'ERR_INVALID_ARG_TYPE', '42601'].map(failure);
  expect(bugs.filter(isUnavailable)).toEqual([]);
});
