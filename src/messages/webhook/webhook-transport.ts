import { DeliveryError, type OutgoingMessage, Transport } from '../transport.js';
import { discard, Exchange } from './exchange.js';
import { signatureHeaders } from './signature.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/**
 * Refusals that another try would meet again: they concern the message itself, or the receiver is gone for good. Other
 * 4xx statuses, such as 401 or 404, come from a misconfigured receiver, which an operator corrects.
 */
const FINAL = new Set([400, 410, 413, 422]);
/** The three forms of an HTTP date (RFC 9110, 5.6.7) all begin with the name of a day. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

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
