import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Buildah } from './buildah.js';

/** In no list of users. */
const USER = '12345:12345';

/** Prints the files and folders that its user may write, other than of the kernel's file systems. */
const PRINT_WRITABLE = `
  const { accessSync, constants, readdirSync } = require('node:fs');
  const may = (path, mode) => { try { accessSync(path, mode); return true } catch { return false } };
  const found = (path, isFolder) => [
    ...(may(path, constants.W_OK) ? [path] : []),
    ...(isFolder && may(path, constants.R_OK | constants.X_OK) ? readdirSync(path, { withFileTypes: true }) : [])
      .filter((entry) => !entry.isSymbolicLink() && !(path === '/' && /^(?:dev|proc|sys)$/.test(entry.name)))
      .flatMap((entry) => found(path.replace(/\\/$/, '') + '/' + entry.name, entry.isDirectory())),
  ];
  console.log(JSON.stringify(found('/', true)));`;

/**
 * A container in which everything runs as a user that is nobody, without capabilities. Buildah's chroot has no read-only
 * root, no process ids and no network of its own; what its user could write is closed instead, but for /dev/shm.
 */
export class Container {
  private readonly volumes: string[] = [];

  private constructor(
    private readonly buildah: Buildah,
    private readonly name: string,
  ) {}

  /** Resolves to a container of an image, and to the folders in it that anybody could write. */
  static async from(buildah: Buildah, image: string): Promise<{ container: Container; open: string[] }> {
    const container = new Container(buildah, await buildah.do('from', image));
    const open = await container.writable();
    const empty = join(buildah.folder, 'empty');
    mkdirSync(empty);
    chmodSync(buildah.folder, 0o711);
    container.volumes.push(...open.map((path) => `--volume=${empty}:${path}:ro`));
    return { container, open };
  }

  async writable(): Promise<string[]> {
    return JSON.parse((await this.run({}, ['node', '--eval', PRINT_WRITABLE])).stdout);
  }

  /** Starts a command with these variables beside those of the image. */
  start(env: Record<string, string>, command: string[]) {
    const variables = Object.entries(env).map(([name, value]) => `--env=${name}=${value}`);
    const flags = ['--network=host', `--user=${USER}`, '--cap-drop=ALL', ...this.volumes, ...variables];
    return this.buildah.start('run', ...flags, this.name, '--', ...command);
  }

  async run(env: Record<string, string>, command: string[]) {
    const child = this.start(env, command);
    const ended = [text(child.stdout), text(child.stderr), once(child, 'exit')] as const;
    const [stdout, stderr, [code]] = await Promise.all(ended);
    return { code, stdout, stderr };
  }
}

/** The last of the processes that a process has started one by another: Buildah hands no signal on to it. */
export function innermost(pid: number): number {
  const all = execFileSync('ps', ['-ewwo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const [child] =
    all.map((line) => line.trim().split(/ +/).map(Number)).find(([, parent]) => parent === pid) ?? [];
  return child === undefined ? pid : innermost(child);
}
