import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { networkOf } from '../api/index.js';
import { ClientConnection, type ConnectionHandler, cutOff } from './client-connection.js';
import { guard, guardEvents } from './guarded-events.js';
import { Holdings } from './holdings.js';

/** How often clients that do not read, and descriptors that are missing, are looked for, in milliseconds. */
const CHECK_MS = 250;

/** Connections that are given up at a time where the system gives no more descriptors. */
const GIVEN_UP = 16;

/** Bytes of answers that may wait for their clients to read. */
const UNSENT_BYTES = 128 * 1024 * 1024;

/** The open connections. Each has a client, and no client can have so many that the others get none. */
export class ClientConnections {
  private readonly bySocket = new Map<Socket, ClientConnection>();
  private readonly held: HeldSockets;
  private readonly timer = setInterval(() => guard(undefined, () => this.check()), CHECK_MS).unref();

  /** @param bound how many there are at most */
  constructor(
    private readonly handler: ConnectionHandler,
    bound: number,
  ) {
    this.held = new HeldSockets(bound);
  }

  /** @param isProxied whether it is that of a proxy, and comes from whomever the headers name */
  add(socket: Socket, isProxied: boolean): void {
    guardEvents(socket);
    const network = this.held.take(socket);
    const connection = new ClientConnection(socket, isProxied ? undefined : network, this.handler);
    this.bySocket.set(socket, connection);
    socket.once('close', () => {
      this.bySocket.delete(socket);
      connection.gone();
    });
  }

  of(socket: Socket): ClientConnection {
    return this.bySocket.get(socket)!;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    // Without a descriptor no client is accepted, and libuv closes whoever connects, without telling anybody.
    if (!hasDescriptor()) this.held.giveUp(GIVEN_UP);
    this.cutOffUnread();
  }

  private cutOffUnread(): void {
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
    const holding = [...this.bySocket.values()].filter(({ unsent }) => unsent > 0);
    const byClient = Map.groupBy(holding, ({ socket }) => networkOf(socket.remoteAddress) ?? '');
    const sum = (connections: ClientConnection[]) =>
      connections.reduce((total, { unsent }) => total + unsent, 0);
    const [most = []] = [...byClient.values()].toSorted((a, b) => sum(b) - sum(a));
    let left = bytes;
    for (const { socket, unsent } of most.toSorted((a, b) => b.unsent - a.unsent)) {
      if (left <= 0) return;
      left -= unsent;
      cutOff(socket);
    }
  }
}

/** Connections of clients, by where they come from, up to a bound. */
export class HeldSockets {
  private readonly held: Holdings<Socket>;

  constructor(bound: number) {
    this.held = new Holdings(bound, cutOff);
  }

  /** Holds one until it closes; returns where it comes from. */
  take(socket: Socket): string {
    const network = networkOf(socket.remoteAddress) ?? '';
    socket.once('close', () => this.held.delete(network, socket));
    this.held.add(network, socket);
    return network;
  }

  /** Cuts some off, of whoever holds most. */
  giveUp(count: number): void {
    for (let i = 0; i < count; i++) this.held.giveUp();
  }
}

function hasDescriptor(): boolean {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return true;
  } catch (error) {
    return !/^E[MN]FILE$/.test((error as NodeJS.ErrnoException).code ?? '');
  }
}
