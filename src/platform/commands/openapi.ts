import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boot } from './serve/boot.js';
import { readConfig } from '../../config.js';

// Writes `openapi.json` as a service with the default configuration serves it.
const data = await mkdtemp(join(tmpdir(), 'petstore-openapi-'));
const service = await boot(readConfig({ PORT: '0', HOST: '127.0.0.1', DATA_DIR: data, LOG_LEVEL: 'warn' }));
try {
  const response = await fetch(`${service.url}/openapi.json`);
  await writeFile('openapi.json', `${JSON.stringify(await response.json(), null, 2)}\n`);
} finally {
  await service.stop();
  await rm(data, { recursive: true, force: true });
}
