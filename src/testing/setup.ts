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

/** Starts an embedded PostgreSQL for the tests, as the built service starts its own, and then the shared service. */
export default async function setUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const { url } = await EmbeddedPostgres.start(folder);
  Object.assign(globalThis, { cleanup: startCleanup(folder) });
  await reduceBackgroundWork(url);
  process.env.TEST_DATABASE_URL = url;
  // Fills the compile cache once: otherwise, hundreds of services would each spend seconds writing theirs.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  await run(process.execPath, ['--eval', `import(${JSON.stringify(new URL('serve/serve.js', COMMANDS))})`]);
  // The template of service databases: copying it is faster than migrating.
  await query(url, 'CREATE DATABASE migrated');
  await migrate(url, 'migrated');
  Object.assign(globalThis, { sharedService: await startSharedService(folder) });
}

/**
 * Starts a process that stops PostgreSQL and removes its folder once its standard input closes: at the
 * tear-down, or when this process ends, even by SIGKILL. PostgreSQL ends without a checkpoint.
 */
function startCleanup(folder: string): Socket {
  const program = `
    process.stdin.resume().on('end', () => {
      const [file] = fs.globSync('**/postmaster.pid', { cwd: ${JSON.stringify(folder)} });
      try {
        process.kill(parseInt(fs.readFileSync(path.join(${JSON.stringify(folder)}, file), 'utf8')), 'SIGQUIT');
      } catch {
        // The server has stopped already.
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
 * Keeps PostgreSQL from background work during tests. Autovacuum wakes once an hour instead of once a minute:
 * for each of hundreds of databases, it starts a process of 5 ms. Checkpoints only come with DROP DATABASE:
 * others would write files that are dropped soon, and commits would wait seconds for the disk, and get 503.
 */
async function reduceBackgroundWork(url: string): Promise<void> {
  for (const setting of [`autovacuum_naptime = '1h'`, `checkpoint_timeout = '1h'`, `max_wal_size = '32GB'`])
    await query(url, `ALTER SYSTEM SET ${setting}`);
  await query(url, 'SELECT pg_reload_conf()');
}

/** Migrates a database to the schema of this build. */
export async function migrate(url: string, name: string): Promise<void> {
  const DATABASE_URL = Object.assign(new URL(url), { pathname: name }).href;
  await run(process.execPath, [fileURLToPath(new URL('petstore.js', COMMANDS)), 'migrate'], {
    env: { ...process.env, DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL },
  });
}
