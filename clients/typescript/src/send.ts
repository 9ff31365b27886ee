import { parse } from './int64.ts';
import type { Facts } from './operations.ts';
import { PetstoreError } from './petstore-error.ts';

/** The options of a call. */
export interface Sending {
  fetch: (request: Request, init?: RequestInit) => Promise<Response>;
  /** The most times that the request is sent. */
  tries: number;
  /** Milliseconds of a try, until its whole answer has arrived. */
  timeoutMs: number;
}

/** A success: the value of its body, and the response for its headers. */
export interface Success {
  data: unknown;
  response: Response;
}

/** The longest pause before a retry; only the caller can decide to wait longer. */
const LONGEST_PAUSE_MS = 60_000;
/** A timer with a longer time would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Sends a request, and repeats it after a temporary failure: after 429; if the request is safe to repeat, also after 408, 5xx, a 409
 * while the first try still runs, and a missing or late answer. Resolves to a success that has arrived completely.
 * @throws {PetstoreError} after any other answer
 */
export async function send(request: Request, facts: Facts, sending: Sending): Promise<Success> {
  const isRepeatable = makeRepeatable(request, facts);
  for (let tried = 1; ; tried++) {
    try {
      return await sendOnce(request, facts, sending);
    } catch (error) {
      const isOver = tried >= sending.tries || request.signal.aborted || !isTemporary(error, isRepeatable);
      const pauseMs = Math.max(retryAfterMs(error), 200 * 2 ** tried * (1 - Math.random() / 2));
      if (isOver || pauseMs > LONGEST_PAUSE_MS) throw error;
      await pause(pauseMs, request.signal);
    }
  }
}

/** Does not follow redirects: 301 and 302 turn a write into a GET, whose answer would look like the write's success. */
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
 * Ends work at the caller's signal or at the time-out. Node's `fetch` misses the signal of a `Request` that was collected as
 * garbage, and another `fetch` may ignore signals.
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

/** @throws {PetstoreError} with a cause if the body is cut off, which not every connection reports */
function read(response: Response, body: string): unknown {
  try {
    return parse(body);
  } catch (cause) {
    throw new PetstoreError(response, body, { cause });
  }
}

/** Adds an `Idempotency-Key` to a write whose operation accepts one. Returns whether the request can be repeated safely. */
function makeRepeatable({ method, headers }: Request, { takesKey = false }: Facts): boolean {
  // Browsers have `randomUUID` only on pages served by HTTPS.
  if (takesKey && !headers.has('Idempotency-Key'))
    headers.set('Idempotency-Key', crypto.getRandomValues(new Uint32Array(4)).join('-'));
  return method === 'GET' || takesKey;
}

/** Whether the same request may succeed later. @param error a `PetstoreError`, or the reason why there is no answer */
function isTemporary(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof PetstoreError)) return isRepeatable;
  const { status, code, cause } = error;
  if (status === 429) return true;
  return isRepeatable && (status === 408 || status >= 500 || code === 'idempotency_key_in_use' || !!cause);
}

/** Milliseconds of a `Retry-After`: seconds, or a date by the clock of the server (RFC 9110, 10.2.3). */
function retryAfterMs(error: unknown): number {
  const headers = error instanceof PetstoreError ? error.headers : new Headers();
  const after = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(after)) return Number(after) * 1000;
  // `Date.parse` takes other texts, such as -5, for dates too.
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
