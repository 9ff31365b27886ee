import { createDemoKey } from './auth/demo-key.js';
import type { Clock } from './common/clock.js';
import type { Config } from './config.js';
import { startOnDatabase } from './database/start.js';
import { installQueue } from './messages/delivery/queue.js';
import { type RunningService, serve } from './serve.js';

/**
 * Starts the service in this process: database, schema, HTTP, in this order. What was started is stopped again where a
 * later part fails.
 * @throws StartupError whose message says in one line what is wrong
 */
export function boot(config: Config, clock?: Clock): Promise<RunningService> {
  return startOnDatabase(config, installQueue, async (database) => {
    const { app, ...service } = await serve(database.config, clock);
    const dataPath = database.path;
    return { ...service, dataPath, demoKey: dataPath === undefined ? undefined : await createDemoKey(app) };
  });
}
