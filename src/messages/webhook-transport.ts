import { JobError } from 'petstore/platform';
import { Webhook } from 'standardwebhooks';
import type { Message } from './message.entity.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/** Statuses that refuse the message for good. Others, such as 401 or 404, may mean a misconfigured receiver. */
const FINAL_STATUSES = new Set([400, 410, 413, 422]);
/** The three forms of an HTTP date (RFC 9110, 5.6.7) begin with the name of a day. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** Limits for reading the unused body of an answer, after which the connection can be reused. */
const DISCARD_LIMITS = { bytes: 65_536, ms: 1_000 };

/** Posts each message to one address, signed with each secret, as Standard Webhooks specifies, without redirects. */
export class WebhookTransport {
  /** The destination as the start shows it: without path and query, which may contain a token. */
  readonly destination: string;
  private readonly signers: readonly Webhook[];

  /** @param secrets each is `whsec_`, then the key in base64 */
  constructor(
    private readonly url: URL,
    secrets: readonly string[],
  ) {
    this.destination = url.origin;
    this.signers = secrets.map((secret) => new Webhook(secret));
  }

  /**
   * Delivers a message. May be called again for the same message, even concurrently if a worker was taken for dead.
   * @param signal aborted when the service stops, or when another worker has the message
   * @throws JobError whose reason contains neither the message nor a secret
   */
  async deliver({ id, message, createdAt }: Message, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ id, message, createdAt });
    const now = new Date();
    const response = await fetch(this.url, {
      method: 'POST',
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'petstore',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': this.signers.map((signer) => signer.sign(id, now, body)).join(' '),
      },
    }).catch((error: Error) => {
      throw new JobError(reasonOf(error));
    });
    await discard(response);
    const { ok, status, headers } = response;
    if (ok) return;
    throw new JobError(`The receiver answered ${status}`, {
      isFinal: FINAL_STATUSES.has(status),
      retryAfterSeconds: retryAfterSeconds(headers.get('retry-after') ?? ''),
    });
  }
}

/** Only the code of a network error: its text may contain addresses. */
function reasonOf({ name, cause }: Error): string {
  if (name === 'TimeoutError') return `No answer within ${TIMEOUT_MS / 1_000} s`;
  if (name === 'AbortError') return 'The service stops';
  return `The receiver cannot be reached: ${(cause as { code?: string } | undefined)?.code ?? name}`;
}

/** A `Retry-After` in seconds (RFC 9110, 10.2.3: a number or a date); 0 for anything else. */
function retryAfterSeconds(header: string): number {
  if (/^\d+$/.test(header)) return Number(header);
  const at = DATE.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1_000);
}

/** Discards the body: only the status matters, whether or not the body is complete. */
async function discard({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  if (!reader) return;
  const cut = () => reader.cancel().catch(() => {});
  const limit = setTimeout(cut, DISCARD_LIMITS.ms);
  let size = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      if ((size += chunk.value.length) > DISCARD_LIMITS.bytes) await cut();
  } catch {
    // The receiver has closed the connection.
  } finally {
    clearTimeout(limit);
  }
}
