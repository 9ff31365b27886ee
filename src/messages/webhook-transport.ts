import { JobError } from 'petstore/platform';
import { Webhook } from 'standardwebhooks';
import type { Message } from './message.entity.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/**
 * Refusals that another try would meet again: they concern the message itself, or the receiver is gone for good. Other
 * 4xx statuses, such as 401 or 404, come from a misconfigured receiver, which an operator corrects.
 */
const FINAL = new Set([400, 410, 413, 422]);
/** The three forms of an HTTP date (RFC 9110, 5.6.7) all begin with the name of a day. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** The body of an answer is not used, but after a short one the connection can be reused. */
const READ = { bytes: 65_536, ms: 1_000 };

/**
 * The way messages leave the service: posts each to one address, signed as Standard Webhooks specifies, by each of the
 * secrets, so that one can be replaced while both sides know another. Redirects are not followed.
 */
export class WebhookTransport {
  /** Where messages go, shown to the operator at the start. Path and query may have a token. */
  readonly destination: string;
  private readonly signers: readonly Webhook[];

  /** @param secrets each `whsec_` and the key as base64 */
  constructor(
    private readonly url: URL,
    secrets: readonly string[],
  ) {
    this.destination = url.origin;
    this.signers = secrets.map((secret) => new Webhook(secret));
  }

  /**
   * Hands one message over. May be called again for the same message, even concurrently if a worker was taken for dead.
   * @param signal aborted when the service has to stop, or when another worker has the message
   * @throws JobError whose reason has neither the message nor a secret
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
      isFinal: FINAL.has(status),
      retryAfterSeconds: retryAfterSeconds(headers.get('retry-after') ?? ''),
    });
  }
}

/** Of an error of the network only the code: its text may have addresses. */
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

/** The status is all that matters: how the body ends, or whether it does, changes nothing. */
async function discard({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  if (!reader) return;
  const cut = () => reader.cancel().catch(() => {});
  const limit = setTimeout(cut, READ.ms);
  let size = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      if ((size += chunk.value.length) > READ.bytes) await cut();
  } catch {
    // The receiver has cut it off.
  } finally {
    clearTimeout(limit);
  }
}
