import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { createKey } from '../../src/testing/client.js';
import { query, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing, faultyOf, HEALING_MS, observe, PATIENCE_MS, recordFault } from './support/fault.js';
import { runNode } from '../support/npm.js';
import { countStatuses, record } from './support/figures.js';
import { WriteLoad } from './support/load.js';

test.each(['fsync', 'full_page_writes', 'synchronous_commit'])(
  'The doctor names a server with %s off',
  async (name) => {
    const database = await DatabaseServer.start();
    await query(database.url, `ALTER SYSTEM SET ${name} = off`);
    await query(database.url, 'SELECT pg_reload_conf()');
    await sleep(300);
    const env = { DATABASE_URL: database.url };
    const { stdout } = await runNode(['dist/src/commands/petstore.js', 'doctor'], { env });
    await database.stop();
    const said = /^.*A crash can lose.*$/m.exec(stdout)?.[0] ?? 'no warning';
    record(`${name} = off`, [], said);
    expect(said).toContain(`switch ${name} on.`);
  },
);

test('The canary: the test sees writes lost by a database that acknowledges them before they are durable', async () => {
  const database = await DatabaseServer.start();
  for (const setting of [
    'synchronous_commit = off',
    "wal_writer_delay = '10s'",
    "wal_writer_flush_after = '1GB'",
  ])
    await query(database.url, `ALTER SYSTEM SET ${setting}`);
  await query(database.url, 'SELECT pg_reload_conf()');
  await sleep(300);
  const service = await startService({ DATABASE_URL: database.url });
  const key = await createKey(service);
  await query(database.url, 'CHECKPOINT');
  const load = new WriteLoad(service.url, key);
  await sleep(2_000);
  await database.kill();
  await load.stop();
  await database.restart();
  const missing = await countMissing(database.url, load.acknowledged);
  await service.stop();
  await database.stop();
  const acknowledged = load.acknowledged.length;
  record('Canary: not durable', load.outcomes, `${acknowledged} acknowledged; ${missing} missing`);
  expect(missing).toBeGreaterThan(0);
});

const disk = mountSmallDisk();
if (!disk) console.warn('The test of a full disk is skipped: a small file system cannot be mounted here.');

(disk ? test : test.skip)(
  'A full disk costs writes 503s, but no reads and no acknowledged write',
  async () => {
    const database = await DatabaseServer.start(disk);
    const service = await startService({ DATABASE_URL: database.url });
    const key = await createKey(service);
    const ballast = join(disk!, 'ballast');
    const seen = await observe(service, key, {
      begin: () => fill(ballast),
      end: () => rmSync(ballast),
      lastsMs: 3_000,
      filler: randomBytes(1_500).toString('hex'),
    });
    const missing = await countMissing(database.url, seen.acknowledged);
    await service.stop();
    await database.stop();
    recordFault('Disk full', seen, missing);
    expect(faultyOf(seen.writes)).toEqual([]);
    expect(seen.during.some(({ status }) => status === 503)).toBe(true);
    expect(countStatuses(seen.reads)).toBe(`200×${seen.reads.length}`);
    expect(seen.slowestMs).toBeLessThan(PATIENCE_MS);
    expect(seen.recoveredS * 1_000).toBeLessThan(HEALING_MS);
    expect(missing).toBe(0);
  },
);

afterAll(() => {
  if (disk) spawnSync('umount', [disk]);
});

/** A small in-memory file system; undefined without the right to mount one. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(process.env.FAULTS_FOLDER!, 'disk-'));
  chmodSync(folder, 0o755);
  const options = ['-t', 'tmpfs', '-o', 'size=256m,mode=755', 'none', folder];
  return spawnSync('mount', options).status === 0 ? folder : undefined;
}

function fill(file: string): void {
  for (const size of [1_048_576, 4_096]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
