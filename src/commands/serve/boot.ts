import type { INestApplicationContext } from '@nestjs/common';
import { DemoKey } from '../../auth/demo-key.js';
import { StartLink } from '../../auth/start-link.js';
import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { type OpenDatabase, startOnDatabase } from '../../platform/database/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import { takeOverLog } from '../../platform/telemetry/index.js';
import { type RunningService, serve } from './serve.js';

/**
 * Starts the service in this process: database, schema, demo key, HTTP. On failure or abort, stops what has started.
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function boot(config: Config, parts: Parts, stopping: AbortSignal): Promise<RunningService> {
  const log = await takeOverLog(config);
  const start = async (database: OpenDatabase) => {
    const dataPath = database.path;
    let demoKey: string | undefined;
    let startCode: string | undefined;
    const prepare = async (app: INestApplicationContext) => {
      if (dataPath === undefined) return;
      demoKey = await app.get(DemoKey).open(dataPath);
      startCode = app.get(StartLink).offer(demoKey);
    };
    const { app: _app, ...service } = await serve(database.config, log, parts, stopping, prepare);
    return { ...service, dataPath, demoKey, startCode };
  };
  return startOnDatabase(config, installJobs, start, stopping);
}
