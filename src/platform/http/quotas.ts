import { Logger } from '@nestjs/common';
import type { Config } from '../../config.js';
import { besidePool } from '../database/index.js';
import { Quota } from '../process/index.js';

/** Client connections per process. An idle connection takes about 15 kB. */
const CLIENTS = 8_192;

/** Requests under way per process. At a few ms each, further requests would wait longer than a client does. */
const REQUESTS = 2_000;

/** Streamed answers per process. */
const STREAMS = 4_000;

/** Memory for arriving bodies and for unread answers. */
const BYTES = 128 * 1024 * 1024;

/**
 * Listening sockets of the API. Node accepts one connection per socket in an iteration of the event loop; with hundreds of
 * busy connections, new connections, such as a liveness probe's, would wait for seconds. The kernel spreads connections over
 * the sockets. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const LISTENING = 128;

/** File descriptors reserved for files, the log, the event loop and so on. */
const RESERVED = 100;

/** The quotas of the HTTP server. One caller holds at most half of each; see `Quota`. */
export class Quotas {
  readonly requests = new Quota(REQUESTS);
  readonly streams = new Quota(STREAMS);
  readonly bytes = new Quota(BYTES);
  readonly connections: Quota;
  /** The number of listening sockets of the API. */
  readonly listening: number;

  constructor(config: Config) {
    const limit = openFileLimit();
    // Under a very low limit, a sixteenth is for listening sockets, and at least a quarter for clients.
    this.listening = Math.min(LISTENING, Math.ceil(limit / 16));
    const left = limit - this.listening - ownConnections(config) - RESERVED;
    const clients = Math.min(CLIENTS, Math.max(left, Math.floor(limit / 4)));
    this.connections = new Quota(clients);
    if (clients < CLIENTS)
      new Logger('Connections').warn(
        `A process accepts ${clients} connections at a time, not ${CLIENTS}: its limit of open files (ulimit -n) is ${limit}`,
      );
  }
}

/** Connections to the database and to the receiver of messages. */
function ownConnections(config: Config): number {
  const replicas = config.DATABASE_REPLICA_URLS?.split(',').length ?? 0;
  return config.DATABASE_POOL_SIZE * (1 + replicas) + besidePool(config) + config.connectionsForMessages;
}

/** The soft limit, as Node has raised it; Infinity if there is none. */
function openFileLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  // Otherwise a report resolves the names of all remote addresses.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  report.excludeNetwork = excludeNetwork;
  const soft = Number(userLimits?.open_files?.soft);
  return soft > 0 ? soft : Infinity;
}
