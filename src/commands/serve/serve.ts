import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from '../../config.js';
import type { Parts } from '../../load-features.js';
import { cannotListen, StartBlock, type Stoppable } from '../../platform/process/index.js';
import { guardPromises, type HttpAdapter } from '../../platform/http/index.js';
import { type Log, tracing } from '../../platform/telemetry/index.js';
import { createApplication } from './application.js';

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
  /** A key for first steps, with the embedded PostgreSQL. */
  demoKey?: string;
  /** A one-time code that Swagger UI exchanges for the demo key; none with `WORKERS`. */
  startCode?: string;
}

/**
 * Serves HTTP on a migrated database.
 * @param stopping keeps the service from listening once aborted
 * @param prepare runs before the service listens
 * @throws OperatorError if it cannot listen; what `prepare` throws
 */
export async function serve(
  config: Config,
  log: Log,
  parts: Parts,
  stopping: AbortSignal,
  prepare?: (app: NestExpressApplication) => Promise<void>,
): Promise<RunningService & { app: NestExpressApplication }> {
  guardPromises();
  const app = await createApplication(config, log, parts);
  try {
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
    app,
    url: addressOf(app),
    metricsUrl: metricsPort === undefined ? undefined : `${addressOf(app, metricsPort)}/metrics`,
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
    // The primary has claimed the port.
    if (cluster.isWorker) await server.share(PORT, HOST);
    else await server.open(PORT, HOST);
  } catch (error) {
    throw cannotListen('PORT', PORT, error, HOST);
  }
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
