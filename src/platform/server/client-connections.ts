import type { Socket } from 'node:net';
import { networkOf } from '../api/client-network.js';
import { guard, guardEvents } from './guarded-events.js';
import { ClientConnection, type ConnectionHandler } from './client-connection.js';
import { Holdings } from './holdings.js';

/** Connections that this process holds. An idle one takes about 15 kB. */
const CONNECTIONS = 8_192;

/** How often clients that do not read are looked for, in milliseconds. */
const CHECK_MS = 250;

/** Bytes of answers that may wait for their clients to read. */
const UNSENT_BYTES = 128 * 1024 * 1024;

/** The open connections. Each has a client, and no client can have so many that the others get none. */
export class ClientConnections {
  private readonly bySocket = new Map<Socket, ClientConnection>();
  private readonly held = new Holdings<Socket>(CONNECTIONS, cutOff);
  private readonly timer = setInterval(() => guard(undefined, () => this.cutOffUnread()), CHECK_MS).unref();

  constructor(private readonly handler: ConnectionHandler) {}

  /** @param isProxied whether it is that of a proxy, and comes from whomever the headers name */
  add(socket: Socket, isProxied: boolean): void {
    guardEvents(socket);
    const network = networkOf(socket.remoteAddress) ?? '';
    const connection = new ClientConnection(socket, isProxied ? undefined : network, this.handler);
    this.bySocket.set(socket, connection);
    socket.once('close', () => {
      this.bySocket.delete(socket);
      this.held.delete(network, socket);
      connection.gone();
    });
    this.held.add(network, socket);
  }

  of(socket: Socket): ClientConnection {
    return this.bySocket.get(socket)!;
  }

  stop(): void {
    clearInterval(this.timer);
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

/** With a reset: what waits to be sent would else keep its memory in the kernel. */
function cutOff(socket: Socket): void {
  socket.resetAndDestroy();
}
