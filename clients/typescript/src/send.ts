import { parse } from './int64.ts';
import type { Facts } from './operations.ts';
import { PetstoreError } from './petstore-error.ts';

/** How requests are sent. */
export interface Sending {
  fetch: (request: Request, init?: RequestInit) => Promise<Response>;
  /** How often a request is sent at most. */
  tries: number;
  /** How many milliseconds a try may take, until its answer has arrived as a whole. */
  timeoutMs: number;
}

/** A success: what its body says, and the response for its headers. */
export interface Success {
  data: unknown;
  response: Response;
}

/** Longer pauses than this are left to the caller. */
const LONGEST_PAUSE_MS = 60_000;
/** A timer that is given more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Sends a request, and sends it again after what may pass: 429, and where it cannot happen twice 408, 5xx, 409 while the
 * first try still runs, and no answer at all, or none in time. Resolves to a success that has arrived as a whole.
 * @throws {PetstoreError} after any other answer
 */
export async function send(request: Request, facts: Facts, sending: Sending): Promise<Success> {
  const isRepeatable = makeRepeatable(request, facts);
  for (let tried = 1; ; tried++) {
    try {
      return await sendOnce(request, facts, sending);
    } catch (error) {
      const isOver = tried >= sending.tries || request.signal.aborted || !mayPass(error, isRepeatable);
      const pauseMs = Math.max(retryAfterMs(error), 200 * 2 ** tried * (1 - Math.random() / 2));
      if (isOver || pauseMs > LONGEST_PAUSE_MS) throw error;
      await pause(pauseMs, request.signal);
    }
  }
}

/** Redirects are not followed: a write would become a GET at 301 and 302, and its answer a success. */
function sendOnce(
  request: Request,
  { answersNothing = false }: Facts,
  { fetch, timeoutMs }: Sending,
): Promise<Success> {
  return within(timeoutMs, request.signal, async (signal) => {
    const response = await fetch(new Request(request.clone(), { redirect: 'manual', signal }), { signal });
    const body = await response.text();
    const isOurs = (response.status === 204) === answersNothing && (answersNothing || isJson(response));
    if (!response.ok || response.redirected || !isOurs) throw new PetstoreError(response, body);
    return {
      data: answersNothing ? undefined : read(response, body),
      response: new Response(null, response),
    };
  });
}

/**
 * Runs something that a signal ends, that of the caller or the time-out, at once: Node's `fetch` no longer hears the signal
 * of a `Request` that was collected as garbage, and another `fetch` may not listen.
 */
async function within<T>(
  ms: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const end = () => ending.abort(signal.reason);
  const expire = () => ending.abort(new DOMException(`There was no answer within ${ms} ms.`, 'TimeoutError'));
  const ended = new Promise<never>((_resolve, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason));
  });
  const timer = setTimeout(expire, Math.min(ms, LONGEST_TIMER_MS));
  signal.addEventListener('abort', end);
  try {
    signal.throwIfAborted();
    return await Promise.race([ended, run(ending.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function isJson({ headers }: Response): boolean {
  return /^application\/json\b/i.test(headers.get('Content-Type') ?? '');
}

/** @throws {PetstoreError} with a cause if the body has ended too early, which not every connection tells */
function read(response: Response, body: string): unknown {
  try {
    return parse(body);
  } catch (cause) {
    throw new PetstoreError(response, body, { cause });
  }
}

/** Gives a write its `Idempotency-Key`, where the service keeps one. Returns whether the request is safe to repeat. */
function makeRepeatable({ method, headers }: Request, { takesKey = false }: Facts): boolean {
  // Browsers have `randomUUID` on encrypted pages alone.
  if (takesKey && !headers.has('Idempotency-Key'))
    headers.set('Idempotency-Key', crypto.getRandomValues(new Uint32Array(4)).join('-'));
  return method === 'GET' || takesKey;
}

/** Whether the same request may succeed a little later; `error` is a `PetstoreError`, or says why there is no answer. */
function mayPass(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof PetstoreError)) return isRepeatable;
  const { status, code, cause } = error;
  if (status === 429) return true;
  return isRepeatable && (status === 408 || status >= 500 || code === 'idempotency_key_in_use' || !!cause);
}

/** RFC 9110, 10.2.3: seconds, or a date, by the clock of whoever has answered. */
function retryAfterMs(error: unknown): number {
  const headers = error instanceof PetstoreError ? error.headers : new Headers();
  const after = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(after)) return Number(after) * 1000;
  // Other texts, such as -5, are dates to `Date.parse` too.
  if (!/^[A-Z].* GMT$/i.test(after)) return 0;
  return Date.parse(after) - (Date.parse(headers.get('Date') ?? '') || Date.now()) || 0;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
