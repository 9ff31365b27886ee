import { PetstoreError } from './petstore-error.ts';

type Fetch = (request: Request) => Promise<Response>;

/** Longer pauses than this are left to the caller. */
const LONGEST_PAUSE_MS = 60_000;

/**
 * Sends a request, and sends it again after what may pass: 429, and where it cannot happen twice 408, 5xx, 409 while the
 * first try still runs, and no answer at all. Resolves to a success that has arrived as a whole.
 * @param tries how often it is sent at most
 * @throws {PetstoreError} after any other answer
 */
export async function send(request: Request, fetch: Fetch, tries: number): Promise<Response> {
  const isRepeatable = makeRepeatable(request);
  for (let tried = 1; ; tried++) {
    try {
      return await sendOnce(request.clone(), fetch);
    } catch (error) {
      const isOver = tried >= tries || request.signal.aborted || !mayPass(error, isRepeatable);
      const pauseMs = Math.max(retryAfterMs(error), 200 * 2 ** tried * (1 - Math.random() / 2));
      if (isOver || pauseMs > LONGEST_PAUSE_MS) throw error;
      await pause(pauseMs, request.signal);
    }
  }
}

async function sendOnce(request: Request, fetch: Fetch): Promise<Response> {
  const response = await fetch(request);
  const body = await response.text();
  if (!response.ok) throw new PetstoreError(response, body);
  return new Response(body || null, response);
}

/** Gives a write its `Idempotency-Key`; one that is not made with an API key can have none. Returns whether it is safe. */
function makeRepeatable({ method, headers }: Request): boolean {
  if (method === 'GET' || headers.has('Idempotency-Key')) return true;
  if (!/^bearer /i.test(headers.get('Authorization') ?? '')) return false;
  // Browsers have `randomUUID` on encrypted pages alone.
  headers.set('Idempotency-Key', crypto.getRandomValues(new Uint32Array(4)).join('-'));
  return true;
}

/** Whether the same request may succeed a little later; `error` is a `PetstoreError`, or says why there is no answer. */
function mayPass(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof PetstoreError)) return isRepeatable;
  const { status, code } = error;
  if (status === 429) return true;
  return isRepeatable && (status === 408 || status >= 500 || code === 'idempotency_key_in_use');
}

/** The service says it in seconds. */
function retryAfterMs(error: unknown): number {
  const header = error instanceof PetstoreError ? error.headers.get('Retry-After') : null;
  return Number(header) * 1000 || 0;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
