import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { takeOverLog } from '../../platform/telemetry/index.js';
import { type RunningService, serve } from './serve.js';

/** The message of a worker to the primary once it listens. */
export interface Serving extends Pick<RunningService, 'url' | 'metricsUrl' | 'notes'> {
  type: 'serving';
}

/**
 * Serves HTTP beside other workers; the primary has prepared the database. Node ends it when the primary ends.
 * @param stopping aborts the start
 */
export async function bootWorker(
  config: Config,
  parts: Parts,
  stopping: AbortSignal,
): Promise<RunningService> {
  // Emitted for a message to a primary that has just ended.
  process.on('error', () => {});
  const service = await serve(config, await takeOverLog(config), parts, stopping);
  const { url, metricsUrl, notes } = service;
  process.send!({ type: 'serving', url, metricsUrl, notes } satisfies Serving);
  return service;
}
