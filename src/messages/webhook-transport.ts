import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { DeliveryError, type OutgoingMessage, Transport } from './transport.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/**
 * Refusals that another try would meet again: they concern the message itself, or the receiver is gone for good. Other
 * 4xx statuses, such as 401 or 404, come from a misconfigured receiver, which an operator corrects.
 */
const FINAL = new Set([400, 410, 413, 422]);
const SECRET_PREFIX = 'whsec_';
/** The three forms of an HTTP date (RFC 9110, 5.6.7) all begin with the name of a day. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** Milliseconds after which an idle connection is closed, before most receivers close theirs. */
const IDLE_MS = 4_000;
/** The body of an answer is not used, but after a short one the connection can be reused. */
const READ = { bytes: 65_536, ms: 1_000 };

/** Posts messages to one address, signed according to the Standard Webhooks specification. Redirects are not followed. */
export class WebhookTransport extends Transport {
  readonly destination: string;
  private readonly exchange: Exchange;

  /** @param connections how many at a time */
  constructor(
    url: string,
    private readonly secrets: readonly string[],
    connections: number,
  ) {
    super();
    // Path and query may contain a token.
    this.destination = new URL(url).origin;
    this.exchange = new Exchange(url, connections, TIMEOUT_MS);
  }

  async deliver({ id, message, createdAt }: OutgoingMessage, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ id, message, createdAt });
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'petstore',
      ...signatureHeaders(this.secrets, id, Math.floor(Date.now() / 1000), body),
    };
    const response = await this.exchange.post(body, headers, signal).catch((error: Error) => {
      throw new DeliveryError(reasonOf(error));
    });
    await discard(response);
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 300) return;
    throw new DeliveryError(`The receiver answered ${status}`, {
      isFinal: FINAL.has(status),
      retryAfterSeconds: retryAfterSeconds(response.headers['retry-after']),
    });
  }
}

/** Of an error of the network only the code: its text may have addresses. */
function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code ? `The receiver cannot be reached: ${code}` : message;
}

/** A `Retry-After` in seconds (RFC 9110, 10.2.3: a number or a date); 0 for anything else. */
function retryAfterSeconds(header = ''): number {
  if (/^\d+$/.test(header)) return Number(header);
  const at = DATE.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1000);
}

/**
 * The headers by which a receiver verifies that a body comes from here, and when it was sent: any of the signatures will
 * do, so a secret can be replaced without a moment in which it is not known on one of the two sides.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @param secrets each `whsec_` and the key as base64
 * @param timestamp seconds since 1970
 */
function signatureHeaders(secrets: readonly string[], id: string, timestamp: number, body: string) {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** Bodies that are posted to one address, over connections that stay open; `fetch` takes twice the CPU time. */
class Exchange {
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
function discard(response: IncomingMessage): Promise<void> {
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
