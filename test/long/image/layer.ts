import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Buildah } from './buildah.js';

export interface Entry {
  path: string;
  isFolder: boolean;
  isLink: boolean;
  mode: number;
  uid: number;
}

export interface Layer {
  entries: Entry[];
  /** The archive of which `buildah images` gives the size. */
  archive: Buffer;
  compressedBytes: number;
}

/** A line of `tar` about an entry, such as `drwxr-xr-x 0/0 0 2026-11-28 12:00 app/`. */
const LINE = /^(.)(\S{9}) (\d+)\/\d+ +\d+ \S+ \S+ (.*?)(?: -> .*)?$/;

export async function lastLayer(buildah: Buildah, image: string): Promise<Layer> {
  const folder = join(buildah.folder, 'pushed');
  await buildah.do('push', image, `dir:${folder}`);
  const { layers } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const file = join(folder, layers.at(-1).digest.replace('sha256:', ''));
  const args = ['--numeric-owner', '-tvzf', file];
  const lines = execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 2 ** 27 })
    .trimEnd()
    .split('\n');
  const compressed = readFileSync(file);
  return {
    entries: lines.map(entryOf),
    archive: gunzipSync(compressed),
    compressedBytes: compressed.length,
  };
}

function entryOf(line: string): Entry {
  const [, type, rights = '', uid, path = ''] = LINE.exec(line)!;
  const mode = Array.from(rights).reduce((bits, right) => bits * 2 + (right === '-' ? 0 : 1), 0);
  return { path, isFolder: type === 'd', isLink: type === 'l', mode, uid: Number(uid) };
}
