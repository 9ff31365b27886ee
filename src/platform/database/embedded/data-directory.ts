import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Binaries, run } from './binaries.js';
import type { DataFolder } from './data-folder.js';
import { NOBODY } from './run-as.js';
import { requireOwnVersion } from './version.js';

/** The only user of an embedded server. */
export const USER = 'petstore';

/** Prefix of an unfinished data directory, so that one left behind by a killed start is never taken for a complete one. */
const UNFINISHED = 'postgres.new-';

/**
 * Makes the data directory of a folder ready to be served: creates it if there is none, and stops a server that a killed
 * service may have left running on it.
 * @param stopping aborts it
 * @throws OperatorError if PostgreSQL cannot create one, or there is one of another major version
 */
export async function prepareDataDirectory(
  folder: DataFolder,
  binaries: Binaries,
  stopping?: AbortSignal,
): Promise<void> {
  if (!existsSync(join(folder.dataDirectory, 'PG_VERSION'))) return initialise(folder, binaries, stopping);
  await requireOwnVersion(folder, binaries);
  await stopOrphan(folder, binaries, stopping);
}

async function initialise(folder: DataFolder, binaries: Binaries, stopping?: AbortSignal): Promise<void> {
  const remains = readdirSync(folder.path).filter((name) => name.startsWith(UNFINISHED));
  for (const name of remains) remove(join(folder.path, name));
  const unfinished = mkdtempSync(join(folder.path, UNFINISHED));
  const passwordFile = join(folder.path, 'password');
  if (process.getuid?.() === 0) {
    for (const path of [unfinished, passwordFile]) chownSync(path, NOBODY.uid, NOBODY.gid);
  }
  const args = [
    `--pgdata=${unfinished}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
  ];
  try {
    await run(binaries.initdb, folder, args, stopping);
    renameSync(unfinished, folder.dataDirectory);
  } finally {
    remove(unfinished);
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** The folder is ours now, so a server that still runs on it has no owner. */
async function stopOrphan(folder: DataFolder, binaries: Binaries, stopping?: AbortSignal): Promise<void> {
  const pidFile = join(folder.dataDirectory, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  // If another process has the number by now, PostgreSQL would refuse to start, and pg_ctl would stop that process.
  if (!isServer(pid, folder.dataDirectory)) return rmSync(pidFile, { force: true });
  const args = ['stop', '-D', folder.dataDirectory, '-m', 'fast', '-w'];
  await run(binaries.pg_ctl, folder, args, stopping).catch(() => {
    // It has ended meanwhile; if not, the next server reports it.
    stopping?.throwIfAborted();
  });
}

/** Whether a process is a server on the directory, as far as the platform can tell. */
function isServer(pid: number, directory: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return realpathSync(args[args.indexOf('-D') + 1]!) === realpathSync(directory);
  } catch {
    return false;
  }
}
