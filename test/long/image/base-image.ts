import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Buildah } from './buildah.js';

/** What npm and a Dockerfile may run. */
const PROGRAMS = ['cat', 'chmod', 'cp', 'env', 'find', 'ln', 'ls', 'mkdir', 'mv', 'rm', 'sh'].map(
  (name) => `/usr/bin/${name}`,
);
const NPM = 'usr/local/lib/node_modules/npm';

/**
 * Provides the image that a Dockerfile begins with: that of the registry, or where none is reached, one made from the
 * programs of this machine, with the Node that runs the tests. Resolves to which of them.
 */
export async function provideBase(buildah: Buildah, name: string): Promise<string> {
  try {
    await buildah.do('pull', name);
    return name;
  } catch {
    const root = join(buildah.folder, 'base');
    layOut(root);
    const container = await buildah.do('from', 'scratch');
    await buildah.do('copy', '--quiet', container, root, '/');
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    await buildah.do('config', `--env=PATH=${path}`, container);
    await buildah.do('commit', '--quiet', '--rm', container, name);
    return `the programs of this machine for ${name}`;
  }
}

function layOut(root: string): void {
  for (const folder of ['etc', 'root', 'tmp', 'usr/bin', 'usr/local/bin']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  chmodSync(join(root, 'tmp'), 0o1777);
  symlinkSync('usr/bin', join(root, 'bin'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
  for (const program of PROGRAMS) copyFileSync(program, join(root, program));
  for (const library of new Set([process.execPath, ...PROGRAMS].flatMap(librariesOf))) {
    mkdirSync(join(root, dirname(library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
  cpSync(join(dirname(process.env.npm_execpath!), '..'), join(root, NPM), { recursive: true });
  symlinkSync(join('/', NPM, 'bin/npm-cli.js'), join(root, 'usr/local/bin/npm'));
}

/** The libraries that a program loads, and what loads them. */
function librariesOf(program: string): string[] {
  return execFileSync('ldd', [program], { encoding: 'utf8' }).match(/(?<=\s)\/\S+/g) ?? [];
}
