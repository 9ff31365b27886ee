import type { Config } from '../../config.js';
import { type Stoppable, unlessStopped } from '../process/index.js';
import { explain } from './explain.js';
import { type Install, migrate } from './migrate.js';
import { type OpenDatabase, openDatabase } from './open.js';

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
