import { askPrimary } from '../../process/worker-channel.js';
import type { Config } from '../../../config.js';
import { takeOverLog } from '../../telemetry/nest-logger.js';
import { type RunningService, serve } from './serve.js';

/** What a worker reports to the primary once it serves. */
export interface Serving extends Pick<RunningService, 'url' | 'metricsUrl' | 'messages'> {
  type: 'serving';
}

/** Serves HTTP beside other workers; the primary has prepared the database. Node ends it when the primary ends. */
export async function bootWorker(config: Config): Promise<RunningService> {
  const claimed = () => askPrimary<number>('port');
  const service = await serve(config, await takeOverLog(config), { claimed });
  const { url, metricsUrl, messages } = service;
  process.send!({ type: 'serving', url, metricsUrl, messages } satisfies Serving);
  return service;
}
