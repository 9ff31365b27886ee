import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** Milliseconds after which an idle connection is closed, before most receivers close theirs. */
const IDLE_MS = 4_000;
/** The body of an answer is not used, but after a short one the connection can be reused. */
const READ = { bytes: 65_536, ms: 1_000 };

/** Bodies that are posted to one address, over connections that stay open; `fetch` takes twice the CPU time. */
export class Exchange {
  private readonly agent;
  private readonly request;

  /**
   * @param connections how many at a time
   * @param timeoutMs for an answer, from the call on
   */
  constructor(
    private readonly url: string,
    connections: number,
    private readonly timeoutMs: number,
  ) {
    const isSecure = url.startsWith('https:');
    const options = {
      keepAlive: true,
      maxSockets: connections,
      timeout: IDLE_MS,
      scheduling: 'lifo',
    } as const;
    this.agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options);
    this.request = isSecure ? httpsRequest : httpRequest;
  }

  /** Resolves to the head of the answer. @throws Error if there is none */
  post(body: string, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(body);
      const { agent } = this;
      const options = { method: 'POST', agent, headers: { ...headers, 'Content-Length': bytes.length } };
      const request = this.request(this.url, options);
      const cut = () => request.destroy(new Error('The service stops'));
      const limit = setTimeout(
        () => request.destroy(new Error(`No answer within ${this.timeoutMs / 1_000} s`)),
        this.timeoutMs,
      );
      signal.addEventListener('abort', cut);
      const done = () => {
        clearTimeout(limit);
        signal.removeEventListener('abort', cut);
      };
      request.on('error', (error) => (done(), reject(error)));
      request.once('response', (response) => (done(), resolve(response)));
      request.end(bytes);
    });
  }
}

/** The status is all that matters: how the body ends, or whether it does, changes nothing. */
export function discard(response: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let size = 0;
    const limit = setTimeout(() => response.destroy(), READ.ms);
    response.on('data', (chunk: Buffer) => {
      if ((size += chunk.length) > READ.bytes) response.destroy();
    });
    response.on('error', () => {});
    response.once('close', () => {
      clearTimeout(limit);
      resolve();
    });
  });
}
