import type { Server as HttpServer } from 'node:http';
import { createServer, Server } from 'node:net';
import { promisify } from 'node:util';
import { claimPort, listen } from '../process/index.js';
import { guardEvents } from './guarded-events.js';

/** Connections that may wait to be accepted (Node: 511). The kernel drops any beyond, and they retry after seconds. */
const BACKLOG = 4_096;

/** Whether sockets can share a port. */
const CAN_SHARE_PORT = process.platform === 'linux';

/** The listening sockets of one HTTP server, all on its port (SO_REUSEPORT, on Linux only; elsewhere there is one). */
export class ListeningSockets {
  private readonly others: Server[] = [];

  /** @param count how many there are where they can share a port */
  constructor(
    private readonly server: HttpServer,
    private readonly count: number,
  ) {}

  /**
   * Listens on a port that only this process uses.
   * @throws what `net.Server.listen` emits, such as EADDRINUSE
   */
  async open(port: number, host?: string): Promise<void> {
    if (CAN_SHARE_PORT) return this.share(await claimPort(port, host), host);
    await listen(this.server, { port, host, backlog: BACKLOG });
  }

  /**
   * Listens on a claimed port, beside the other workers of a service. On Linux each worker binds the port itself, and
   * the kernel spreads the connections; elsewhere the workers accept on a socket that the primary has opened.
   */
  async share(port: number, host?: string): Promise<void> {
    const listening = { port, host, backlog: BACKLOG, reusePort: CAN_SHARE_PORT };
    await listen(this.server, listening);
    if (!CAN_SHARE_PORT) return;
    for (let i = 1; i < this.count; i++) {
      // The options with which an HTTP server creates its own socket.
      const options = { allowHalfOpen: true, noDelay: true };
      const other = createServer(options, (socket) => this.server.emit('connection', socket));
      guardEvents(other);
      this.others.push(other);
      await listen(other, listening);
    }
  }

  /** Accepts no more connections, and leaves existing ones open; resolves when they have ended. */
  async close(): Promise<void> {
    await Promise.all([this.server, ...this.others].map(close));
  }

  async countConnections(): Promise<number> {
    const counts = [this.server, ...this.others].map((one) => promisify(one.getConnections.bind(one))());
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }
}

/** `http.Server.close` would also close idle connections at once; this is `net.Server`'s. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
}
