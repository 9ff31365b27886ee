import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { cannotListen, type Clock, StartBlock, type Stoppable } from '../../platform/process/index.js';
import { guardPromises, type HttpAdapter } from '../../platform/http/index.js';
import { type Log, tracing } from '../../platform/telemetry/index.js';
import { createApplication } from './application.js';

/** A running service; its stop lets accepted requests finish, then closes everything. */
export interface RunningService extends Stoppable {
  /** Where it listens, e.g. `http://localhost:3000`. */
  url: string;
  /** Where its metrics are, if they have a port of their own. */
  metricsUrl?: string;
  /** What features add to the start block: a name and a value each. */
  notes: StartBlock['notes'];
  /** Folder of the embedded PostgreSQL, if there is one. */
  dataPath?: string;
  /** A key for first steps, if the database is the embedded one. */
  demoKey?: string;
  /** What the link to Swagger UI is good for that key with, once. */
  startCode?: string;
}

interface ServeOptions {
  /** What it is made of; the product alone when left out. */
  parts?: Parts;
  /** Another date, for tests. */
  clock?: Clock;
  /** What must be complete before anybody is answered. */
  prepare?: (app: NestExpressApplication) => Promise<void>;
  /** Aborted when the process is to stop: it then does not begin to listen. */
  stopping?: AbortSignal;
}

/**
 * Serves HTTP on a migrated database.
 * @throws OperatorError if it cannot listen; what `prepare` throws
 */
export async function serve(
  config: Config,
  log: Log,
  { parts, clock, prepare, stopping }: ServeOptions = {},
): Promise<RunningService & { app: NestExpressApplication }> {
  guardPromises();
  const app = await createApplication(config, log, { parts, clock });
  try {
    stopping?.throwIfAborted();
    await prepare?.(app);
    stopping?.throwIfAborted();
    await listen(app, config);
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    app,
    url: addressOf(app),
    metricsUrl: metricsUrl(app),
    notes: app.get(StartBlock).notes,
    stop: () => close(app, config.SHUTDOWN_GRACE_MS).finally(() => tracing.active?.stop()),
  };
}

async function listen(app: NestExpressApplication, { PORT, METRICS_PORT, HOST }: Config): Promise<void> {
  const server = app.getHttpAdapter() as HttpAdapter;
  try {
    if (METRICS_PORT !== undefined) await server.openMetrics(METRICS_PORT, HOST);
  } catch (error) {
    throw cannotListen('METRICS_PORT', METRICS_PORT!, error, HOST);
  }
  try {
    // The primary has made sure that the port is free.
    if (cluster.isWorker) await server.share(PORT, HOST);
    else await server.open(PORT, HOST);
  } catch (error) {
    throw cannotListen('PORT', PORT, error, HOST);
  }
}

/** Closes within the grace period: whatever still runs then is cut off. */
async function close(app: NestExpressApplication, graceMs: number): Promise<void> {
  const server: Server = app.getHttpServer();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await app.close();
  clearTimeout(cut);
}

function metricsUrl(app: NestExpressApplication): string | undefined {
  const { metricsPort } = (app.getHttpAdapter() as HttpAdapter).door;
  return metricsPort === undefined ? undefined : `${addressOf(app, metricsPort)}/metrics`;
}

/** The URL of the service on one of its ports. */
function addressOf(app: NestExpressApplication, other?: number): string {
  const { address, family, port } = app.getHttpServer().address() as AddressInfo;
  const isEverywhere = address === '::' || address === '0.0.0.0';
  const host = isEverywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${other ?? port}`;
}
