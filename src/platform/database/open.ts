import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Config } from '../../config.js';
import { OperatorError, type Stoppable, unlessStopped } from '../process/index.js';
import { connectionsOf } from './connection-options.js';
import { EmbeddedPostgres } from './embedded/embedded-postgres.js';
import { FolderInUse } from './embedded/explain-start.js';
import { migrate, type Schema } from './migrate.js';
import { explain } from './unavailable.js';

/** A database that is ready for connections. */
export interface OpenDatabase {
  config: Config;
  /** The folder of the embedded PostgreSQL, if this process started one. */
  path?: string;
  /** Resolves to the reason if the embedded PostgreSQL has ended by itself. */
  failure?: Promise<Error>;
  /** Stops the embedded PostgreSQL, if this process started one. */
  close(): Promise<void>;
}

/**
 * Starts the embedded PostgreSQL unless the configuration names another server.
 * @param stopping aborts the start of the embedded PostgreSQL
 * @throws OperatorError if PostgreSQL does not start, or a running service uses its folder
 */
export async function openDatabase(config: Config, stopping?: AbortSignal): Promise<OpenDatabase> {
  if (config.DATABASE_URL) return { config, close: async () => {} };
  const { postgres, url } = await EmbeddedPostgres.start(config.DATA_DIR, connectionsOf(config), stopping);
  const { path } = postgres;
  return {
    config: withDatabase(config, url),
    path,
    failure: postgres.failure(),
    close: () => postgres.stop(),
  };
}

/**
 * Opens a service's database for another program, whether or not the service is running.
 * @throws OperatorError if the data folder has no database
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
 * Opens and migrates the database, then runs `start`. Closes the database at the stop, or if the start fails.
 * @param stopping aborts the start; `start` must watch the signal itself
 * @throws OperatorError with a message of one line
 */
export async function startOnDatabase<Started extends Stoppable>(
  config: Config,
  schema: Schema,
  start: (database: OpenDatabase) => Promise<Started>,
  stopping?: AbortSignal,
): Promise<Started> {
  const database = await openDatabase(config, stopping);
  try {
    await unlessStopped(migrate(database.config, schema), stopping);
    const started = await start(database);
    const stop = () => started.stop().finally(() => database.close());
    const failures = [started.failure, database.failure].filter((failure) => failure !== undefined);
    return { ...started, stop, failure: Promise.race(failures) };
  } catch (error) {
    await database.close();
    throw explain(error);
  }
}
