import { chmodSync } from 'node:fs';
import { readConfig } from '../../src/config.js';
import { DatabaseServer } from '../faults/support/database-server.js';
import { call, createKey } from '../../src/testing/client.js';
import { admin, migrate } from '../support/commands.js';
import { urlOf } from '../support/hosts.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually, newFolder, runNode } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { query, type Service, startService } from '../../src/testing/service.js';

const hostOf = (url: string) => new URL(url).host;
/** Nothing listens there. */
const AWAY = 'postgresql://127.0.0.1:1/petstore';

let primary: DatabaseServer;
let standby: DatabaseServer;
const services: Service[] = [];
const proxies: Proxy[] = [];

beforeAll(async () => {
  process.env.FAULTS_FOLDER = newFolder();
  chmodSync(process.env.FAULTS_FOLDER, 0o755);
  primary = await DatabaseServer.start();
  standby = await DatabaseServer.follow(primary);
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) proxy.stop();
  await Promise.all(services.splice(0).map((service) => service.stop()));
});
afterAll(async () => {
  await standby?.stop();
  await primary?.stop();
});

async function start(env: Record<string, string>): Promise<Service> {
  const service = await startService(env);
  services.push(service);
  return service;
}

const ready = async (service: Service) => (await call(service, 'GET', '/health/ready')).body;

async function addPet(service: Service, key: string, name: string): Promise<number> {
  return (await call(service, 'POST', '/v1/pets', { key, body: { name, categoryId: 1 } })).status;
}

const isStored = async (name: string) =>
  (await query(primary.url, 'SELECT FROM pets WHERE name = $1', [name])).length === 1;

describe('With several hosts', () => {
  test('the one that can be written is used, wherever it stands, and readiness and metrics name it', async () => {
    const url = urlOf(standby.url, AWAY, primary.url);
    const service = await start({ DATABASE_URL: `${url}?target_session_attrs=read-write` });
    const key = await createKey(service);
    expect(await addPet(service, key, 'Chosen')).toBe(201);
    expect(await isStored('Chosen')).toBe(true);
    expect(await ready(service)).toEqual({ status: 'ok', database: hostOf(primary.url) });
    const metrics = await readMetrics(service);
    const on = (one: string) => valueOf(metrics, 'petstore_database_host', { host: hostOf(one) });
    expect([standby.url, AWAY, primary.url].map(on)).toEqual([0, 0, 1]);
    expect(service.output()).not.toContain(new URL(primary.url).password);
  });

  test('all connections follow one that breaks or falls silent, at once', async () => {
    const both = await Promise.all([Proxy.start(primary.url), Proxy.start(primary.url)]);
    proxies.push(...both);
    const service = await start({ DATABASE_URL: urlOf(both[0].url, both[1].url) });
    const key = await createKey(service);
    const isOn = async ({ url }: Proxy) => (await ready(service)).database === hostOf(url);
    // On a busy machine the first may be slow to answer.
    const [used, other] = (await isOn(both[0])) ? both : both.toReversed();
    used!.stop();
    await eventually(() => isOn(other!));
    expect(await addPet(service, key, 'After a break')).toBe(201);
    await used!.mend();
    other!.swallow();
    await eventually(() => isOn(used!));
    expect(await addPet(service, key, 'After silence')).toBe(201);
  });

  test('messages, migrations and commands go to the one that can be written', async () => {
    const DATABASE_URL = urlOf(standby.url, AWAY, primary.url);
    expect(await migrate({ DATABASE_URL })).toMatchObject({ code: 0, stderr: '' });
    expect(await admin(['accounts', 'list'], { DATABASE_URL })).toMatchObject({ code: 0, stderr: '' });
  });

  test('a start says what is the matter with each, if none can be written', async () => {
    const DATABASE_URL = urlOf(standby.url, AWAY);
    const run = await runNode(['dist/src/main.js'], { env: { DATABASE_URL, PORT: '0' } });
    const reasons = `${hostOf(standby.url)}: it cannot be written; 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1`;
    expect(run.stderr).toBe(
      `petstore: The database cannot be reached: No host of the database can be written: ${reasons}.\n`,
    );
    expect(run.code).toBe(1);
  });
});

test.each([
  ['the only one', () => primary.url],
  ['one of several', () => urlOf(primary.url, AWAY)],
])('A connection to a host that becomes read only is closed, when that is %s', async (_which, urlOfIt) => {
  const service = await start({ DATABASE_URL: urlOfIt(), ROLE: 'api' });
  const key = await createKey(service);
  const sessions = async () => {
    const sql = `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`;
    return (await query<{ pid: number }>(primary.url, sql)).map(({ pid }) => pid);
  };
  const alter = async (change: string) => {
    await query(primary.url, `ALTER SYSTEM ${change}`);
    await query(primary.url, 'SELECT pg_reload_conf()');
  };
  const before = await sessions();
  expect(before).not.toEqual([]);
  await alter('SET default_transaction_read_only = on');
  // The server tells its sessions when it gets to it.
  await eventually(async () => (await addPet(service, key, 'Refused')) === 503);
  await eventually(async () => {
    expect(await addPet(service, key, 'Refused')).toBe(503);
    return !(await sessions()).some((pid) => before.includes(pid));
  });
  await alter('RESET default_transaction_read_only');
  await eventually(async () => (await addPet(service, key, 'Accepted')) === 201);
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
