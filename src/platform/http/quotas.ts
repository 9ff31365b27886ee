import { Logger } from '@nestjs/common';
import type { Config } from '../../config.js';
import { besidePool } from '../database/index.js';
import { Quota } from '../process/index.js';

/** Connections of clients that a process has at most. An idle one takes about 15 kB. */
const CLIENTS = 8_192;

/** Requests that a process works on at a time. At a few ms each, more than these would wait longer than a client does. */
const REQUESTS = 2_000;

/** Answers that are sent while they are made. */
const STREAMS = 4_000;

/** Memory for bodies that are on their way, and for answers that wait to be read. */
const BYTES = 128 * 1024 * 1024;

/**
 * Node accepts one connection per turn of the event loop on each listening socket. If hundreds of connections keep a
 * turn busy, new ones, including a liveness probe's, wait for seconds. So there are this many sockets, and the kernel
 * spreads new connections over them. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const LISTENING = 128;

/** File descriptors for files, the log, the event loop, and whatever else the process opens. */
const OTHERS = 100;

/** What is scarce at the door. One caller holds at most half of each; see `Quota`. */
export class Quotas {
  readonly requests = new Quota(REQUESTS);
  readonly streams = new Quota(STREAMS);
  readonly bytes = new Quota(BYTES);
  readonly connections: Quota;
  /** How many sockets listen on the port of the API. */
  readonly listening: number;

  constructor(config: Config) {
    const limit = openFileLimit();
    // Where the limit is very small, a sixteenth of it listens, and a quarter is for clients, whatever else is opened.
    this.listening = Math.min(LISTENING, Math.ceil(limit / 16));
    const left = limit - this.listening - ownConnections(config) - OTHERS;
    const clients = Math.min(CLIENTS, Math.max(left, Math.floor(limit / 4)));
    this.connections = new Quota(clients);
    if (clients < CLIENTS)
      new Logger('Connections').warn(
        `A process takes ${clients} connections at a time, not ${CLIENTS}: its limit of open files (ulimit -n) is ${limit}`,
      );
  }
}

/** Connections to the database, and those to wherever messages are delivered. */
function ownConnections(config: Config): number {
  const replicas = config.DATABASE_REPLICA_URLS?.split(',').length ?? 0;
  const toDatabase = config.DATABASE_POOL_SIZE * (1 + replicas) + besidePool(config);
  return toDatabase + config.connectionsForMessages;
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
