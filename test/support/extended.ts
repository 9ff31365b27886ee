import { Writable } from 'node:stream';
import { Module, type Type, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { pino } from 'pino';
import { AppModule } from '../../src/app.module.js';
import { readConfig } from '../../src/config.js';
import { serveDocument } from '../../src/platform/docs/openapi/serve-document.js';
import { HttpAdapter } from '../../src/platform/server/http-adapter.js';
import { NestLogger } from '../../src/platform/telemetry/index.js';

/** The service with more controllers, in the process of the test. */
export interface Extended {
  url: string;
  /** What it has logged, parsed. */
  lines: Record<string, unknown>[];
  stop(): Promise<void>;
}

/**
 * Starts the service with controllers that a team could have added, on the database of a service that runs.
 * @throws what ends its start
 */
export async function startExtended(databaseUrl: string, ...controllers: Type[]): Promise<Extended> {
  const lines: Record<string, unknown>[] = [];
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(JSON.parse(line.toString()));
    done();
  };
  const config = readConfig({ DATABASE_URL: databaseUrl, AUTH_LIMIT_PER_MINUTE: '0' });

  const log = pino(new Writable({ write }));
  @Module({ imports: [AppModule.with(config, log)], controllers })
  class ExtendedModule {}

  const adapter = new HttpAdapter();
  const app = await NestFactory.create<NestExpressApplication>(ExtendedModule, adapter, {
    abortOnError: false,
    bodyParser: false,
    logger: new NestLogger(log),
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
  return { url: `http://127.0.0.1:${port}`, lines, stop: () => app.close() };
}
