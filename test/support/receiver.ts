import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface Received {
  path: string;
  headers: Record<string, string>;
  bytes: Buffer;
  /** The fields of the body. */
  id: string;
  message: string;
  /** Milliseconds since 1970. */
  at: number;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Called instead of ending the answer. */
  rest?: (response: ServerResponse) => void;
}

/** How a receiver answers the nth call for a message, from 1 on. */
export type Behaviour = (call: Received, nth: number) => Answer | Promise<Answer>;

/** Receives messages as a customer's server does, and remembers every call. */
export class Receiver {
  readonly calls: Received[] = [];
  private readonly byId = new Map<string, Received[]>();
  readonly secret = `whsec_${Buffer.alloc(24, 'secret').toString('base64')}`;
  private readonly server: Server = createServer((request, response) => void this.take(request, response));

  /** @param behave answers 200 by default */
  constructor(private readonly behave: Behaviour = () => ({ status: 200 })) {}

  static async start(behave?: Behaviour): Promise<Receiver> {
    const receiver = new Receiver(behave);
    // Does not keep a test run alive if a test fails before it stops the receiver.
    await once(receiver.server.unref().listen(0, '127.0.0.1'), 'listening');
    return receiver;
  }

  /** The environment of a service that delivers here. */
  get env(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      MESSAGES_WEBHOOK_URL: `http://127.0.0.1:${port}/hook?token=t`,
      MESSAGES_WEBHOOK_SECRET: this.secret,
    };
  }

  callsFor(id: string): Received[] {
    return this.byId.get(id) ?? [];
  }

  /** Verifies a signature with the specification's library. @throws if it does not match the secret */
  verify({ bytes, headers }: Received, secret = this.secret): unknown {
    return new Webhook(secret).verify(bytes.toString(), headers);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await request.toArray());
    // A client that follows a redirect sends no body.
    const { id = '', message = '' } = JSON.parse(bytes.toString() || '{}') as Partial<Received>;
    const headers = request.headers as Record<string, string>;
    const call = { path: request.url!, headers, bytes, id, message, at: Date.now() };
    this.calls.push(call);
    this.byId.set(id, [...this.callsFor(id), call]);
    const answer = await this.behave(call, this.callsFor(id).length);
    response.writeHead(answer.status, answer.headers);
    if (answer.rest) answer.rest(response);
    else response.end();
  }
}
