import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, type ErrorCode } from '../api/index.js';
import { logFailure, toApiError, writeError } from './errors.js';
import { guard } from './guarded-events.js';

/** How often streams of events are looked at, in milliseconds. */
const CHECK_MS = 1_000;

/** A stream of events in which nothing has happened for this many milliseconds gets a comment, so that no proxy ends it. */
const BEAT_MS = 15_000;

/** What clients ignore (HTML, 9.2.6: a line that begins with a colon). */
const BEAT = ':\n\n';

/**
 * After so many bytes, a stream waits for the next turn of the event loop, and so has as much of it as a request: what is read
 * as fast as it is made would else leave the requests of others a fraction.
 */
const TURN_BYTES = 16_384;

/** An answer that is sent while it is made: what has come of it so far. */
export class Stream {
  /** Milliseconds from the request to the first byte. */
  readonly firstByteMs: number;
  /** Bytes of the body that were handed over for sending. */
  bytes = 0;
  /** When the last of them were, in milliseconds of `performance.now`. */
  private since = performance.now();
  /** Whether no event is left unfinished, so that a comment may follow. */
  private isBetween = true;
  private ofTurn = 0;

  /** @param isEvents whether it is one of server-sent events, which nothing ends but either side */
  constructor(
    readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    from: number,
    readonly isEvents: boolean,
  ) {
    this.firstByteMs = this.since - from;
  }

  wrote(chunk: unknown, encoding: unknown): void {
    this.since = performance.now();
    const bytes =
      typeof chunk === 'string'
        ? Buffer.byteLength(chunk, encoding as BufferEncoding)
        : ((chunk as Uint8Array | null)?.byteLength ?? 0);
    this.bytes += bytes;
    if (this.isEvents) this.isBetween = /\n\n$|^\n$/.test(tailOf(chunk));
    else if (this.ofTurn < TURN_BYTES && (this.ofTurn += bytes) >= TURN_BYTES) this.waitForTurn();
  }

  /** Keeps it alive, if it is one of events. To be called now and then, with the present time. */
  check(now: number): void {
    const { response, since, isBetween } = this;
    if (now - since >= BEAT_MS && isBetween && response.writableLength === 0) response.write(BEAT);
  }

  /** Ends it, if it has no end of its own. */
  drain(): void {
    if (this.isEvents) guard(this.request.socket, () => this.response.end());
  }

  /** Nothing is sent until the next turn, so that the source finds that there is no room. */
  private waitForTurn(): void {
    const socket = this.response.socket as Socket;
    socket.cork();
    setImmediate(() => {
      this.ofTurn = 0;
      guard(socket, () => socket.uncork());
    });
  }
}

/** The end of what was written, as text. */
function tailOf(chunk: unknown): string {
  if (typeof chunk === 'string') return chunk.slice(-2);
  return chunk instanceof Uint8Array ? Buffer.from(chunk.subarray(-2)).toString('latin1') : '';
}

/** The streams of a server. They are no work, however long they last: the quota bounds their number. */
export class Streams {
  private readonly open = new Set<Stream>();
  private readonly timer = setInterval(() => this.check(), CHECK_MS).unref();
  private isDraining = false;

  get size(): number {
    return this.open.size;
  }

  add(stream: Stream): void {
    this.open.add(stream);
    if (this.isDraining) setImmediate(() => stream.drain());
  }

  delete(stream: Stream): void {
    this.open.delete(stream);
  }

  /** The service is about to stop: streams of events, which have no end, end now, and their clients connect to another instance. */
  drain(): void {
    this.isDraining = true;
    for (const stream of this.open) stream.drain();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const now = performance.now();
    for (const stream of this.open)
      if (stream.isEvents) guard(stream.request.socket, () => stream.check(now));
  }
}

/**
 * The source of an answer has failed. Before its first byte, the answer is an Error; after it, the connection is closed: what
 * was sent must not look complete. It is logged once, whoever else is told.
 */
export function failStream(response: ServerResponse, failure: unknown): void {
  const request = response.req as IncomingMessage & { errorCode?: ErrorCode };
  if (request.errorCode || response.writableEnded || isOfClient(failure)) return;
  const { message = String(failure), code: own } = Object(failure) as { message?: string; code?: unknown };
  // Whatever may be thrown, such as an error of another realm.
  const cause = failure instanceof Error ? failure : Object.assign(new Error(message), { code: own });
  const { code } = toApiError(cause);
  const isLater = code === 'service_unavailable';
  const error = new ApiError(isLater ? code : 'internal_error', undefined, { cause });
  logFailure(error, response);
  request.errorCode = error.code;
  writeError(response, error);
}

/** Whether a stream has only failed because its client has gone. */
function isOfClient(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ERR_STREAM_DESTROYED';
}
