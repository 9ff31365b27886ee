import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to a request: its answer is lost, or cut off in the middle; or it is refused, and not handed on. */
export type Fault = 'lost' | 'cut' | { status: number; code: string; retryAfter?: number };

/** Stands between a client and the service. Each fault is for one request; those after the last one pass. */
export class Unsteady {
  /** The headers of the requests so far, and when they came, in milliseconds. */
  readonly seen: { headers: IncomingMessage['headers']; at: number }[] = [];
  faults: Fault[] = [];
  private readonly server = createServer((inbound, outbound) => void this.answer(inbound, outbound));

  private constructor(private readonly target: string) {}

  static async before(target: string): Promise<Unsteady> {
    const unsteady = new Unsteady(target);
    await once(unsteady.server.listen(0, '127.0.0.1'), 'listening');
    return unsteady;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(inbound: IncomingMessage, outbound: ServerResponse): Promise<void> {
    this.seen.push({ headers: inbound.headers, at: Date.now() });
    const fault = this.faults.shift();
    if (typeof fault === 'object') return refuse(inbound, outbound, fault);
    const { url, method, headers } = inbound;
    const forward = inbound.pipe(request(this.target + url, { method, headers }));
    const [answer] = (await once(forward, 'response')) as [IncomingMessage];
    const body = Buffer.concat(await answer.toArray());
    if (fault === 'lost') return void outbound.destroy();
    outbound.writeHead(answer.statusCode!, answer.headers);
    if (fault === 'cut') outbound.write(body.subarray(0, body.length / 2), () => outbound.destroy());
    else outbound.end(body);
  }
}

function refuse(inbound: IncomingMessage, outbound: ServerResponse, fault: Exclude<Fault, string>): void {
  const { status, code, retryAfter } = fault;
  inbound.resume();
  const headers = { 'Content-Type': 'application/json', 'Retry-After': String(retryAfter ?? '') };
  outbound.writeHead(status, headers).end(JSON.stringify({ code, message: 'Not now.', status }));
}
