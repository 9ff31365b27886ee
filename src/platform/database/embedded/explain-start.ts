import { OperatorError } from '../../process/index.js';
import { isRoot } from './programs.js';

/** Another process has the lock: https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

const INSTEAD = 'set DATABASE_URL to a PostgreSQL server';

/** Another process uses the folder. */
export class FolderInUse extends OperatorError {}

/** Explains a failed start: what failed, on what, and what to do. Returns an unforeseen error unchanged, with its stack. */
export function explainStart(error: unknown, folder: string): unknown {
  if (!Error.isError(error) || error instanceof OperatorError) return error;
  const { code, errcode, syscall = '', message } = error as NodeJS.ErrnoException & { errcode?: number };
  if (errcode === SQLITE_BUSY)
    return new FolderInUse(
      `Another service is running on the data in ${folder}. Stop it, or choose another folder with DATA_DIR.`,
    );
  const isRefused = code === 'EACCES' || code === 'EPERM' || code === 'EINVAL';
  if (isRefused && isRoot && /^(?:chown|spawn)/.test(syscall)) return staysRoot(message);
  if (syscall.startsWith('spawn'))
    return new OperatorError(
      `PostgreSQL's program cannot be run: ${message}. PostgreSQL needs glibc, which Alpine lacks, and also setpriv if root starts it. Install what is missing, or ${INSTEAD}.`,
    );
  if (syscall === 'listen' || syscall === 'connect')
    return new OperatorError(
      `The embedded PostgreSQL cannot be reached on 127.0.0.1: ${message}. ` +
        `Bring the loopback interface up (\`ip link set lo up\`), or ${INSTEAD}.`,
    );
  if (syscall === '' && errcode === undefined) return error;
  return new OperatorError(
    `The data folder ${folder} cannot be used: ${message}. Start the service as the user who owns it, or choose another folder with DATA_DIR.`,
  );
}

/**
 * Explains the failure of a program by its output, which may be empty.
 * @param log the file with more output
 */
export function explainFailure(what: string, output: string, log?: string): OperatorError {
  const lines = output.trim().split('\n').slice(-10);
  const last = lines.find((line) => /PANIC|FATAL|error:/.test(line)) ?? lines.slice(-3).join(' ');
  if (last.startsWith('setpriv:')) return staysRoot(last);
  // The install script of the package links the shared libraries.
  const remedy = /shared librar/.test(last) && ' Run `npm rebuild --ignore-scripts=false`.';
  const failure = [what, last].filter(Boolean).join(': ');
  return new OperatorError(
    `The embedded PostgreSQL ${failure}.${remedy || (log ? ` Its log is ${log}.` : '')}`,
  );
}

/** The error if root cannot become another user: a container has dropped capabilities, or has no other user. */
function staysRoot(message: string): OperatorError {
  return new OperatorError(
    `PostgreSQL does not run as root, and this process may not run it as another user: ${message}. ` +
      `Start the service as a user other than root, or ${INSTEAD}.`,
  );
}
