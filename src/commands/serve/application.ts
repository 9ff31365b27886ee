import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import { NestFactory } from '@nestjs/core';
import { VersioningType } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { AppModule } from '../../app.module.js';
import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { ApiError } from '../../platform/api/index.js';
import { HEADER_NAMES, serveDocument, serveSite } from '../../platform/docs/index.js';
import { HttpAdapter, ROUTING } from '../../platform/http/index.js';
import { type Log, NestLogger, PROBES } from '../../platform/telemetry/index.js';

/** Builds the service on a migrated database, ready to listen. On failure, stops the modules that have started. */
export async function createApplication(
  config: Config,
  log: Log,
  parts: Parts,
): Promise<NestExpressApplication> {
  const app = await assembleApplication(config, log, parts);
  try {
    app.setLocal('baseUrl', config.BASE_URL);
    app.set('trust proxy', config.TRUST_PROXY);
    if (config.CORS_ORIGINS) app.enableCors(corsOptions(config.CORS_ORIGINS));
    if (config.ROLE === 'worker') app.use(onlyProbes);
    else serveSite(app, config, serveDocument(app, config));
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Assembles the modules. @param preview creates no providers, so nothing connects or runs: for the OpenAPI document */
export async function assembleApplication(
  config: Config,
  log: Log,
  parts: Parts,
  { preview = false }: { preview?: boolean } = {},
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, log, parts),
    new HttpAdapter(config),
    {
      abortOnError: false,
      bodyParser: false,
      logger: preview ? false : new NestLogger(log),
      preview,
      ...ROUTING,
    },
  );
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  return app;
}

/** The permissions of other origins. No cookies are involved, so any request header is allowed, such as tracing's. */
function corsOptions(origins: string): CorsOptions {
  return {
    origin: origins.split(','),
    exposedHeaders: ['Allow', ...HEADER_NAMES],
    maxAge: 600,
    // The service answers OPTIONS itself, with `Allow`.
    preflightContinue: true,
  };
}

/** Answers 404 to all requests but those of orchestrators and Prometheus. */
function onlyProbes({ path }: Request, _response: Response, next: NextFunction): void {
  if (!PROBES.test(path)) throw new ApiError('route_not_found');
  next();
}
