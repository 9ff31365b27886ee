import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { NOBODY, unprivileged } from '../../src/platform/database/embedded/programs.js';
import { call, createKey } from '../../src/testing/client.js';
import { eventually, ROOT } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing } from './support/fault.js';
import { record } from './support/figures.js';
import { WriteLoad } from './support/load.js';

/** Of an installed PostgreSQL, which has the programs that npm does not bring. */
const bin = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
if (!bin) console.warn('A dump is not restored: no pg_config is installed.');

const COUNTS = `SELECT (SELECT count(*)::int FROM pets) AS pets, (SELECT count(*)::int FROM messages) AS messages,
  (SELECT count(*)::int FROM accounts) AS accounts, (SELECT count(*)::int FROM pgboss.job) AS jobs`;

function newFolder(name: string): string {
  const folder = mkdtempSync(join(process.env.FAULTS_FOLDER!, name));
  chmodSync(folder, 0o755);
  if (process.getuid?.() === 0) chownSync(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}

async function expectToGoOn(databaseUrl: string, key: string): Promise<void> {
  const service = await startService({ DATABASE_URL: databaseUrl });
  expect((await call(service, 'GET', '/health/ready')).status).toBe(200);
  const before = await call(service, 'GET', '/v1/pets?limit=1', { key });
  expect([before.status, before.body.length]).toEqual([200, 1]);
  const body = { name: 'Luna', categoryId: 1 };
  expect((await call(service, 'POST', '/v1/pets', { key, body })).status).toBe(201);
  expect(await service.stop()).toBe(0);
}

test('A base backup of a server under load and its archived log bring back the moment before an accident', async () => {
  const database = await DatabaseServer.start();
  const [archive, folder] = [newFolder('archive-'), newFolder('backup-')];
  await database.configure(['archive_mode = on', `archive_command = 'cp %p ${archive}/%f'`]);
  const service = await startService({ DATABASE_URL: database.url });
  const key = await createKey(service);
  const load = new WriteLoad(service.url, key);
  await sleep(2_000);
  await database.backUp(folder);
  await sleep(2_000);
  const acknowledged = load.acknowledged.slice();
  const [moment] = await query<{ at: string }>(database.url, 'SELECT now()::text AS at');
  await sleep(2_000);
  await query(database.url, 'DELETE FROM pets');
  await load.stop();
  const [last] = await query<{ name: string }>(
    database.url,
    'SELECT pg_walfile_name(pg_current_wal_lsn()) AS name, pg_switch_wal()',
  );
  const isArchived = `SELECT last_archived_wal >= '${last!.name}' AS "isSo" FROM pg_stat_archiver`;
  await eventually(async () => (await query<{ isSo: boolean }>(database.url, isArchived))[0]!.isSo);
  const later = load.acknowledged.length - acknowledged.length;
  await service.stop();
  await database.stop();

  const begun = performance.now();
  const restored = await DatabaseServer.recover(folder, archive, moment!.at);
  const seconds = (performance.now() - begun) / 1_000;
  const missing = await countMissing(restored.url, acknowledged);
  const missingOfLater = await countMissing(restored.url, load.acknowledged);
  await expectToGoOn(restored.url, key);
  await restored.stop();
  record(
    'an accident, undone from a base backup and the log',
    [],
    `recovered in ${seconds.toFixed(1)} s; ${acknowledged.length} acknowledged; ${missing} missing`,
    `${later} acknowledged after the moment`,
  );
  expect(acknowledged.length).toBeGreaterThan(100);
  expect(missing).toBe(0);
  expect(missingOfLater).toBeGreaterThan(0);
});

async function startInstalled(): Promise<{ url: string; stop: () => void }> {
  const data = join(newFolder('installed-'), 'data');
  const [port] = await freePorts(1);
  const run = (program: string, ...programArgs: string[]) => {
    const { file, args, options } = unprivileged(join(bin, program), programArgs, data);
    execFileSync(file, args, { ...options, stdio: 'ignore' });
  };
  run(
    'initdb',
    '--pgdata',
    data,
    '--username=petstore',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
  );
  run('pg_ctl', '--pgdata', data, '--wait', '-o', `-p ${port} -h 127.0.0.1 -k ''`, 'start');
  const server = `postgresql://petstore@127.0.0.1:${port}`;
  await query(`${server}/postgres`, 'CREATE DATABASE petstore');
  return {
    url: `${server}/petstore`,
    stop: () => run('pg_ctl', '--pgdata', data, '--wait', '--mode=fast', 'stop'),
  };
}

(bin ? test : test.skip)(
  'A dump of a service under load is restored, migrated and served as docs/operating.md says',
  async () => {
    const server = await startInstalled();
    const restoredUrl = server.url.replace(/petstore$/, 'petstore_restored');
    const [, chapter] = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').split(
      '## Back up and restore\n',
    );
    const [dump, restore] = [...chapter!.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text]) => text!);
    const folder = mkdtempSync(join(process.env.FAULTS_FOLDER!, 'dump-'));
    const env = { ...process.env, DATABASE_URL: server.url, PATH: `${bin}:${process.env.PATH}` };
    const paste = (text: string) => {
      const adapted = text
        .replaceAll('petstore.dump', join(folder, 'petstore.dump'))
        .replace(/^RESTORED_URL=.*$/m, `RESTORED_URL=${restoredUrl}`);
      return promisify(execFile)('bash', ['--norc', '-e', '-c', adapted], { cwd: ROOT, env });
    };

    let service: Service = await startService({ DATABASE_URL: server.url });
    const key = await createKey(service);
    const load = new WriteLoad(service.url, key);
    await sleep(2_000);
    const acknowledged = load.acknowledged.slice();
    await paste(dump!);
    await load.stop();
    await service.stop();
    const begun = performance.now();
    await paste(restore!);
    const seconds = (performance.now() - begun) / 1_000;
    const missing = await countMissing(restoredUrl, acknowledged);
    const [counts] = await query<Record<string, number>>(restoredUrl, COUNTS);
    // What the sequences of the source have given is not given again.
    await expectToGoOn(restoredUrl, key);
    service = await startService({ DATABASE_URL: server.url });
    const [original] = await query<Record<string, number>>(server.url, COUNTS);
    await service.stop();
    server.stop();
    record(
      `a dump of a service under load, restored`,
      [],
      `recovered in ${seconds.toFixed(1)} s; ${acknowledged.length} acknowledged; ${missing} missing`,
      Object.entries(counts!)
        .map(([table, count]) => `${count} ${table}`)
        .join(', '),
    );
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(missing).toBe(0);
    for (const [table, count] of Object.entries(counts!))
      expect(count).toBeLessThanOrEqual(original![table]!);
  },
);
