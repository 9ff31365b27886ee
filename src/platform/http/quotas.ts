import { readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { Quota } from '../process/index.js';

/** Client connections per process. An idle connection takes about 15 kB. */
const CLIENTS = 8_192;

/** Requests in progress per process. At a few ms each, further requests would wait longer than clients wait for an answer. */
const REQUESTS = 2_000;

/** Streamed answers per process. */
const STREAMS = 4_000;

/** Bytes of memory per process for waiting requests, for bodies and for unread answers. */
const BYTES = 128 * 1024 * 1024;

/**
 * Listening sockets of the API. Node accepts one connection per socket in an iteration of the event loop; beside
 * hundreds of busy connections, a new one, such as a liveness probe's, would wait for seconds at a single socket. The kernel
 * spreads connections over the sockets. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const LISTENING = 128;

/** File descriptors for listening sockets, the database, the receiver of messages, files, the log and so on. */
const RESERVED = 1_500;

/** The resources that clients of the HTTP server share; see `Quota`. */
export class Quotas {
  readonly requests = new Quota(REQUESTS);
  readonly streams = new Quota(STREAMS);
  readonly bytes = new Quota(BYTES);
  readonly connections: Quota;
  /** The number of listening sockets of the API. */
  readonly listening: number;

  constructor() {
    const limit = openFileLimit();
    // Under a low limit, clients get half of the file descriptors, and listening sockets a sixteenth.
    this.listening = Math.min(LISTENING, Math.ceil(limit / 16));
    const clients = Math.min(CLIENTS, Math.max(limit - RESERVED, Math.floor(limit / 2)));
    this.connections = new Quota(clients);
    if (clients < CLIENTS)
      new Logger('Connections').warn(
        `A process accepts ${clients} connections at a time, not ${CLIENTS}: its limit of open files (ulimit -n) is ${limit}`,
      );
  }
}

/** The limit of open files, which Node raises at its start (proc_pid_limits(5)); Infinity if not on Linux. */
function openFileLimit(): number {
  if (process.platform !== 'linux') return Infinity;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Number(soft ?? Infinity);
}
