import { Logger } from '@nestjs/common';
import type { Config } from '../../config.js';
import { JOB_CONNECTIONS } from '../database/index.js';

/** Connections of clients that a process has at most. An idle one takes about 15 kB. */
const CLIENTS = 8_192;

/**
 * Node accepts one connection per turn of the event loop on each listening socket. If hundreds of connections keep a
 * turn busy, new ones, including a liveness probe's, wait for seconds. So there are this many sockets, and the kernel
 * spreads new connections over them. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const LISTENING = 128;

/** Connections to the port of the metrics, if they have one. */
export const SCRAPERS = 64;

/** Descriptors for files, the log, the event loop, and whatever else the process opens. */
const OTHERS = 100;

/** How many connections a process can have, of those descriptors ("open files") that the system gives it. */
export interface ConnectionBounds {
  clients: number;
  /** Sockets that listen on the port of the API. */
  listening: number;
}

/** The bounds of this process, which leave enough for all that it opens itself; they are told where they are small. */
export function connectionBounds(config: Config): ConnectionBounds {
  const limit = openFileLimit();
  // Where the limit is very small, a sixteenth of it listens, and a quarter is the clients', whatever else is opened.
  const listening = Math.min(LISTENING, Math.ceil(limit / 16));
  const left = limit - listening - ownConnections(config) - SCRAPERS - OTHERS;
  const clients = Math.min(CLIENTS, Math.max(left, Math.floor(limit / 4)));
  if (clients < CLIENTS) {
    new Logger('Connections').warn(
      `A process takes ${clients} connections at a time, not ${CLIENTS}: its limit of open files (ulimit -n) is ${limit}`,
    );
  }
  return { clients, listening };
}

/** Connections to the database, and those over which messages are delivered. */
function ownConnections(config: Config): number {
  const replicas = config.DATABASE_REPLICA_URLS?.split(',').length ?? 0;
  const toDatabase = config.DATABASE_POOL_SIZE * (1 + replicas) + JOB_CONNECTIONS;
  const delivers = config.MESSAGES_WEBHOOK_URL !== undefined && config.ROLE !== 'api';
  return toDatabase + (delivers ? config.MESSAGES_CONCURRENCY : 0);
}

/** The limit in force, to which Node has raised the soft one; Infinity where there is none, or the system has no such. */
function openFileLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  // Else a report looks up the names of the addresses of all connections.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  report.excludeNetwork = excludeNetwork;
  const soft = Number(userLimits?.open_files?.soft);
  return soft > 0 ? soft : Infinity;
}
