import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Config, StartupError } from '../../config.js';
import type { OpenDatabase } from '../open.js';
import { DataFolder, FolderInUse } from './data-folder.js';
import { EmbeddedPostgres, embeddedUrl } from './embedded-postgres.js';

/**
 * The database of the service, for a program beside it: that of DATABASE_URL, or else the embedded one, whether the
 * service runs on it at the time or not.
 * @throws StartupError where there is none
 */
export async function reachDatabase(config: Config): Promise<OpenDatabase> {
  if (config.DATABASE_URL) return { config, close: async () => {} };
  const folder = new DataFolder(config.DATA_DIR);
  if (!existsSync(folder.cluster)) {
    throw new StartupError(
      `There is no database in ${folder.path}. Set DATABASE_URL or DATA_DIR as the service has it.`,
    );
  }
  const withUrl = (url: string) => Object.assign(new Config(), config, { DATABASE_URL: url });
  try {
    const { postgres, url } = await EmbeddedPostgres.start(config.DATA_DIR);
    return { config: withUrl(url), close: () => postgres.stop() };
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error;
    return { config: withUrl(embeddedUrl(folder.password(), runningPort(folder))), close: async () => {} };
  }
}

/** The port of the server that runs on a folder: the fourth line of its `postmaster.pid`. */
function runningPort({ cluster }: DataFolder): number {
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[3]);
}
