import { DeliveryError, type OutgoingMessage, Transport } from '../transport.js';
import { retryAfterSeconds } from './retry-after.js';
import { signatureHeaders } from './signature.js';

/** Milliseconds for the whole exchange. The specification recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
/** An answer's body says nothing to this service, but after a short one its connection can be used again. */
const READ = { bytes: 65_536, ms: 1_000 };
/**
 * Refusals that another try would meet again, because they speak of the message itself, or say that its receiver has
 * gone for good. Other 4xx statuses, as 401 or 404, come from a receiver that is set up wrongly, which an operator mends.
 */
const FINAL = new Set([400, 410, 413, 422]);

/** Posts messages to one address, signed after the Standard Webhooks specification. */
export class WebhookTransport extends Transport {
  readonly destination: string;

  constructor(
    private readonly url: string,
    private readonly secret: string,
  ) {
    super();
    // Path and query may hold a token.
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
        ...signatureHeaders(this.secret, id, Math.floor(Date.now() / 1000), body),
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

/** The status has told all there is to know: how a body ends, or whether it does, changes nothing. */
async function discard({ body }: Response): Promise<void> {
  let size = 0;
  const nowhere = new WritableStream<Uint8Array>({
    write(chunk) {
      if ((size += chunk.length) > READ.bytes) throw new Error('This is enough.');
    },
  });
  await body?.pipeTo(nowhere, { signal: AbortSignal.timeout(READ.ms) }).catch(() => {});
}

/** `fetch` says "fetch failed", and what failed in the cause. */
function reasonOf(error: Error): string {
  if (error.name === 'TimeoutError') return `No answer within ${TIMEOUT_MS / 1000} s`;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return `The receiver cannot be reached: ${cause?.code ?? cause?.message ?? error.message}`;
}
