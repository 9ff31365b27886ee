import { call, createKey, expectError } from '../../src/testing/client.js';
import { walk } from '../../src/testing/paging.js';
import { doctor } from '../support/commands.js';
import { Customer, times, untilServed } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { FEW_SESSIONS, hasPgBouncer, keepsStatements, PgBouncer } from '../support/pgbouncer.js';
import { createDatabase, type Service, startService } from '../../src/testing/service.js';

(hasPgBouncer ? describe : describe.skip)('Behind PgBouncer', () => {
  let databaseUrl: string;
  let pooler: PgBouncer;
  let service: Service;
  let key: string;

  beforeAll(async () => {
    databaseUrl = await createDatabase();
    pooler = await PgBouncer.start(databaseUrl, FEW_SESSIONS);
    service = await startService({
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: databaseUrl,
      DATABASE_PREPARED_STATEMENTS: keepsStatements ? 'on' : 'off',
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
        untilServed(() => call(service, 'POST', '/v1/pets', { key, body })),
        call(service, 'GET', `/v1/pets?limit=${(i % 4) * 10 + 1}`, { key }),
      ]);
      expect(created.status).toBe(201);
      const fetched = await untilServed(() => call(service, 'GET', `/v1/pets/${created.body.id}`, { key }));
      expect(fetched.body).toEqual(created.body);
      return created.body.id as number;
    });
    const listed = await walk<{ id: number }>(service, '/v1/pets?limit=7&status=available', { key });
    expect(listed.map(({ id }) => id)).toEqual(added.toSorted((a, b) => a - b));
  });

  test('orders go through all their states', async () => {
    const customer = await Customer.of(service);
    const orders = await times(12, () => customer.orderAt('delivered'));
    expect(orders.map(({ status }) => status)).toEqual(Array(12).fill('delivered'));
    expect(await customer.petStatus(orders[0]!.petId)).toBe('sold');
  });

  test('the doctor names what the pooler drops, the start says nothing of it', async () => {
    expect(service.output()).not.toContain('"level":"warn"');
    const env = { DATABASE_URL: pooler.url, DATABASE_PREPARED_STATEMENTS: keepsStatements ? 'on' : 'off' };
    const role = new URL(pooler.url).username;
    expect(await doctor({ ...env, DATABASE_DIRECT_URL: databaseUrl })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        `A pooler drops .* ALTER ROLE "${role}" SET lock_timeout = '590ms'; .*\n`,
      ),
      stderr: 'petstore: Problems found: 1.\n',
    });
    const { stdout } = await doctor(env);
    expect(stdout).toMatch(
      /PROBLEM {2}time-outs and pooler: Migrations and jobs need sessions .* DATABASE_DIRECT_URL/,
    );
    const always = await doctor({ ...env, DATABASE_PREPARED_STATEMENTS: 'on' });
    expect(always.stdout.includes('keeps no prepared statements')).toBe(!keepsStatements);
  });

  test('a pooler that dies costs 503s, until it is back', async () => {
    const list = () => call(service, 'GET', '/v1/categories', { key });
    expect((await list()).status).toBe(200);
    await pooler.kill();
    expectError(await list(), 503, 'service_unavailable');
    await pooler.run();
    await eventually(async () => (await list()).status === 200);
  });
});
