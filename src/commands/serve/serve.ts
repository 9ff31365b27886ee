import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VersioningType } from '@nestjs/common';
import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { AppModule } from '../../app.module.js';
import { DemoKey } from '../../auth/demo-key.js';
import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { ApiError } from '../../platform/api/index.js';
import { type OpenDatabase, startOnDatabase } from '../../platform/database/index.js';
import { HEADER_NAMES, serveDocument, serveSite } from '../../platform/docs/index.js';
import { guardPromises, HttpAdapter, ROUTING } from '../../platform/http/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import { StartBlock, type Stoppable } from '../../platform/process/index.js';
import { type Log, NestLogger, PROBES } from '../../platform/telemetry/index.js';

/** A running service. `stop` lets accepted requests finish, then closes everything. */
export interface RunningService extends Stoppable {
  /** The address, e.g. `http://localhost:3000`. */
  url: string;
  /** The address of the metrics on a separate port. */
  metricsUrl?: string;
  /** Lines that features add to the start block. */
  notes: StartBlock['notes'];
  /** Folder of the embedded PostgreSQL, if there is one. */
  dataPath?: string;
  /** An API key for first steps, only with the embedded PostgreSQL. */
  demoKey?: string;
}

/**
 * Starts the service in this process: database, schema, demo key, HTTP. On failure or abort, stops what has started.
 * @throws OperatorError whose message says in one line what is wrong
 */
export async function boot(
  config: Config,
  log: Log,
  parts: Parts,
  stopping: AbortSignal,
): Promise<RunningService> {
  const start = async ({ config: opened, path: dataPath }: OpenDatabase) => {
    let demoKey: string | undefined;
    const service = await serve(opened, log, parts, stopping, async (app) => {
      if (dataPath !== undefined) demoKey = await app.get(DemoKey).open(dataPath);
    });
    return { ...service, dataPath, demoKey };
  };
  const schema = { migrations: parts.features.migrations, install: installJobs };
  return startOnDatabase(config, schema, start, stopping);
}

/** Milliseconds between two messages by which a worker shows that its event loop runs. */
const ALIVE_MS = 1_000;

export interface Alive {
  type: 'alive';
}

/** The message of a worker to the primary once the worker listens. */
export interface Serving extends Pick<RunningService, 'url' | 'notes'> {
  type: 'serving';
}

/**
 * Serves HTTP in a worker; the primary has prepared the database. Node ends the worker when the primary ends.
 * @param stopping aborts the start
 */
export async function bootWorker(
  config: Config,
  log: Log,
  parts: Parts,
  stopping: AbortSignal,
): Promise<RunningService> {
  // Node emits an error for a message to a primary that has just ended.
  process.on('error', () => {});
  const service = await serve(config, log, parts, stopping);
  const { url, notes } = service;
  process.send!({ type: 'serving', url, notes } satisfies Serving);
  setInterval(() => process.send!({ type: 'alive' } satisfies Alive), ALIVE_MS).unref();
  return service;
}

/**
 * Serves HTTP on a migrated database.
 * @param stopping keeps the service from listening once aborted
 * @param prepare runs before the service listens
 * @throws what `net.Server.listen` emits; what `prepare` throws
 */
async function serve(
  config: Config,
  log: Log,
  parts: Parts,
  stopping: AbortSignal,
  prepare?: (app: NestExpressApplication) => Promise<void>,
): Promise<RunningService> {
  guardPromises();
  const app = await assembleApplication(config, log, parts);
  try {
    await initialise(app, config);
    stopping.throwIfAborted();
    await prepare?.(app);
    stopping.throwIfAborted();
    await listen(app, config);
  } catch (error) {
    await app.close();
    throw error;
  }
  const { metricsPort } = (app.getHttpAdapter() as HttpAdapter).connections;
  return {
    url: addressOf(app),
    metricsUrl: !metricsPort ? undefined : `${addressOf(app, metricsPort)}/metrics`,
    notes: app.get(StartBlock).notes,
    stop: () => close(app, config.SHUTDOWN_GRACE_MS),
  };
}

async function listen(app: NestExpressApplication, { PORT, METRICS_PORT, HOST }: Config): Promise<void> {
  const server = app.getHttpAdapter() as HttpAdapter;
  if (cluster.isPrimary) {
    if (METRICS_PORT !== undefined) await server.openMetrics(METRICS_PORT, HOST);
    return server.open(PORT, HOST);
  }
  // The primary has claimed the port, and serves the metrics of all workers.
  server.connections.metricsPort = 0;
  await server.share(PORT, HOST);
}

/** Closes the service; cuts off connections that remain after the grace period. */
async function close(app: NestExpressApplication, graceMs: number): Promise<void> {
  const server: Server = app.getHttpServer();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await app.close();
  clearTimeout(cut);
}

/** The URL of the service, on its own port or another. */
function addressOf(app: NestExpressApplication, otherPort?: number): string {
  const { address, family, port } = app.getHttpServer().address() as AddressInfo;
  const isEverywhere = address === '::' || address === '0.0.0.0';
  const host = isEverywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${otherPort ?? port}`;
}

/** Makes the assembled service ready to listen, on a migrated database. */
export async function initialise(app: NestExpressApplication, config: Config): Promise<void> {
  app.setLocal('baseUrl', config.BASE_URL);
  app.set('trust proxy', config.TRUST_PROXY);
  if (config.CORS_ORIGINS) app.enableCors(corsOptions(config.CORS_ORIGINS));
  if (config.ROLE === 'worker') app.use(onlyProbes);
  else serveSite(app, config, serveDocument(app, config));
  await app.init();
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

/** What other origins may do. As the API uses no cookies, it can allow any request header, e.g. tracing's. */
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
