import { writeFile } from 'node:fs/promises';
import { readConfig } from '../config.js';
import type { Parts } from '../load-features.js';
import { buildDocument, HERE } from '../platform/docs/index.js';
import { OperatorError } from '../platform/process/index.js';
import { takeOverLog } from '../platform/telemetry/index.js';
import { type CommandEnvironment, CommandLine } from './command.js';
import { assembleApplication } from './serve/serve.js';

/** `petstore openapi`: starts nothing, as the document is made of the decorators alone. */
export function openapi(args: string[], environment: CommandEnvironment): Promise<number> {
  const title = 'Writes openapi.json for the default configuration, with relative servers.';
  const line = new CommandLine('openapi', title, environment);
  line.program.action(async () => {
    const parts = await environment.parts();
    await parts.features.run(() => write(parts));
  });
  return line.run(args);
}

async function write(parts: Parts): Promise<void> {
  const config = readConfig({ LOG_LEVEL: 'warn' });
  const app = await assembleApplication(config, await takeOverLog(config), parts, { preview: true });
  const document = buildDocument(app, config);
  for (const server of document.servers!) server.url = server.url.replace(HERE, '');
  const text = JSON.stringify(document, null, 2).replaceAll(HERE, 'http://127.0.0.1:3000');
  await writeFile('openapi.json', `${text}\n`).catch(({ message }: Error) => {
    throw new OperatorError(`The file openapi.json cannot be written in this folder: ${message}.`);
  });
}
