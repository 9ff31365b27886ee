import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, Server } from 'node:net';
import { promisify } from 'node:util';

/** Connections that may wait to be accepted (Node: 511). Beyond, the kernel drops them, and they come back in seconds. */
const BACKLOG = 4_096;

/**
 * Node accepts one connection a turn of the event loop for each listening socket. Where hundreds of connections keep a
 * turn busy, new ones, a liveness probe's too, then wait for seconds. So there are this many sockets, and the kernel
 * spreads new connections over them. Measured with 2,500 busy clients: the slowest probe took 0.2 s instead of 8.6 s.
 */
const DOORS = 128;

/** Whether sockets can share a port. */
const IS_SHARED = process.platform === 'linux';

/**
 * Makes sure that nothing listens on a port, and gives its number, which 0 leaves to the system. One socket alone takes
 * it for a moment: sockets that share a port would also share it with those of another service.
 * @throws what `net.Server.listen` emits, as EADDRINUSE
 */
export async function claimPort(port: number, host?: string): Promise<number> {
  const claim = createServer();
  await listen(claim, { port, host });
  const { port: claimed } = claim.address() as AddressInfo;
  await closed(claim);
  return claimed;
}

/** The listening sockets of one HTTP server, all on its port (SO_REUSEPORT; Linux alone, elsewhere there is one). */
export class Doors {
  private readonly others: Server[] = [];

  constructor(private readonly server: HttpServer) {}

  /**
   * Listens on a port of this process alone.
   * @throws what `net.Server.listen` emits, as EADDRINUSE
   */
  async open(port: number, host?: string): Promise<void> {
    if (IS_SHARED) return this.share(await claimPort(port, host), host);
    await listen(this.server, { port, host, backlog: BACKLOG });
  }

  /**
   * Listens on a port that was claimed, beside the other workers of a cluster. The kernel spreads the connections: sockets
   * that share a port are past the cluster's primary, and elsewhere the workers accept on one that the primary has opened.
   */
  async share(port: number, host?: string): Promise<void> {
    const listening = { port, host, backlog: BACKLOG, reusePort: IS_SHARED };
    await listen(this.server, listening);
    if (!IS_SHARED) return;
    for (let i = 1; i < DOORS; i++) {
      // As an HTTP server makes its own sockets.
      const options = { allowHalfOpen: true, noDelay: true };
      const other = createServer(options, (socket) => this.server.emit('connection', socket));
      this.others.push(other);
      await listen(other, listening);
    }
  }

  /** Takes no more connections, and leaves those that there are; resolves when they have ended. */
  async close(): Promise<void> {
    await Promise.all([this.server, ...this.others].map(closed));
  }

  async countConnections(): Promise<number> {
    const counts = [this.server, ...this.others].map((one) => promisify(one.getConnections.bind(one))());
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }
}

async function listen(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

/** Past the HTTP server's own `close`, which would end its idle connections at once. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
}
