import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { VersioningType } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import type { Clock } from './common/clock.js';
import { HttpServer } from './common/http-server.js';
import type { Config } from './config.js';
import { serveDocument } from './openapi/document.js';

const LOG_LEVELS: LogLevel[] = ['fatal', 'error', 'warn', 'log', 'debug'];

/** Builds the service on a migrated database, ready to listen. */
export async function createApplication(config: Config, clock?: Clock): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, clock),
    new HttpServer(),
    {
      abortOnError: false,
      bodyParser: false,
      logger: logger(config),
    },
  );
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.setLocal('baseUrl', config.BASE_URL);
  serveDocument(app, config);
  await app.init();
  return app;
}

/** Nest tells at `log` of each module and route that it sets up, which helps only who debugs the start. */
function logger({ LOG_LEVEL }: Config): ConsoleLogger {
  const lowest = LOG_LEVELS.indexOf(LOG_LEVEL === 'info' ? 'warn' : (LOG_LEVEL as LogLevel));
  return new ConsoleLogger({ logLevels: LOG_LEVELS.slice(0, lowest + 1) });
}
