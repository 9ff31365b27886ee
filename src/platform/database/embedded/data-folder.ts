import {
  accessSync,
  appendFileSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** User and group that own nothing: PostgreSQL refuses to run as root. */
export const NOBODY = { uid: 65_534, gid: 65_534 };

/** Bytes after which the log begins anew; what was before stays in a second file until the next time. */
const LIMIT = 1_000_000;
/** Characters that are kept to explain a failure. */
const RECENT = 4_000;

/** What PostgreSQL says, in a file that only its owner can read and that does not grow without end. */
class ServerLog {
  private size = 0;
  private recent = '';

  constructor(private readonly path: string) {}

  /** Empties the file, which may be from an earlier start. */
  open(): void {
    writeFileSync(this.path, '', { mode: 0o600 });
    chmodSync(this.path, 0o600);
    this.size = 0;
  }

  /** Marks the start of a program: `tail` tells only of what follows. */
  begin(): void {
    this.recent = '';
  }

  /** A disk that is full must not end the service with the server that has filled it. */
  write(chunk: Buffer): void {
    this.recent = (this.recent + chunk.toString()).slice(-RECENT);
    try {
      if (this.size + chunk.length > LIMIT) this.rotate();
      appendFileSync(this.path, chunk);
      this.size += chunk.length;
    } catch {
      // It is in `recent`.
    }
  }

  /** The last lines that the program wrote, as one. */
  tail(): string {
    return `${this.recent.trim().split('\n').slice(-3).join(' ')} (${this.path})`;
  }

  private rotate(): void {
    renameSync(this.path, `${this.path}.1`);
    this.open();
  }
}

/** The folder of the embedded PostgreSQL, with the lock that reserves it for one service at a time. */
export class DataFolder {
  readonly path: string;
  /** PostgreSQL's own data directory. */
  readonly dataDirectory: string;
  readonly passwordFile: string;
  /** What PostgreSQL says; the last lines show why it did not start. */
  readonly log: ServerLog;
  private lock?: DatabaseSync;

  constructor(path: string) {
    this.path = resolve(path);
    this.dataDirectory = join(this.path, 'postgres');
    this.passwordFile = join(this.path, 'password');
    this.log = new ServerLog(join(this.path, 'postgres.log'));
  }

  /**
   * Locks the folder for this process. Node has no file locks, but its SQLite does: the operating system releases this
   * one when the process ends, however it ends.
   * @throws Error that `explainStart` knows if another service has it, or the folder cannot be written
   */
  take(): void {
    makePrivateFolder(this.path);
    // SQLite would not say why it cannot open the file.
    accessSync(this.path, constants.W_OK | constants.X_OK);
    this.lock = new DatabaseSync(join(this.path, 'lock'));
    this.lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    this.log.open();
  }

  free(): void {
    this.lock?.close();
    this.lock = undefined;
  }

  /** The password of the server's only user; none if there is no file of it, or a crash has left one without content. */
  password(): string | undefined {
    const file = this.passwordFile;
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return /^[\0\s]*$/.test(text) ? undefined : text;
  }

  /** Keeps a new password, readable only by its owner: all of it, or what was there before, whatever crashes. */
  keepPassword(password: string): void {
    const unfinished = `${this.passwordFile}.new`;
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, password, { mode: 0o600, flush: true });
    renameSync(unfinished, this.passwordFile);
  }
}

/**
 * Makes a folder that others cannot enter, unless there is one. If this process is root, `nobody` passes through it to
 * PostgreSQL's own.
 */
function makePrivateFolder(path: string): void {
  if (existsSync(path)) return makeFolder(path);
  makeFolder(path);
  if (process.getuid?.() === 0) chownSync(path, 0, NOBODY.gid);
  chmodSync(path, process.getuid?.() === 0 ? 0o710 : 0o700);
}

/** Node's own recursive `mkdir` never returns for a folder in which none can be created, such as `/proc`. */
function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
