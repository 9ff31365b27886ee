import { DeliveryError, type OutgoingMessage, Transport } from '../transport.js';
import { retryAfterSeconds } from './retry-after.js';
import { signatureHeaders } from './signature.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/** The body of an answer is not used, but after a short one the connection can be reused. */
const READ = { bytes: 65_536, ms: 1_000 };
/**
 * Refusals that another try would meet again: they concern the message itself, or the receiver is gone for good. Other
 * 4xx statuses, such as 401 or 404, come from a misconfigured receiver, which an operator corrects.
 */
const FINAL = new Set([400, 410, 413, 422]);

/** Posts messages to one address, signed according to the Standard Webhooks specification. */
export class WebhookTransport extends Transport {
  readonly destination: string;

  constructor(
    private readonly url: string,
    private readonly secrets: readonly string[],
  ) {
    super();
    // Path and query may contain a token.
    this.destination = new URL(url).origin;
  }

  async deliver({ id, message, createdAt }: OutgoingMessage, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ id, message, createdAt });
    const response = await fetch(this.url, {
      method: 'POST',
      body,
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'petstore',
        ...signatureHeaders(this.secrets, id, Math.floor(Date.now() / 1000), body),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    }).catch((error: Error) => {
      throw new DeliveryError(reasonOf(error));
    });
    await discard(response);
    if (!response.ok) throw refusal(response);
  }
}

function refusal({ status, headers }: Response): DeliveryError {
  return new DeliveryError(`The receiver answered ${status}`, {
    isFinal: FINAL.has(status),
    retryAfterSeconds: retryAfterSeconds(headers.get('Retry-After')),
  });
}

/** The status is all that matters: how the body ends, or whether it does, changes nothing. */
async function discard({ body }: Response): Promise<void> {
  let size = 0;
  const nowhere = new WritableStream<Uint8Array>({
    write(chunk) {
      if ((size += chunk.length) > READ.bytes) throw new Error('This is enough.');
    },
  });
  await body?.pipeTo(nowhere, { signal: AbortSignal.timeout(READ.ms) }).catch(() => {});
}

/** `fetch` only says "fetch failed"; the reason is in the cause. */
function reasonOf(error: Error): string {
  if (error.name === 'TimeoutError') return `No answer within ${TIMEOUT_MS / 1000} s`;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return `The receiver cannot be reached: ${cause?.code ?? cause?.message ?? error.message}`;
}
