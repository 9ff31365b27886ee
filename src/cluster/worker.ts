import { askPrimary } from '../common/worker-channel.js';
import type { Config } from '../config.js';
import { takeOverLog } from '../observability/nest-logger.js';
import { type RunningService, serve } from '../serve.js';

/** What a worker tells the primary once it serves. */
export interface Serving extends Pick<RunningService, 'url' | 'metricsUrl' | 'messages'> {
  type: 'serving';
}

/** Serves HTTP beside other workers; the primary has made the database ready. It ends with the primary, by Node itself. */
export async function bootWorker(config: Config): Promise<RunningService> {
  const claimed = () => askPrimary<number>('port');
  const service = await serve(config, await takeOverLog(config), { claimed });
  const { url, metricsUrl, messages } = service;
  process.send!({ type: 'serving', url, metricsUrl, messages } satisfies Serving);
  return service;
}
