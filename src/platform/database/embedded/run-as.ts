import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';

/** How to start a program as another user: the program and arguments to spawn, and spawn's own options. */
interface Command {
  file: string;
  args: string[];
  options: { uid?: number; gid?: number };
}

/** User and group that own nothing: PostgreSQL refuses to run as root. */
export const NOBODY = { uid: 65_534, gid: 65_534 };

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
