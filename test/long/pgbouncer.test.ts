import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { call, createKey } from '../../src/testing/client.js';
import { times } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { startExtended } from '../support/extended.js';
import { RecordingsController } from '../support/recordings.controller.js';
import { FEW_SESSIONS, hasPgBouncer, keepsStatements, PgBouncer } from '../support/pgbouncer.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

/** A pooler that keeps no prepared statements, as none did before 1.21. */
const FORGETFUL = { ...FEW_SESSIONS, max_prepared_statements: keepsStatements ? '0' : undefined };

(hasPgBouncer ? test : test.skip)(
  'An operation has a time of its own, and streams their rows, past a pooler and what the role has for others',
  async () => {
    const databaseUrl = await createDatabase('TEMPLATE migrated');
    // As deploy/pgbouncer has it for the role.
    await query(
      databaseUrl,
      `ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET statement_timeout = '1200ms'`,
    );
    const pooler = await PgBouncer.start(databaseUrl, FORGETFUL);
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

(hasPgBouncer ? test : test.skip).each([
  ['keeps no prepared statements', {}],
  ['discards what sessions hold after every transaction', { server_reset_query_always: '1' }],
])('A pooler that %s costs 503s at most, and no 500', async (_what, settings) => {
  const databaseUrl = await createDatabase();
  const pooler = await PgBouncer.start(databaseUrl, { ...FORGETFUL, ...settings });
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
  for (let i = 0; i < 3; i++) await round();
  await eventually(round);
  await service.stop();
  await pooler.stop();
});
