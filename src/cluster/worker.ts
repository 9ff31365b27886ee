import { on } from 'node:events';
import type { Config } from '../config.js';
import { takeOverLog } from '../observability/nest-logger.js';
import { type RunningService, serve } from '../serve.js';

/** What a worker says to the primary. */
export type FromWorker = 'which port?' | { serves: Pick<RunningService, 'url' | 'metricsUrl' | 'messages'> };

/** What the primary answers. */
export interface ClaimedPort {
  port: number;
}

/** Serves HTTP beside other workers; the primary has made the database ready. It ends with the primary, by Node itself. */
export async function bootWorker(config: Config): Promise<RunningService> {
  const service = await serve(config, await takeOverLog(config), { claimed: askForPort });
  const { url, metricsUrl, messages } = service;
  say({ serves: { url, metricsUrl, messages } });
  return service;
}

async function askForPort(): Promise<number> {
  const answers = on(process, 'message') as AsyncIterable<[Partial<ClaimedPort>]>;
  say('which port?');
  for await (const [{ port }] of answers) if (port !== undefined) return port;
  throw new Error('The primary has not answered.');
}

function say(what: FromWorker): void {
  process.send!(what);
}
