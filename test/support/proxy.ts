import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy between the service and its database. It can stop, or hold back all data while connections stay open. */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private isSwallowing = false;
  private lateMs = 0;
  private readonly server = createServer((inbound) => this.join(inbound));
  private port = 0;

  private constructor(private target: URL) {}

  static async start(databaseUrl: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(databaseUrl));
    await proxy.mend();
    proxy.port = (proxy.server.address() as AddressInfo).port;
    return proxy;
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String(this.port);
    return url.href;
  }

  swallow(): void {
    this.isSwallowing = true;
    this.strand();
  }

  /** Holds back only the data of current connections. */
  strand(): void {
    for (const socket of this.sockets) socket.pause();
  }

  /** Delays each answer of the database by so many milliseconds. */
  delay(ms: number): void {
    this.lateMs = ms;
  }

  /** Passes on what was held back, late, as after a network partition. */
  pass(): void {
    this.isSwallowing = false;
    for (const socket of this.sockets) socket.resume();
  }

  /** Accepts connections again, on the same port. */
  async mend(): Promise<void> {
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
  }

  /** Connects to another server from now on, and ends all current connections. */
  lead(databaseUrl: string): void {
    this.target = new URL(databaseUrl);
    for (const socket of this.sockets) socket.destroy();
  }

  /** Ends every connection and refuses new ones, like a database that is away. */
  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private join(inbound: Socket): void {
    const outbound = connect(Number(this.target.port), this.target.hostname);
    this.forward(inbound, outbound);
    this.forward(outbound, inbound, () => this.lateMs);
  }

  private forward(from: Socket, to: Socket, lateMs = () => 0): void {
    this.sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      if (lateMs() === 0) to.write(chunk);
      else setTimeout(() => to.writable && to.write(chunk), lateMs());
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
    if (this.isSwallowing) from.pause();
  }
}
