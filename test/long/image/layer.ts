import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { list } from 'tar';
import type { Buildah } from './buildah.js';

/** A file, folder or link of an image. */
export interface Entry {
  path: string;
  type: string;
  mode: number;
  uid: number;
  content: Buffer;
}

/** What an image adds to the one that it begins with. */
export interface Layer {
  entries: Entry[];
  /** Its bytes in the archive of which `buildah images` gives the size, and those that are sent. */
  bytes: number;
  compressedBytes: number;
}

/** Reads the last layer of an image. */
export async function lastLayer(buildah: Buildah, image: string): Promise<Layer> {
  const folder = join(buildah.folder, 'pushed');
  await buildah.do('push', image, `dir:${folder}`);
  const { layers } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const file = join(folder, layers.at(-1).digest.replace('sha256:', ''));
  const entries: Promise<Entry>[] = [];
  await list({
    file,
    onReadEntry: (entry) => {
      const { path, type, mode, uid } = entry;
      entries.push(entry.concat().then((content) => ({ path, type, mode: mode!, uid: uid!, content })));
    },
  });
  const archive = readFileSync(file);
  return {
    entries: await Promise.all(entries),
    bytes: gunzipSync(archive).length,
    compressedBytes: archive.length,
  };
}
