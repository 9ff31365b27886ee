import { Config } from '../config.js';
import { EmbeddedPostgres } from './embedded/embedded-postgres.js';

/** The database of a configuration, there to connect to. */
export interface OpenDatabase {
  /** The configuration with the address of the embedded PostgreSQL, where there is one. */
  config: Config;
  /** Folder of the embedded PostgreSQL, where there is one. */
  path?: string;
  /** Stops what was started for it. */
  close(): Promise<void>;
}

/**
 * Starts the embedded PostgreSQL where the configuration names no other.
 * @throws StartupError where it does not start, or a running service has its folder
 */
export async function openDatabase(config: Config): Promise<OpenDatabase> {
  if (config.DATABASE_URL) return { config, close: async () => {} };
  const { postgres, url } = await EmbeddedPostgres.start(config.DATA_DIR);
  return {
    config: Object.assign(new Config(), config, { DATABASE_URL: url }),
    path: postgres.path,
    close: () => postgres.stop(),
  };
}
