import type { Config } from '../config.js';
import { startOnDatabase } from '../database/start.js';
import { installQueue } from '../messages/delivery/queue.js';
import type { RunningService } from '../serve.js';
import { Workers } from './workers.js';

/**
 * Makes the database ready, and has workers serve on it. This process itself serves nothing.
 * @param stopping ends the start, and the replacing of workers
 * @throws StartupError whose message says in one line what is wrong
 */
export function bootPrimary(config: Config, stopping: AbortSignal): Promise<RunningService> {
  return startOnDatabase(config, installQueue, async (database) => {
    const demoKey = database.path === undefined ? undefined : await newDemoKey(database.config);
    const workers = new Workers(config, { DATABASE_URL: database.config.DATABASE_URL! }, stopping);
    try {
      const { url, messages } = await workers.start();
      const stop = () => workers.stop();
      return { url, messages, dataPath: database.path, demoKey, failure: workers.failure, stop };
    } catch (error) {
      await workers.stop();
      throw error;
    }
  });
}

/** What it takes to make the key is loaded for that alone, and where there is one. */
async function newDemoKey(config: Config): Promise<string> {
  const { withContext } = await import('../admin/context.js');
  const { createDemoKey } = await import('../auth/demo-key.js');
  return withContext(config, createDemoKey);
}
