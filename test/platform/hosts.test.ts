import { readConfig } from '../../src/config.js';
import { call, createKey } from '../../src/testing/client.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';

/**
 * From the moment at which the address leads to another primary to the first write there: milliseconds, and so many times
 * what a write takes on a busy machine.
 */
const FOLLOWED = { ms: 2_000, writes: 10 };

let databaseUrl: string;
let proxy: Proxy;
let service: Service;
let key: string;

beforeAll(async () => {
  databaseUrl = await createDatabase('TEMPLATE migrated');
  proxy = await Proxy.start(databaseUrl);
  service = await startService({ DATABASE_URL: proxy.url });
  key = await createKey(service);
});
afterAll(async () => {
  await service?.stop();
  proxy?.stop();
});

const addPet = async () =>
  (await call(service, 'POST', '/v1/pets', { key, body: { name: 'Rex', categoryId: 1 } })).status;

/** Sets or resets something of the database, and ends its sessions. It is done from another one: this may be read only. */
async function alter(change: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const server = process.env.TEST_DATABASE_URL!;
  await query(server, `ALTER DATABASE ${name} ${change}`);
  await query(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
}

/** Writes go on within the time from now. */
async function expectWrites(): Promise<void> {
  const begun = performance.now();
  await eventually(async () => (await addPet()) === 201);
  const followed = performance.now();
  expect(await addPet()).toBe(201);
  const oneMs = performance.now() - followed;
  expect(followed - begun).toBeLessThan(FOLLOWED.ms + FOLLOWED.writes * oneMs);
}

describe('An address that leads to another server after a failover', () => {
  test.each<[string, () => unknown, () => unknown]>([
    ['is gone', () => proxy.stop(), () => proxy.mend()],
    ['is silent', () => proxy.swallow(), () => (proxy.stop(), proxy.pass(), proxy.mend())],
    [
      'cannot be written',
      () => alter('SET default_transaction_read_only = on'),
      () => alter('RESET default_transaction_read_only'),
    ],
  ])(
    'is written again within 2 s, after a time in which the server behind it %s',
    async (_how, lose, lead) => {
      expect(await addPet()).toBe(201);
      await lose();
      await eventually(async () => (await addPet()) === 503);
      await lead();
      await expectWrites();
      expect(service.output()).not.toContain(new URL(databaseUrl).password);
    },
  );
});

describe('The configuration', () => {
  const read = (DATABASE_URL: string) => () =>
    readConfig({ DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL });

  test.each([
    'postgresql://u:s3,cret@one:5432/x',
    'postgresql://u:s3,cret@[::1]/x?target_session_attrs=read-write',
    'postgresql://u:s3cret@one/x?options=-c%20search_path=a,b',
  ])('takes %s', (url) => {
    expect(read(url)).not.toThrow();
  });

  test.each([
    'postgresql://u:s3cret@one:5432,two:5433/x',
    'postgres://u:s3,cret@one,[::1]:5433,10.0.0.1/x?sslmode=verify-full&target_session_attrs=primary',
    'postgresql://one,two',
  ])('refuses the several hosts of %s in a line that says what stands instead', (url) => {
    for (const name of ['DATABASE_URL', 'DATABASE_DIRECT_URL'])
      expect(read(url)).toThrow(
        `${name} must be a postgresql:// URL with one host, which follows the primary (docs/scaling.md, "Failover")`,
      );
  });
});
