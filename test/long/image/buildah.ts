import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Its isolation by chroot needs root to start a process as any user, and to signal it. */
export const WHY_NOT =
  spawnSync('buildah', ['--version']).status !== 0
    ? 'buildah is not installed'
    : process.getuid!() !== 0
      ? 'only root may run any user'
      : undefined;

/** Buildah, with images, containers and caches of its own. */
export class Buildah {
  readonly folder = mkdtempSync(join(tmpdir(), 'petstore-buildah-'));
  private readonly env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: join(this.folder, 'tmp'),
    BUILDAH_ISOLATION: 'chroot',
  };

  constructor() {
    mkdirSync(this.env.TMPDIR);
  }

  async do(...args: string[]): Promise<string> {
    const options = { env: this.env, maxBuffer: 2 ** 26 };
    return (await run('buildah', this.withFolders(args), options)).stdout.trim();
  }

  start(...args: string[]) {
    return spawn('buildah', this.withFolders(args), { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Builds an image of a folder, in which npm finds its registry as npm here does, and knows one secret more. */
  async build(tag: string, context: string, secret: string): Promise<void> {
    const npmrc = join(this.folder, 'npmrc');
    writeFileSync(npmrc, `${ownNpmrc()}\n//registry.example/:_authToken=${secret}\n`, { mode: 0o600 });
    const certificates = process.env.NODE_EXTRA_CA_CERTS;
    const volumes = [
      `${npmrc}:/root/.npmrc:ro`,
      ...(certificates ? [`${certificates}:${certificates}:ro`] : []),
    ];
    const flags = ['--format=docker', '--layers=false', '--network=host'];
    await this.do(
      'build',
      ...flags,
      ...volumes.map((volume) => `--volume=${volume}`),
      `--tag=${tag}`,
      context,
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private withFolders(args: string[]): string[] {
    const folders = [`--root=${join(this.folder, 'storage')}`, `--runroot=${join(this.folder, 'run')}`];
    return [...folders, '--storage-driver=vfs', ...args];
  }
}

function ownNpmrc(): string {
  const path = process.env.npm_config_userconfig ?? join(homedir(), '.npmrc');
  const lines = existsSync(path) ? [readFileSync(path, 'utf8')] : [];
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  return [...lines, ...(certificates ? [`cafile=${certificates}`] : [])].join('\n');
}
