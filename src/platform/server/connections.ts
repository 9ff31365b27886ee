import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Config } from '../../config.js';
import { networkOf } from '../api/index.js';
import { besidePool } from '../database/index.js';
import { Holdings } from '../process/index.js';
import { guard, guardEvents } from './guarded-events.js';

/** Connections of clients that a process has at most. An idle one takes about 15 kB. */
const CLIENTS = 8_192;

/**
 * Node accepts one connection per turn of the event loop on each listening socket. If hundreds of connections keep a
 * turn busy, new ones, including a liveness probe's, wait for seconds. So there are this many sockets, and the kernel
 * spreads new connections over them. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const LISTENING = 128;

/** Descriptors for files, the log, the event loop, and whatever else the process opens. */
const OTHERS = 100;

/** How often clients that do not read, and descriptors that are missing, are looked for, in milliseconds. */
const CHECK_MS = 250;

/** Connections that are given up at a time where the system gives no more descriptors. */
const GIVEN_UP = 16;

/** A client that has read nothing of an answer for this many milliseconds is cut off. */
const UNREAD_MS = 30_000;

/** Bytes of answers that may wait for their clients to read. */
const UNSENT_BYTES = 128 * 1024 * 1024;

/**
 * How many connections of clients this process can have, and how many sockets listen on the port of the API, of those
 * descriptors ("open files") that the system gives it. They leave enough for all that the process opens itself, and are
 * told where they are small.
 */
export function connectionBounds(config: Config): { clients: number; listening: number } {
  const limit = openFileLimit();
  // Where the limit is very small, a sixteenth of it listens, and a quarter is the clients', whatever else is opened.
  const listening = Math.min(LISTENING, Math.ceil(limit / 16));
  const left = limit - listening - ownConnections(config) - OTHERS;
  const clients = Math.min(CLIENTS, Math.max(left, Math.floor(limit / 4)));
  if (clients < CLIENTS) {
    new Logger('Connections').warn(
      `A process takes ${clients} connections at a time, not ${CLIENTS}: its limit of open files (ulimit -n) is ${limit}`,
    );
  }
  return { clients, listening };
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

/** A connection of a client, which may leave what it has asked for unread. */
export abstract class Connection {
  /** Where it comes from. */
  readonly network: string;
  private sent = 0;
  private unreadSince = Infinity;

  constructor(readonly socket: Socket) {
    this.network = networkOf(socket.remoteAddress) ?? '';
  }

  /** The bytes of answers that wait to be sent. */
  abstract get unsent(): number;

  /** The socket has closed. */
  abstract gone(): void;

  /** Whether the client reads nothing of what it has asked for. To be called now and then, with the present time. */
  isUnread(now: number): boolean {
    const { socket } = this;
    const sent = sentOver(socket);
    if (socket.writableLength === 0) this.unreadSince = Infinity;
    else if (sent !== this.sent || this.unreadSince === Infinity) this.unreadSince = now;
    this.sent = sent;
    return now - this.unreadSince >= UNREAD_MS;
  }
}

/** The open connections. Each has a client, and no client can have so many that the others get none. */
export class Connections<Kind extends Connection> {
  private readonly bySocket = new Map<Socket, Kind>();
  private readonly held: Holdings<Kind>;
  private readonly timer = setInterval(() => guard(undefined, () => this.check()), CHECK_MS).unref();

  /** @param bound how many there are at most */
  constructor(bound: number) {
    this.held = new Holdings(bound, ({ socket }) => cutOff(socket));
  }

  /** Holds a connection until it closes. */
  add(connection: Kind): void {
    const { socket, network } = connection;
    guardEvents(socket);
    this.bySocket.set(socket, connection);
    socket.once('close', () => {
      this.held.delete(network, connection);
      this.bySocket.delete(socket);
      connection.gone();
    });
    this.held.add(network, connection);
  }

  of(socket: Socket): Kind {
    return this.bySocket.get(socket)!;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    // Without a descriptor no client is accepted, and libuv closes whoever connects, without telling anybody.
    if (!hasDescriptor()) for (let i = 0; i < GIVEN_UP; i++) this.held.giveUp();
    const now = performance.now();
    let unsent = 0;
    for (const connection of this.bySocket.values()) {
      if (connection.isUnread(now)) cutOff(connection.socket);
      else unsent += connection.unsent;
    }
    if (unsent > UNSENT_BYTES) this.makeRoom(unsent - UNSENT_BYTES);
  }

  /** Whoever leaves most unread loses those connections that hold most of it. */
  private makeRoom(bytes: number): void {
    const sum = (connections: ReadonlySet<Kind>) =>
      [...connections].reduce((total, { unsent }) => total + unsent, 0);
    const [, most = []] = this.held.longest(sum) ?? [];
    let left = bytes;
    for (const { socket, unsent } of [...most].toSorted((a, b) => b.unsent - a.unsent)) {
      if (left <= 0 || unsent === 0) return;
      left -= unsent;
      cutOff(socket);
    }
  }
}

/**
 * Closes a connection with a reset: what waits to be sent would else keep its memory in the kernel. One that is ending is
 * closed without: libuv refuses to reset it, and Node would forget it while it is open and goes on reading.
 */
export function cutOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/**
 * The bytes that the kernel has taken. `bytesWritten` of a socket also counts those that wait for it, so only Node's own
 * handle tells a slow reader of a large answer from one that does not read.
 */
function sentOver(socket: Socket): number {
  const { _handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0;
}

function hasDescriptor(): boolean {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return true;
  } catch (error) {
    return !/^E[MN]FILE$/.test((error as NodeJS.ErrnoException).code ?? '');
  }
}
