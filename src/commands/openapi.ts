import { writeFile } from 'node:fs/promises';
import { readConfig } from '../config.js';
import type { Parts } from '../load-features.js';
import { buildDocument, HERE } from '../platform/docs/index.js';
import { takeOverLog } from '../platform/telemetry/index.js';
import { assembleApplication } from './serve/serve.js';

/**
 * Writes `openapi.json` for the default configuration and the default address, with relative servers. Starts nothing: the
 * document is made of the decorators alone.
 */
export function writeDocument(parts: Parts): Promise<void> {
  return parts.features.run(() => write(parts));
}

async function write(parts: Parts): Promise<void> {
  const config = readConfig({ LOG_LEVEL: 'warn' });
  const app = await assembleApplication(config, await takeOverLog(config), parts, { preview: true });
  const document = buildDocument(app, config);
  for (const server of document.servers!) server.url = server.url.replace(HERE, '');
  const text = JSON.stringify(document, null, 2).replaceAll(HERE, 'http://127.0.0.1:3000');
  await writeFile('openapi.json', `${text}\n`);
}
