import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import '../../src/features.js';
import { call, createKey, expectError } from '../../src/testing/client.js';
import { Customer, times } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { startExtended } from '../support/extended.js';
import { RecordingsController } from '../support/recordings.controller.js';
import { findVersion, PgBouncer } from '../support/pgbouncer.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

/** Fewer than the service's connections to the pooler, so that these switch sessions all the time. */
const SESSIONS = '3';
const [major, minor] = findVersion() ?? [0, 0];
const keepsStatements = major > 1 || minor >= 21;
if (major === 0) console.warn('The tests with PgBouncer are skipped: no pgbouncer is installed.');

const MODES = keepsStatements ? ['off', 'on'] : ['off'];

(major > 0 ? describe : describe.skip).each(MODES)(
  'Behind PgBouncer, with prepared statements %s',
  (mode) => {
    let pooler: PgBouncer;
    let service: Service;
    let key: string;

    beforeAll(async () => {
      const databaseUrl = await createDatabase();
      pooler = await PgBouncer.start(databaseUrl, {
        default_pool_size: SESSIONS,
        ...(mode === 'off' && { max_prepared_statements: keepsStatements ? '0' : undefined }),
      });
      service = await startService({
        DATABASE_URL: pooler.url,
        DATABASE_DIRECT_URL: databaseUrl,
        DATABASE_PREPARED_STATEMENTS: mode,
      });
      key = await createKey(service);
    });
    afterAll(async () => {
      await service?.stop();
      await pooler?.stop();
    });

    test('animals that are added and listed at the same time are all found, on every page', async () => {
      const added = await times(60, async (i) => {
        const body = { name: `Pet ${i}`, categoryId: 1, status: 'available' };
        const [created] = await Promise.all([
          call(service, 'POST', '/v1/pets', { key, body }),
          call(service, 'GET', `/v1/pets?limit=${(i % 4) * 10 + 1}`, { key }),
        ]);
        expect(created.status).toBe(201);
        expect((await call(service, 'GET', `/v1/pets/${created.body.id}`, { key })).body).toEqual(
          created.body,
        );
        return created.body.id as number;
      });
      const listed: number[] = [];
      let path: string | undefined = '/v1/pets?limit=7&status=available';
      while (path) {
        const { body, headers } = await call(service, 'GET', path, { key });
        listed.push(...body.map(({ id }: { id: number }) => id));
        path = /<[^>]*?(\/v1[^>]*)>/.exec(headers.get('link') ?? '')?.[1];
      }
      expect(listed).toEqual(added.toSorted((a, b) => a - b));
    });

    test('orders go through all their states', async () => {
      const customer = await Customer.of(service);
      const orders = await times(12, () => customer.orderAt('delivered'));
      expect(orders.map(({ status }) => status)).toEqual(Array(12).fill('delivered'));
      expect(await customer.petStatus(orders[0]!.petId)).toBe('sold');
    });

    test('a retried message is stored once', async () => {
      const headers = { 'Idempotency-Key': randomUUID() };
      const body = { message: randomUUID() };
      const answers = await times(20, () => call(service, 'POST', '/v1/messages', { key, body, headers }));
      expect(answers.filter(({ status }) => status !== 202 && status !== 409)).toEqual([]);
      const again = await call(service, 'POST', '/v1/messages', { key, body, headers });
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
      const sql = 'SELECT id FROM messages WHERE message = $1';
      expect(await query(pooler.url, sql, [body.message])).toEqual([{ id: again.body.id }]);
    });

    test('the start warns of the time-outs that the pooler drops', () => {
      expect(service.output()).toContain(
        'Not in force: idle_in_transaction_session_timeout, lock_timeout, statement_timeout.',
      );
    });

    test('a pooler that dies costs 503s, until it is back', async () => {
      const list = () => call(service, 'GET', '/v1/categories', { key });
      expect((await list()).status).toBe(200);
      await pooler.kill();
      expectError(await list(), 503, 'service_unavailable');
      await pooler.run();
      await eventually(async () => (await list()).status === 200);
    });
  },
);

(major > 0 ? test : test.skip)(
  'An operation has a time of its own, and streams their rows, past a pooler and what the role has for others',
  async () => {
    const databaseUrl = await createDatabase('TEMPLATE migrated');
    // As deploy/pgbouncer has it for the role.
    await query(
      databaseUrl,
      `ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET statement_timeout = '1200ms'`,
    );
    const max_prepared_statements = keepsStatements ? '0' : undefined;
    const pooler = await PgBouncer.start(databaseUrl, {
      default_pool_size: SESSIONS,
      max_prepared_statements,
    });
    const env = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: databaseUrl,
      DATABASE_PREPARED_STATEMENTS: 'off',
    };
    const extended = await startExtended({ ...env, ROLE: 'api' }, RecordingsController);
    const key = await createKey({ url: extended.url } as Service);
    const ask = async (path: string) => {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`${extended.url}/v1/recordings/${path}`, { headers });
      return [response.status, await response.text()];
    };
    expect(await ask('report')).toEqual([200, expect.stringContaining('"done":1')]);
    const [status, text] = await ask('rows?rows=100000&firstMs=1500');
    expect([status, String(text).split('\n').length]).toEqual([200, 100_002]);
    await extended.stop();
    await pooler.stop();
  },
);

(major > 0 ? test : test.skip).each([
  ['keeps no prepared statements', {}],
  ['discards what sessions hold after every transaction', { server_reset_query_always: '1' }],
])('A pooler that %s costs 503s at first, and no 500', async (_what, settings) => {
  const databaseUrl = await createDatabase();
  const max_prepared_statements = keepsStatements ? '0' : undefined;
  const pooler = await PgBouncer.start(databaseUrl, {
    default_pool_size: SESSIONS,
    max_prepared_statements,
    ...settings,
  });
  const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: databaseUrl };
  const service = await startService({ ...env, DATABASE_PREPARED_STATEMENTS: 'on' });
  let key = '';
  await eventually(async () => Boolean((key = await createKey(service))));
  const ask = (method: string, path: string, body?: unknown) =>
    call(service, method, path, { key, body, headers: { 'Idempotency-Key': randomUUID() } });
  const round = async () => {
    const answers = await times(30, (i) =>
      Promise.all([
        ask('POST', '/v1/pets', { name: `Pet ${i}`, categoryId: 1 }),
        ask('POST', '/v1/messages', { message: 'Hello' }),
        ask('GET', '/v1/pets?limit=10'),
        ask('GET', '/v1/categories/1'),
      ]),
    );
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status >= 300 && status !== 503)).toEqual([]);
    return statuses.every((status) => status < 300);
  };
  await eventually(async () => {
    await round();
    return service.output().includes('Prepared statements are lost');
  });
  await eventually(round);
  await service.stop();
  await pooler.stop();
});
