import { Logger } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
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
import { promisify } from 'node:util';
import { OperatorError } from '../../process/index.js';
import { type DataFolder, NOBODY } from './data-folder.js';
import { type Binaries, run, settingsFor } from './programs.js';

/** The only user of an embedded server. */
export const USER = 'petstore';

/** Prefix of an unfinished data directory, so that one left behind by a killed start is never taken for a complete one. */
const UNFINISHED = 'postgres.new-';

/**
 * Makes the data directory of a folder ready to be served: creates it if there is none, and stops a server that a killed
 * service may have left running on it.
 * @param stopping aborts it
 * @returns the password of its only user, a new one if none is known
 * @throws OperatorError if PostgreSQL cannot create one, there is something else, or one of another major version
 */
export async function prepareDataDirectory(
  folder: DataFolder,
  binaries: Binaries,
  stopping?: AbortSignal,
): Promise<string> {
  const known = folder.password();
  const password = known ?? randomBytes(24).toString('hex');
  if (!existsSync(join(folder.dataDirectory, 'PG_VERSION'))) {
    requireEmpty(folder.dataDirectory);
    if (known === undefined) folder.keepPassword(password);
    await initialise(folder, binaries, stopping);
    return password;
  }
  await requireOwnVersion(folder, binaries);
  await stopOrphan(folder, binaries, stopping);
  if (known === undefined) {
    await setPassword(folder, binaries, password, stopping);
    folder.keepPassword(password);
  }
  return password;
}

/** @throws OperatorError if the directory holds something else, over which none can be created */
function requireEmpty(directory: string): void {
  if (!existsSync(directory) || readdirSync(directory).length === 0) return;
  throw new OperatorError(
    `The folder ${directory} is not empty, and holds no database. Choose another folder with DATA_DIR.`,
  );
}

/** By the server's single-user mode, which asks for none and lets nobody else in. */
async function setPassword(
  folder: DataFolder,
  binaries: Binaries,
  password: string,
  stopping?: AbortSignal,
): Promise<void> {
  new Logger('Database').warn(`The password in ${folder.path} is lost: the server gets a new one`);
  const args = ['--single', '-D', folder.dataDirectory, ...settingsFor(0), 'postgres'];
  await run(binaries.postgres, folder, args, {
    input: `ALTER ROLE ${USER} PASSWORD '${password}'\n`,
    stopping,
  });
}

async function initialise(folder: DataFolder, binaries: Binaries, stopping?: AbortSignal): Promise<void> {
  const remains = readdirSync(folder.path).filter((name) => name.startsWith(UNFINISHED));
  for (const name of remains) remove(join(folder.path, name));
  const unfinished = mkdtempSync(join(folder.path, UNFINISHED));
  const { passwordFile } = folder;
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
    await run(binaries.initdb, folder, args, { stopping });
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
  await run(binaries.pg_ctl, folder, args, { stopping }).catch(() => {
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

/**
 * Makes sure that a data directory is of the major version of the programs: PostgreSQL reads no other.
 * @throws OperatorError that says how its data gets into one of this version
 */
async function requireOwnVersion(folder: DataFolder, { postgres }: Binaries): Promise<void> {
  const theirs = readFileSync(join(folder.dataDirectory, 'PG_VERSION'), 'utf8').trim();
  const { stdout } = await promisify(execFile)(postgres, ['--version']);
  const ours = /\d+/.exec(stdout)?.[0];
  if (theirs === ours) return;
  throw new OperatorError(
    `The data in ${folder.path} is of PostgreSQL ${theirs}, and this release brings ${ours}. ` +
      'Start the release that wrote it, and move the data by pg_dump and pg_restore (docs/operating.md, "Another database").',
  );
}
