import type { Config } from '../../config.js';
import { type OpenDatabase, startOnDatabase } from '../../platform/database/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import { NestLogger, takeOverLog } from '../../platform/telemetry/index.js';
import type { RunningService } from './serve.js';
import { Workers } from './workers.js';

/**
 * Prepares the database and runs workers on it. The primary itself serves no requests.
 * @param stopping aborts the start, and ends the replacement of workers
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function bootPrimary(config: Config, stopping: AbortSignal): Promise<RunningService> {
  const log = await takeOverLog(config);
  const start = async (database: OpenDatabase) => {
    const demoKey = await openDemoKey(database, new NestLogger(log));
    const workers = new Workers(config, { DATABASE_URL: database.config.DATABASE_URL! }, stopping);
    try {
      const serving = await workers.start();
      const stop = () => workers.stop();
      return { ...serving, dataPath: database.path, demoKey, failure: workers.failure, stop };
    } catch (error) {
      await workers.stop();
      throw error;
    }
  };
  return startOnDatabase(config, installJobs, start, stopping);
}

/** Loads the modules that create the key only if there is a data folder. */
async function openDemoKey({ config, path }: OpenDatabase, logger: NestLogger): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { withContext } = await import('../admin/context.js');
  const { DemoKey } = await import('../../auth/demo-key.js');
  return withContext(config, (app) => app.get(DemoKey).open(path), logger);
}
