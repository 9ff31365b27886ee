import { Writable } from 'node:stream';
import { type DynamicModule, type Provider, type Type, VersioningType } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { pino } from 'pino';
import { AppModule } from '../../src/app.module.js';
import { readConfig } from '../../src/config.js';
import { loadParts, type Parts } from '../../src/load-features.js';
import { Feature } from '../../src/platform/features/index.js';
import { serveDocument } from '../../src/platform/docs/openapi/serve-document.js';
import { HttpAdapter } from '../../src/platform/http/server.js';
import { ROUTING } from '../../src/platform/http/routes.js';
import { NestLogger } from '../../src/platform/telemetry/index.js';
import { createDatabase, type TestedService } from '../../src/testing/service.js';

/** The service with additional controllers, in the process of the test. */
export interface Extended extends TestedService {
  lines: Record<string, unknown>[];
  stop(): Promise<void>;
}

/** The tags of the controllers in this folder, and one for those in files of tests. */
const TAGS = {
  answers: 'What is given in other ways.',
  bodies: 'Bodies.',
  everything: 'One field of every kind.',
  recordings: 'What is said, heard and kept.',
  tried: 'What a test tries.',
  uploads: 'What is sent to be kept.',
};

/**
 * Starts the service with controllers, providers and dynamic modules that a team could have added.
 * @param given the URL of a database, or an environment; without a database, creates one
 * @throws the error that ends the start
 */
export async function startExtended(
  given: string | Record<string, string>,
  ...added: (Type | Provider | DynamicModule)[]
): Promise<Extended> {
  const isClass = (one: unknown): one is Type => typeof one === 'function';
  const isController = (one: unknown): one is Type => isClass(one) && Reflect.hasMetadata(PATH_METADATA, one);
  const isModule = (one: unknown): one is DynamicModule => !isClass(one) && 'module' in (one as object);
  const controllers = added.filter(isController);
  const imports = added.filter(isModule);
  const providers = added.filter((one): one is Provider => !isController(one) && !isModule(one));
  @Feature({ name: 'extended', tags: TAGS, imports, controllers, providers })
  class ExtendedModule {}
  const parts = await loadParts({ features: [ExtendedModule] });
  return parts.features.run(() => start(parts, given));
}

/** Starts a service with these features. */
export async function start(parts: Parts, given: string | Record<string, string>): Promise<Extended> {
  const env: Record<string, string> = typeof given === 'string' ? { DATABASE_URL: given } : given;
  const databaseUrl = env.DATABASE_URL ?? (await createDatabase('TEMPLATE migrated'));
  const lines: Record<string, unknown>[] = [];
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(JSON.parse(line.toString()));
    done();
  };
  const config = readConfig({ AUTH_LIMIT_PER_MINUTE: '0', ...env, DATABASE_URL: databaseUrl });

  const log = pino(new Writable({ write }));
  const adapter = new HttpAdapter(config);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config, log, parts), adapter, {
    abortOnError: false,
    bodyParser: false,
    logger: new NestLogger(log),
    ...ROUTING,
  });
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  serveDocument(app, config);
  try {
    await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
  await adapter.open(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const output = () => lines.map((line) => JSON.stringify(line)).join('\n');
  return { url, databaseUrl, lines, output, stop: () => app.close() };
}
