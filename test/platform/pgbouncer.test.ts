import { randomUUID } from 'node:crypto';
import { call, createKey, expectError } from '../../src/testing/client.js';
import { Customer, times, untilServed } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { FEW_SESSIONS, hasPgBouncer, keepsStatements, PgBouncer } from '../support/pgbouncer.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

(hasPgBouncer ? describe : describe.skip)('Behind PgBouncer', () => {
  let pooler: PgBouncer;
  let service: Service;
  let key: string;

  beforeAll(async () => {
    const databaseUrl = await createDatabase();
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
    const answers = await times(20, () =>
      untilServed(() => call(service, 'POST', '/v1/messages', { key, body, headers })),
    );
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
});
