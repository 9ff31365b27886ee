import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer that is not the service's; without a length, so that a client cannot tell if the answer is whole. */
interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * The fate of a request: its answer is lost, cut off, or halted half-way; there is no answer (`silent`); or
 * another answer is sent, and the service does not get the request.
 */
export type Fault = 'lost' | 'cut' | 'halted' | 'silent' | Answer;

/** An error like the service's own. */
export function refusal(status: number, code: string, retryAfter?: number | string): Answer {
  const headers = { 'Content-Type': 'application/json', 'Retry-After': String(retryAfter ?? '') };
  return { status, headers, body: JSON.stringify({ code, message: 'Not now.', status }) };
}

/** A proxy between a client and the service. Each fault affects one request; after the last, all pass. */
export class Unsteady {
  /** The requests so far, with their times in milliseconds. */
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers']; at: number }[] = [];
  faults: Fault[] = [];
  /** The number of requests that still wait for a whole answer. */
  waiting = 0;
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
    const { url, method, headers } = inbound as { url: string; method: string } & IncomingMessage;
    this.seen.push({ method, url, headers, at: Date.now() });
    this.waiting += 1;
    outbound.once('close', () => (this.waiting -= 1));
    const fault = this.faults.shift();
    if (typeof fault === 'object' || fault === 'silent') {
      inbound.resume();
      if (fault !== 'silent') outbound.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const forward = inbound.pipe(request(this.target + url, { method, headers }));
    const [answer] = (await once(forward, 'response')) as [IncomingMessage];
    const body = Buffer.concat(await answer.toArray());
    if (fault === 'lost') return void outbound.destroy();
    outbound.writeHead(answer.statusCode!, answer.headers);
    if (!fault) return void outbound.end(body);
    outbound.write(body.subarray(0, body.length / 2), () => fault === 'cut' && outbound.destroy());
  }
}
