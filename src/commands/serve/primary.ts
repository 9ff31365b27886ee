import { StartLink } from '../../auth/start-link.js';
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
    const link = new StartLink();
    // Without a demo key too: a worker's question needs an answer.
    link.serveWorkers();
    const demo = await openDemoKey(database, link, new NestLogger(log));
    const workers = new Workers(config, { DATABASE_URL: database.config.DATABASE_URL! }, stopping);
    try {
      const serving = await workers.start();
      const stop = () => workers.stop();
      return { ...serving, dataPath: database.path, ...demo, failure: workers.failure, stop };
    } catch (error) {
      await workers.stop();
      throw error;
    }
  };
  return startOnDatabase(config, installJobs, start, stopping);
}

/** Loads the modules that create the key only if there is a data folder. */
async function openDemoKey(
  { config, path }: OpenDatabase,
  link: StartLink,
  logger: NestLogger,
): Promise<Pick<RunningService, 'demoKey' | 'startCode'> | undefined> {
  if (path === undefined) return undefined;
  const { withContext } = await import('../admin/context.js');
  const { DemoKey } = await import('../../auth/demo-key.js');
  const demoKey = await withContext(config, (app) => app.get(DemoKey).open(path), logger);
  return { demoKey, startCode: link.offer(demoKey) };
}
