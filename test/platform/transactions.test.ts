import 'reflect-metadata';
import { Column, type DataSource, Entity, In, PrimaryGeneratedColumn, QueryFailedError } from 'typeorm';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import { goOn, Transactions } from '../../src/platform/data/transactions.js';
import { Connections } from '../../src/platform/database/connections.js';
import { isUnavailable } from '../../src/platform/database/unavailable.js';
import { connect, type Sent } from '../support/database.js';
import { createDatabase } from '../../src/testing/service.js';

@Entity()
class Entry {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' }) id!: string;
  @Column('text', { unique: true }) label!: string;
}

let database: DataSource;
let sent: Sent[];
let transactions: Transactions;
let entries: FastRepository<Entry>;
const stored = (...labels: string[]) => database.getRepository(Entry).countBy({ label: In(labels) });

beforeAll(async () => {
  ({ database, sent } = await connect(await createDatabase(), { entities: [Entry], synchronize: true }));
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
  ])('is undone whole by an error %s', async (how, work) => {
    await expect(work(how)).rejects.toThrow('undone');
    expect(await stored(how)).toBe(0);
  });

  test('in which a failure was ignored fails, as PostgreSQL has undone it', async () => {
    const label = 'ignored';
    const ignoring = transactions.run(async (own) => {
      await own.insert(Entry, { label });
      await own.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(ignoring).rejects.toThrow('a failure of one of its statements was ignored');
    expect(await stored(label)).toBe(0);
  });

  test('sends its last statement before COMMIT, and waits for both', async () => {
    const { shape } = entries;
    const adding = Connections.of(database).statement(
      `INSERT INTO ${shape.table} (label) VALUES ($1) RETURNING id`,
      'last',
    );
    for (let i = 0; i < 20; i++) {
      sent.length = 0;
      await transactions.run(async () => {
        transactions.last(adding, [`last ${i}`]);
        // Whatever the work has to wait for, and however often.
        for (let turns = 0; turns < i; turns++) await Promise.resolve();
      });
      expect(sent.map(({ text }) => text)).toEqual(['START TRANSACTION', adding.text, 'COMMIT']);
      expect(await stored(`last ${i}`)).toBe(1);
    }
    const twice = transactions.run(async () => {
      transactions.last(adding, ['last 0']);
    });
    await expect(twice).rejects.toMatchObject({ driverError: { code: '23505' } });
  });

  test('goes on without the answer to a statement that needs none, whose failure it throws', async () => {
    const order: string[] = [];
    await transactions.run(async () => {
      await goOn(transactions, async () => {
        await entries.addRow({ label: 'unanswered' });
        order.push('answered');
      });
      order.push('gone on');
      await entries.addRow({ label: 'answered' });
    });
    expect([order, await stored('unanswered', 'answered')]).toEqual([['gone on', 'answered'], 2]);
    const again = () => goOn(transactions, () => entries.addRow({ label: 'unanswered' }));
    for (const later of [() => entries.addRow({ label: 'later' }), () => Promise.resolve()]) {
      const failing = transactions.run(async () => {
        await again();
        await later();
      });
      await expect(failing).rejects.toMatchObject({ driverError: { code: '23505' } });
    }
    expect(await stored('later')).toBe(0);
    await expect(again()).rejects.toThrow('duplicate key');
  });

  test('throws its first failure, not that of a statement without an answer after it', async () => {
    const taken = () => {
      throw new RangeError('taken');
    };
    await entries.addRow({ label: 'taken' });
    const failing = transactions.run(async () => {
      const adding = entries.addRow({ label: 'taken' }).catch(taken);
      await goOn(transactions, () => entries.addRow({ label: 'after a failure' }));
      await adding;
    });
    await expect(failing).rejects.toThrow('taken');
    expect(await stored('after a failure')).toBe(0);
  });

  test.each<[what: string, ask: () => Promise<unknown>]>([
    ['a row', () => entries.addRow({ label: 'Late' })],
    ['a part', () => transactions.run(() => Promise.resolve())],
    ['an unanswered row', () => goOn(transactions, () => entries.addRow({ label: 'Late' }))],
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
});

test('A lost connection to the database counts as unavailable, whatever the code; any other failure is a bug', () => {
  const failure = (code: string) => Object.assign(new Error('failed'), { code });
  const network = 'EPROTO ENETDOWN EHOSTDOWN ENETRESET ECONNRESET EHOSTUNREACH EADDRNOTAVAIL EAI_AGAIN';
  const tls =
    'ERR_SSL_WRONG_VERSION_NUMBER ERR_TLS_CERT_ALTNAME_INVALID CERT_HAS_EXPIRED ERR_STREAM_DESTROYED';
  const trust = 'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  const away = [network, tls, trust].flatMap((codes) => codes.split(' ')).map(failure);
  const wrapped = away.map((cause) => new QueryFailedError('SELECT 1', [], cause));
  expect([...away, ...wrapped].filter((error) => !isUnavailable(error))).toEqual([]);
  const bugs = ['EACCES', 'ENOSPC', 'ERR_INVALID_ARG_TYPE', '42601'].map(failure);
  expect(bugs.filter(isUnavailable)).toEqual([]);
});
