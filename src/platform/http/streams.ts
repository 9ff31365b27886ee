import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, type ErrorCode } from '../api/index.js';
import { logFailure, toApiError, writeError } from './errors.js';
import { guard } from './guard.js';

/** Milliseconds between checks whether a stream of events needs a heartbeat. */
const CHECK_MS = 1_000;

/** Milliseconds without an event after which a stream of events gets a heartbeat, so that no proxy ends it. */
const HEARTBEAT_MS = 15_000;

/** A comment, which clients ignore (HTML, 9.2.6). */
const HEARTBEAT = ':\n\n';

/**
 * Bytes of a stream per iteration of the event loop. Back-pressure alone does not suffice: between a fast source and a fast
 * client, Node keeps writing without ever returning to the loop.
 */
const BYTES_PER_ITERATION = 16_384;

/** An answer that is sent while it is made. */
export class Stream {
  /** Milliseconds from the request to the first byte. */
  readonly firstByteMs: number;
  /** Bytes of the body that were written. */
  bytes = 0;
  /** The last write, in milliseconds of `performance.now`. */
  private writtenAt = performance.now();
  private inIteration = 0;
  private readonly timer?: NodeJS.Timeout;

  /** @param isEvents whether the answer is a stream of server-sent events, which has no end of its own */
  constructor(
    private readonly response: ServerResponse,
    arrivedAt: number,
    readonly isEvents: boolean,
  ) {
    this.firstByteMs = this.writtenAt - arrivedAt;
    if (isEvents) this.timer = setInterval(() => this.keepAlive(), CHECK_MS);
  }

  wrote(chunk: unknown, encoding: unknown): void {
    this.writtenAt = performance.now();
    const bytes =
      typeof chunk === 'string'
        ? Buffer.byteLength(chunk, encoding as BufferEncoding)
        : ((chunk as Uint8Array | null)?.byteLength ?? 0);
    this.bytes += bytes;
    if (this.isEvents || this.inIteration >= BYTES_PER_ITERATION) return;
    this.inIteration += bytes;
    if (this.inIteration >= BYTES_PER_ITERATION) this.pause();
  }

  /** Ends a stream of events, so that its client reconnects to another instance. */
  drain(): void {
    guard(this.response.req.socket, () => this.response.end());
  }

  close(): void {
    clearInterval(this.timer);
  }

  private keepAlive(): void {
    const { response, writtenAt } = this;
    if (performance.now() - writtenAt >= HEARTBEAT_MS && response.writableLength === 0)
      guard(response.req.socket, () => response.write(HEARTBEAT));
  }

  /** Applies back-pressure to the source: corks the socket until the next iteration of the event loop. */
  private pause(): void {
    const socket = this.response.socket as Socket;
    socket.cork();
    setImmediate(() => {
      this.inIteration = 0;
      guard(socket, () => socket.uncork());
    });
  }
}

/** Error codes of a stream whose client has gone. */
const CLIENT_GONE = new Set<unknown>(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED']);

/**
 * Handles a failed source of an answer, and logs the failure once. Before the first byte, the client gets an Error; after it,
 * the connection is closed, so that the answer does not look complete.
 */
export function failStream(response: ServerResponse, failure: unknown): void {
  const request = response.req as IncomingMessage & { errorCode?: ErrorCode };
  // The failure may be any value, such as an error of another realm.
  const cause: Error & { code?: unknown } = Error.isError(failure) ? failure : new Error(String(failure));
  if (request.errorCode || response.writableEnded || CLIENT_GONE.has(cause.code)) return;
  const { code } = toApiError(cause);
  const error = new ApiError(code === 'service_unavailable' ? code : 'internal_error', undefined, { cause });
  logFailure(error, response);
  request.errorCode = error.code;
  writeError(response, error);
}
