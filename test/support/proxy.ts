import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between the service and its database. It can be gone, or swallow everything both send, without closing. */
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

  /** Swallows only what those that are connected now send. */
  strand(): void {
    for (const socket of this.sockets) socket.pause();
  }

  /** Lets each answer of the database come so many milliseconds later. */
  delay(ms: number): void {
    this.lateMs = ms;
  }

  /** What was held back arrives now, late, as after a network partition. */
  pass(): void {
    this.isSwallowing = false;
    for (const socket of this.sockets) socket.resume();
  }

  /** Accepts connections again, where it did before. */
  async mend(): Promise<void> {
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
  }

  /** Leads to another server from now on, and ends every connection to the one before. */
  lead(databaseUrl: string): void {
    this.target = new URL(databaseUrl);
    for (const socket of this.sockets) socket.destroy();
  }

  /** Ends every connection and accepts no more, like a database that is gone. */
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
