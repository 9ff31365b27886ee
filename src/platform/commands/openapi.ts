import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boot } from './serve/boot.js';
import { readConfig } from '../../config.js';

// Writes `openapi.json` as a service with the default configuration serves it at the address of a first start.
const data = await mkdtemp(join(tmpdir(), 'petstore-openapi-'));
const service = await boot(readConfig({ PORT: '0', HOST: '127.0.0.1', DATA_DIR: data, LOG_LEVEL: 'warn' }));
try {
  const response = await fetch(`${service.url}/openapi.json`);
  const served = JSON.stringify(await response.json(), null, 2);
  await writeFile('openapi.json', `${served.replaceAll(service.url, 'http://127.0.0.1:3000')}\n`);
} finally {
  await service.stop();
  await rm(data, { recursive: true, force: true });
}
