import { readConfig } from '../../src/config.js';
import { call, createKey } from '../../src/testing/client.js';
import { urlOf } from '../support/hosts.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

let databaseUrl: string;
let proxies: Proxy[];
let service: Service;
let key: string;

/** A service that knows two addresses of one server, and before them one where there is none. */
beforeAll(async () => {
  databaseUrl = await createDatabase('TEMPLATE migrated');
  proxies = await Promise.all([Proxy.start(databaseUrl), Proxy.start(databaseUrl)]);
  const away = new URL(databaseUrl);
  away.port = '1';
  service = await startService({ DATABASE_URL: urlOf(away.href, ...proxies.map(({ url }) => url)) });
  key = await createKey(service);
});
afterAll(async () => {
  await service?.stop();
  for (const proxy of proxies) proxy.stop();
});

const addPet = async () =>
  (await call(service, 'POST', '/v1/pets', { key, body: { name: 'Rex', categoryId: 1 } })).status;
const isOn = async ({ url }: Proxy) =>
  (await call(service, 'GET', '/health/ready')).body.database === new URL(url).host;

test('Of several hosts one that answers is used, and all connections follow when it breaks or falls silent', async () => {
  expect(await addPet()).toBe(201);
  const [used, other] = (await isOn(proxies[0]!)) ? proxies : proxies.toReversed();
  used!.stop();
  await eventually(() => isOn(other!));
  expect(await addPet()).toBe(201);
  await used!.mend();
  other!.swallow();
  await eventually(() => isOn(used!));
  expect(await addPet()).toBe(201);
  other!.pass();
  expect(service.output()).not.toContain(new URL(databaseUrl).password);
});

test('A host that cannot be written is not used, until it can be', async () => {
  const name = new URL(databaseUrl).pathname.slice(1);
  // From another database: this one refuses changes of itself, too.
  const server = process.env.TEST_DATABASE_URL!;
  const alter = async (change: string) => {
    await query(server, `ALTER DATABASE ${name} ${change}`);
    await query(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  };
  await alter('SET default_transaction_read_only = on');
  await eventually(async () => (await addPet()) === 503);
  await alter('RESET default_transaction_read_only');
  await eventually(async () => (await addPet()) === 201);
});

describe('The configuration', () => {
  const isAccepted = (DATABASE_URL: string) => {
    try {
      readConfig({ DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL });
      return true;
    } catch (error) {
      expect((error as Error).message).toMatch(
        /^Invalid environment: DATABASE_URL must be a postgresql:[^;]+; DATABASE_DIRECT_URL must be a postgresql:[^;]+\.$/,
      );
      expect((error as Error).message).not.toContain('s3cret');
      return false;
    }
  };

  test.each([
    'postgresql://u:s3cret@one:5432,two:5433/x',
    'postgresql://u:s3cret@one,two/x?target_session_attrs=read-write',
    'postgres://u:s3,cret@one,[::1]:5433,10.0.0.1/x?sslmode=verify-full&target_session_attrs=primary',
    'postgresql://u:s3,cret@one:5432/x?target_session_attrs=any',
  ])('takes %s', (url) => {
    expect(isAccepted(url)).toBe(true);
  });

  test.each([
    'postgresql://u:s3cret@one,,two/x',
    'postgresql://u:s3cret@one,two,/x',
    'postgresql://u:s3cret@one:5432,two:99999/x',
    'postgresql://u:s3cret@one:x,two/x',
    'mysql://u:s3cret@one,two/x',
    'postgresql://u:s3cret@one,two/x?target_session_attrs=standby',
    'postgresql://u:s3cret@one,two/x?target_session_attrs=any',
  ])('refuses %s', (url) => {
    expect(isAccepted(url)).toBe(false);
  });
});
