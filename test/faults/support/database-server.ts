import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { loadBinaries, NOBODY, unprivileged } from '../../../src/platform/database/embedded/programs.js';
import { EmbeddedPostgres } from '../../../src/platform/database/embedded/embedded-postgres.js';

/** A PostgreSQL server for one test, which can be killed, frozen, and restarted on the same port. */
export class DatabaseServer {
  private restarted?: ChildProcess;

  private constructor(
    private readonly embedded: EmbeddedPostgres,
    readonly url: string,
  ) {}

  /** @param folder for the server's data; by default, a new folder */
  static async start(
    folder = mkdtempSync(join(process.env.FAULTS_FOLDER!, 'data-')),
  ): Promise<DatabaseServer> {
    const { postgres, url } = await EmbeddedPostgres.start(folder);
    return new DatabaseServer(postgres, url);
  }

  /**
   * Starts a hot standby on a copy of another server.
   * @param settings lines of the standby's configuration
   */
  static async follow(primary: DatabaseServer, settings: string[] = []): Promise<DatabaseServer> {
    const folder = mkdtempSync(join(process.env.FAULTS_FOLDER!, 'replica-'));
    chmodSync(folder, 0o755);
    await copyAsStandby(primary, folder, settings);
    return DatabaseServer.start(folder);
  }

  /**
   * Starts another server on a base backup of this one, in a folder that `backUp` has filled. The new server
   * replays the archived log up to a time, and is then promoted.
   */
  static async recover(folder: string, archive: string, until: string): Promise<DatabaseServer> {
    const settings = [
      `restore_command = 'cp ${archive}/%f %p'`,
      `recovery_target_time = '${until}'`,
      `recovery_target_action = 'promote'`,
      'archive_mode = off',
    ];
    prepare(folder, 'recovery.signal', settings);
    const server = await DatabaseServer.start(folder);
    while (await isInRecovery(server.url)) await sleep(50);
    return server;
  }

  async backUp(folder: string): Promise<void> {
    chmodSync(folder, 0o755);
    await copy(this, folder);
  }

  async configure(settings: string[]): Promise<void> {
    appendFileSync(join(this.path, 'postgres', 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
    await this.kill();
    await this.restart();
  }

  get path(): string {
    return this.embedded.path;
  }

  /** Ends all processes of the server at once, as a power failure does. */
  async kill(): Promise<void> {
    const all = this.freeze();
    for (const pid of all) process.kill(pid, 'SIGKILL');
    while (all.some(isAlive)) await sleep(5);
  }

  /** Suspends all processes of the server: connections stay open, but get no answer. Returns their pids. */
  freeze(): number[] {
    const postmaster = this.postmaster();
    // First the postmaster, so that it starts no other process meanwhile.
    process.kill(postmaster, 'SIGSTOP');
    const all = [postmaster, ...childrenOf(postmaster)];
    for (const pid of all) signal(pid, 'SIGSTOP');
    return all;
  }

  thaw(): void {
    const postmaster = this.postmaster();
    for (const pid of [...childrenOf(postmaster), postmaster]) signal(pid, 'SIGCONT');
  }

  /** Starts the server again after `kill`; resolves as soon as it accepts connections. */
  async restart(): Promise<void> {
    const data = join(this.embedded.path, 'postgres');
    const programArgs = ['-D', data, '-p', new URL(this.url).port, '-h', '127.0.0.1', '-k', ''];
    const { file, args, options } = unprivileged((await loadBinaries()).postgres, programArgs, data);
    this.restarted = spawn(file, args, { ...options, stdio: 'ignore' });
    while (!(await accepts(this.url))) await sleep(10);
  }

  /** After `kill`: starts again on the same port, as a standby with a new copy of another server's data. */
  async rejoin(primary: DatabaseServer): Promise<void> {
    rmSync(join(this.path, 'postgres'), { recursive: true });
    await copyAsStandby(primary, this.path, []);
    await this.restart();
  }

  async stop(): Promise<void> {
    const server = this.restarted;
    if (server && server.exitCode === null && server.signalCode === null) {
      const exit = once(server, 'exit');
      server.kill('SIGINT');
      await exit;
    }
    await this.embedded.stop();
  }

  private postmaster(): number {
    return Number(
      readFileSync(join(this.embedded.path, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0],
    );
  }
}

async function copyAsStandby(primary: DatabaseServer, folder: string, settings: string[]): Promise<void> {
  await copy(primary, folder);
  const { hostname, port, username, password } = new URL(primary.url);
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  const lines = [`primary_conninfo = '${conninfo}'`, 'wal_retrieve_retry_interval = 200ms', ...settings];
  prepare(folder, 'standby.signal', lines);
}

/** Prepares a copy of a server's files for a start in the mode of `signalFile`: as standby or in recovery. */
function prepare(folder: string, signalFile: string, settings: string[]): void {
  const data = join(folder, 'postgres');
  for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(data, name), { force: true });
  appendFileSync(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
  writeFileSync(join(data, signalFile), '');
  if (process.getuid?.() === 0) {
    for (const name of ['backup_label', signalFile]) chownSync(join(data, name), NOBODY.uid, NOBODY.gid);
  }
}

async function isInRecovery(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString });
  await client.connect();
  const { rows } = await client.query('SELECT pg_is_in_recovery() AS "isSo"');
  await client.end();
  return rows[0].isSo;
}

/** Copies the files of a running server. https://www.postgresql.org/docs/current/continuous-archiving.html */
async function copy({ url, path }: DatabaseServer, folder: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('copy', true)");
    const archive = join(folder, 'copy.tar');
    const { status, stderr } = spawnSync('tar', ['-C', path, '-cf', archive, 'postgres', 'password']);
    // 1: files changed or disappeared while tar read them, as in a running server; the log makes up for it.
    if (status !== 0 && status !== 1) throw new Error(`The copy failed: ${String(stderr)}`);
    execFileSync('tar', ['-C', folder, '-xpf', archive]);
    rmSync(archive);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    writeFileSync(join(folder, 'postgres', 'backup_label'), rows[0].labelfile);
  } finally {
    await client.end();
  }
}

function childrenOf(pid: number): number[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return pids ? pids.split(' ').map(Number) : [];
}

/** Ignores a process that has ended since it was listed. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A zombie, which has ended and waits for its parent, is dead too. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function accepts(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 1_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
