import type { INestApplicationContext } from '@nestjs/common';
import { DemoKey } from '../../auth/demo-key.js';
import { StartLink } from '../../auth/start-link.js';
import type { Config } from '../../config.js';
import { loadParts, type Parts } from '../../load-features.js';
import { type OpenDatabase, startOnDatabase } from '../../platform/database/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import type { Clock } from '../../platform/process/index.js';
import { takeOverLog } from '../../platform/telemetry/index.js';
import { type RunningService, serve } from './serve.js';

interface BootOptions {
  /** What the service is made of; the product alone when left out. */
  parts?: Parts;
  /** Another date, for tests. */
  clock?: Clock;
  /** Aborted when the process is to stop: what has started by then is stopped again. */
  stopping?: AbortSignal;
}

/**
 * Starts the service in this process: database, schema, demo key, HTTP, in this order. If a part fails, those already started are
 * stopped again.
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function boot(
  config: Config,
  { parts: given, clock, stopping }: BootOptions = {},
): Promise<RunningService> {
  const parts = given ?? (await loadParts());
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
    const { app: _app, ...service } = await serve(database.config, log, { parts, clock, prepare, stopping });
    return { ...service, dataPath, demoKey, startCode };
  };
  return startOnDatabase(config, installJobs, start, stopping);
}
