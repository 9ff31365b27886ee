import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApplication } from './application.js';
import { DemoKey } from './auth/demo-key.js';
import type { Clock } from './common/clock.js';
import type { HttpServer } from './common/http-server.js';
import { type Config, StartupError } from './config.js';
import { migrate } from './database/migrate.js';
import { openDatabase } from './database/open.js';
import { openLog } from './observability/log.js';
import { MetricsServer } from './observability/metrics-server.js';
import { NestLogger } from './observability/nest-logger.js';
import { tracing } from './tracing/tracing.js';
import { installQueue } from './messages/delivery/queue.js';
import { startLine } from './messages/delivery/start-line.js';
import { Transport } from './messages/transport.js';

/** A service that listens. */
export interface RunningService {
  /** Where it listens, e.g. `http://localhost:3000`. */
  url: string;
  /** Where its metrics are, where they have a port of their own. */
  metricsUrl?: string;
  /** Whether it serves more than its health. */
  servesApi: boolean;
  /** What becomes of messages. */
  messages: string;
  /** Folder of the embedded PostgreSQL, where there is one. */
  dataPath?: string;
  /** A key for the first steps, where the database is the embedded one. */
  demoKey?: string;
  /** Lets accepted requests finish, then closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts the service: database, schema, HTTP, in this order. What was started is stopped again where a later part fails.
 * @throws StartupError whose message says in one line what is wrong
 */
export async function boot(config: Config, clock?: Clock): Promise<RunningService> {
  const log = await openLog(config);
  Logger.overrideLogger(new NestLogger(log));
  const database = await openDatabase(config);
  try {
    await migrate(database.config, installQueue);
    const app = await createApplication(database.config, log, clock);
    await listen(app, config);
    return {
      url: addressOf(app),
      metricsUrl: metricsUrl(app),
      servesApi: config.ROLE !== 'worker',
      messages: startLine(config, app.get(Transport)),
      dataPath: database.path,
      demoKey: database.path === undefined ? undefined : await app.get(DemoKey).create(),
      stop: async () => {
        try {
          await close(app, config.SHUTDOWN_GRACE_MS);
        } finally {
          await database.close();
          await tracing.active?.stop();
        }
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function listen(app: NestExpressApplication, { PORT, HOST }: Config): Promise<void> {
  try {
    await (app.getHttpAdapter() as HttpServer).open(PORT, HOST);
  } catch (error) {
    await app.close();
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new StartupError(`Port ${PORT} is taken. Stop what listens there, or choose another with PORT.`);
    }
    throw new StartupError(`The service cannot listen on port ${PORT}: ${message}.`);
  }
}

/** Closes within the grace period: what then still runs is cut off. */
async function close(app: NestExpressApplication, graceMs: number): Promise<void> {
  const server: Server = app.getHttpServer();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await app.close();
  clearTimeout(cut);
}

function metricsUrl(app: NestExpressApplication): string | undefined {
  const { port } = app.get(MetricsServer);
  return port === undefined ? undefined : `${addressOf(app, port)}/metrics`;
}

/** The address under which the service is found on one of its ports. */
function addressOf(
  app: NestExpressApplication,
  port = (app.getHttpServer().address() as AddressInfo).port,
): string {
  const { address, family } = app.getHttpServer().address() as AddressInfo;
  if (address === '::' || address === '0.0.0.0') return `http://localhost:${port}`;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
