import { execFile, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EmbeddedPostgres } from '../platform/database/index.js';
import { query, startSharedService } from './service.js';

const COMMANDS = new URL('../commands/', import.meta.url);
const run = promisify(execFile);

/** Starts the PostgreSQL of the tests, as the built service starts its own, and the service that all files share. */
export default async function setUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const { url } = await EmbeddedPostgres.start(folder);
  Object.assign(globalThis, { testsRemain: outlive(folder) });
  await leaveAlone(url);
  process.env.TEST_DATABASE_URL = url;
  // Services start hundreds of times. One fills the cache: of those that find it empty, each would write all of it when
  // it ends, which takes seconds when they are many.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  await run(process.execPath, ['--eval', `import('${new URL('serve/boot.js', COMMANDS).href}')`]);
  // The template of the databases of services: a copy takes less time than all migrations.
  await query(url, 'CREATE DATABASE migrated');
  await migrate(url, 'migrated');
  Object.assign(globalThis, { sharedService: await startSharedService(folder) });
}

/**
 * Has a process stop PostgreSQL and remove its folder when the tear-down says so, or this process has ended, also by SIGKILL: it
 * then reads the end of its standard input. PostgreSQL ends at once: nobody needs what it would first write to the disk.
 */
function outlive(folder: string): Socket {
  const program = `
    process.stdin.resume().on('end', () => {
      const [file] = fs.globSync('**/postmaster.pid', { cwd: ${JSON.stringify(folder)} });
      try {
        process.kill(parseInt(fs.readFileSync(path.join(${JSON.stringify(folder)}, file), 'utf8')), 'SIGQUIT');
      } catch {
        // It was stopped, or is another server.
      }
      setTimeout(() => fs.rmSync(${JSON.stringify(folder)}, { recursive: true, force: true, maxRetries: 5 }), 2_000);
    });`;
  const child = spawn(process.execPath, ['--eval', program], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  const input = child.stdin as Socket;
  input.unref();
  return input;
}

/**
 * Has PostgreSQL do nothing of itself while tests run. It looks for what to vacuum once an hour instead of once a minute: in
 * each of the hundreds of databases that a run makes, a process does so, which takes 5 ms. And it makes no checkpoint but
 * for a database that is dropped: that would write their files, and have the commits of all services wait for the disk for
 * seconds, who answer 503 then, and ought to.
 */
async function leaveAlone(url: string): Promise<void> {
  for (const setting of [`autovacuum_naptime = '1h'`, `checkpoint_timeout = '1h'`, `max_wal_size = '32GB'`])
    await query(url, `ALTER SYSTEM SET ${setting}`);
  await query(url, 'SELECT pg_reload_conf()');
}

/** Brings a database of a server to the schema of this build. */
export async function migrate(url: string, name: string): Promise<void> {
  const DATABASE_URL = Object.assign(new URL(url), { pathname: name }).href;
  await run(process.execPath, [fileURLToPath(new URL('petstore.js', COMMANDS)), 'migrate'], {
    env: { ...process.env, DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL },
  });
}
