import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimPort } from '../../src/platform/process/claim-port.js';
import { eventually, ROOT } from './npm.js';
import { query } from '../../src/testing/service.js';

/** PgBouncer refuses to run as root. */
const NOBODY = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Version of the installed PgBouncer, e.g. 1.25, as [1, 25]; undefined if there is none. */
function findVersion(): [number, number] | undefined {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { env: { PATH }, encoding: 'utf8' });
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  return major ? [Number(major), Number(minor)] : undefined;
}

const [major, minor] = findVersion() ?? [0, 0];
export const hasPgBouncer = major > 0;
if (!hasPgBouncer) console.warn('The tests with PgBouncer are skipped: no pgbouncer is installed.');

/** Whether this version keeps prepared statements, and has a setting for their number. */
export const keepsStatements = major > 1 || minor >= 21;

/** Fewer than the service's connections to the pooler, which therefore switch sessions all the time. */
export const FEW_SESSIONS = {
  default_pool_size: '3',
  ...(!keepsStatements && { max_prepared_statements: undefined }),
};

/** PgBouncer in front of a database, configured as in `deploy/pgbouncer`. */
export class PgBouncer {
  private process?: ChildProcess;

  private constructor(
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param settings replacement lines of `deploy/pgbouncer/pgbouncer.ini`, by their names */
  static async start(databaseUrl: string, settings: Record<string, string | undefined>): Promise<PgBouncer> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-pgbouncer-'));
    chmodSync(folder, 0o755);
    const [target, url] = [new URL(databaseUrl), new URL(databaseUrl)];
    url.port = String(await claimPort(0, '127.0.0.1'));
    const lines: Record<string, string | undefined> = {
      ...{ ...settings, petstore: undefined, listen_addr: '127.0.0.1', listen_port: url.port },
      auth_file: join(folder, 'userlist.txt'),
    };
    const ini = readFileSync(join(ROOT, 'deploy/pgbouncer/pgbouncer.ini'), 'utf8')
      .split('\n')
      .filter((line) => !(nameOf(line) in lines));
    const own = Object.entries(lines).flatMap(([key, value]) => (value ? [`${key} = ${value}`] : []));
    const name = target.pathname.slice(1);
    const database = `[databases]\n${name} = host=${target.hostname} port=${target.port}`;
    const text = ini.join('\n').replace('[databases]', database) + own.join('\n');
    writeFileSync(join(folder, 'pgbouncer.ini'), `${text}\nunix_socket_dir =\n`);
    writeFileSync(join(folder, 'userlist.txt'), `"${target.username}" "${target.password}"\n`);
    const pooler = new PgBouncer(folder, url.href);
    await pooler.run();
    return pooler;
  }

  /** Starts PgBouncer, also again after `kill`. */
  async run(): Promise<void> {
    const args = [join(this.folder, 'pgbouncer.ini')];
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
    this.process = spawn('pgbouncer', args, { ...NOBODY, env: { PATH }, stdio });
    let said = '';
    this.process.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await eventually(async () => {
      if (this.process!.exitCode !== null) throw new Error(`PgBouncer does not serve: ${said}`);
      return Boolean(await query(this.url, 'SELECT').catch(() => undefined));
    });
  }

  async kill(): Promise<void> {
    const exit = once(this.process!, 'exit');
    this.process!.kill('SIGKILL');
    await exit;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const nameOf = (line: string) => line.split('=')[0]!.trim();
