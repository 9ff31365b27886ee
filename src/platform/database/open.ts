import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Config } from '../../config.js';
import { OperatorError, type Stoppable, unlessStopped } from '../process/index.js';
import { connectionsOf } from './connection-options.js';
import { EmbeddedPostgres } from './embedded/embedded-postgres.js';
import { FolderInUse } from './embedded/explain-start.js';
import { type Install, migrate } from './migrate.js';
import { explain } from './unavailable.js';

/** The database of a configuration, ready to connect to. */
export interface OpenDatabase {
  /** The configuration, with the URL of the embedded PostgreSQL if there is one. */
  config: Config;
  /** Folder of the embedded PostgreSQL, if this process has started one. */
  path?: string;
  /** Resolves to the reason if that has ended and cannot be started again. */
  failure?: Promise<Error>;
  /** Stops what was started for it. */
  close(): Promise<void>;
}

/**
 * Starts the embedded PostgreSQL unless the configuration names another server, and keeps it running.
 * @param stopping aborts the start of the embedded PostgreSQL
 * @throws OperatorError if it does not start, or a running service has its folder
 */
export async function openDatabase(config: Config, stopping?: AbortSignal): Promise<OpenDatabase> {
  if (config.DATABASE_URL) return { config, close: async () => {} };
  const connections = connectionsOf(config);
  const { postgres, url } = await EmbeddedPostgres.start(config.DATA_DIR, { connections, stopping });
  const failure = postgres.keepRunning(url);
  return { config: withDatabase(config, url), path: postgres.path, failure, close: () => postgres.stop() };
}

/**
 * The database that a service has used, for another program; that includes the embedded one of a running service.
 * @throws OperatorError if there is none
 */
export async function reachDatabase(config: Config, stopping?: AbortSignal): Promise<OpenDatabase> {
  const { DATABASE_URL, DATA_DIR } = config;
  if (!DATABASE_URL && !existsSync(join(DATA_DIR, 'postgres')))
    throw new OperatorError(
      `There is no database in ${resolve(DATA_DIR)}. Set DATABASE_URL or DATA_DIR to what the service uses.`,
    );
  return openDatabase(config, stopping).catch((error: unknown) => {
    if (!(error instanceof FolderInUse)) throw error;
    return { config: withDatabase(config, EmbeddedPostgres.urlOn(DATA_DIR)), close: async () => {} };
  });
}

function withDatabase(config: Config, url: string): Config {
  return Object.assign(new Config(), config, { DATABASE_URL: url });
}

/**
 * Opens and migrates the database, then starts what runs on it. The database is closed after that has stopped, or if it
 * does not start.
 * @param install what else the database holds, as `migrate` takes it
 * @param stopping aborts the start; `start` has to give up by itself
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function startOnDatabase<Started extends Stoppable>(
  config: Config,
  install: Install,
  start: (database: OpenDatabase) => Promise<Started>,
  stopping?: AbortSignal,
): Promise<Started> {
  const database = await openDatabase(config, stopping);
  try {
    await unlessStopped(migrate(database.config, install), stopping);
    const started = await start(database);
    const stop = () => started.stop().finally(() => database.close());
    const failures = [started.failure, database.failure].filter((failure) => failure !== undefined);
    return { ...started, stop, failure: Promise.race(failures) };
  } catch (error) {
    await database.close();
    throw explain(error);
  }
}
