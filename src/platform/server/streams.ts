import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { ApiError, type ErrorCode, requestIdOf } from '../api/index.js';
import { isUnavailable } from '../database/index.js';
import { Shares, turns } from '../process/index.js';
import { cutOff } from './connections.js';
import { guard } from './guarded-events.js';
import { writeError } from './refusals.js';

/** Streams that a process sends at a time. What waits to be read of them has the bound of all answers. */
const STREAMS = 4_000;

/** How often streams are looked at, in milliseconds. */
const CHECK_MS = 1_000;

/** A source that has given nothing for this many milliseconds is given up; with a client that reads nothing, its connection is. */
const STALLED_MS = 30_000;

/** A stream of events in which nothing has happened for this many milliseconds gets a comment, so that no proxy ends it. */
const BEAT_MS = 15_000;

/** After so many bytes, a stream waits for its next turn. */
const TURN_BYTES = 16_384;

/** What clients ignore (HTML, 9.2.6: a line that begins with a colon). */
const BEAT = ':\n\n';

/** A request whose answer may be one: an `Exchange`. */
interface Sending {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: string;
  readonly from: number;
  readonly stream?: Stream;
  finish(): void;
}

/** An answer that is sent while it is made: what has come of it so far. */
export class Stream {
  /** Milliseconds from the request to the first byte. */
  readonly firstByteMs: number;
  /** Bytes of the body that were handed over for sending. */
  bytes = 0;
  /** When the last of them were, in milliseconds of `performance.now`. */
  private since = performance.now();
  /** Whether nothing is left unfinished, so that a comment may follow. */
  private isBetween = true;
  /** Bytes since its last turn. */
  private ofTurn = 0;
  /** What is held back until its next turn. */
  private held?: Socket;

  constructor(
    private readonly exchange: Sending,
    /** Whether it is one of server-sent events. */
    readonly isEvents: boolean,
  ) {
    this.firstByteMs = this.since - exchange.from;
  }

  get client(): string {
    return this.exchange.client;
  }

  wrote(chunk: unknown, encoding: unknown): void {
    this.since = performance.now();
    const isText = typeof chunk === 'string';
    const bytes = isText
      ? Buffer.byteLength(chunk, encoding as BufferEncoding)
      : ((chunk as Uint8Array | null)?.byteLength ?? 0);
    this.bytes += bytes;
    this.ofTurn += bytes;
    if (this.isEvents) this.isBetween = /\n\n$|^\n$/.test(tailOf(chunk));
    else if (this.ofTurn >= TURN_BYTES) this.hold();
  }

  /** Its turn has come: what was held back is sent, and its source asked for more, as Node does it when there is room again. */
  goOn(): boolean {
    const { held } = this;
    guard(held, () => this.release());
    return held !== undefined && !held.destroyed && held.writableLength === 0;
  }

  /** There is no more of it: what is held back is sent. */
  over(): void {
    turns.delete(this);
    this.release();
  }

  /** Nothing is sent until its next turn, so that the source finds that there is no room. */
  private hold(): void {
    const { socket } = this.exchange.response;
    if (this.held || !socket) return;
    this.held = socket;
    socket.cork();
    turns.add(this);
  }

  private release(): void {
    this.ofTurn = 0;
    this.held?.uncork();
    this.held = undefined;
  }

  /** Keeps it alive, or ends it. To be called now and then, with the present time. */
  check(now: number): void {
    const { request, response } = this.exchange;
    const pausedMs = now - this.since;
    // Unread, it is the connection's: `Connection.isUnread` knows whether its client reads on.
    if (response.writableLength > 0 || response.writableEnded) return;
    if (this.isEvents) {
      if (pausedMs >= BEAT_MS && this.isBetween) response.write(BEAT);
    } else if (pausedMs >= STALLED_MS) {
      logger.warn({ requestId: requestIdOf(response), msg: 'A stream was cut off: its source gave nothing' });
      cutOff(request.socket);
    }
  }
}

const logger = new Logger('Streams');

/** The end of what was written, as text. */
function tailOf(chunk: unknown): string {
  if (typeof chunk === 'string') return chunk.slice(-2);
  return chunk instanceof Uint8Array ? Buffer.from(chunk.subarray(-2)).toString('latin1') : '';
}

/**
 * The streams of a process. They are no work, however long they last: what bounds them is their number, and whoever has most
 * loses the oldest to a client with fewer, so that nobody's streams turn others away.
 */
export class Streams {
  private readonly held = new Shares<Sending>();
  private readonly timer = setInterval(() => this.check(), CHECK_MS).unref();
  private isDraining = false;

  get size(): number {
    return this.held.size;
  }

  /** Takes a stream until `delete`; false if there are too many, of which its client has its share. */
  add(exchange: Sending): boolean {
    const { held } = this;
    if (held.size >= STREAMS) {
      const [most, [oldest]] = held.longest()!;
      if (held.sizeOf(exchange.client) + 1 >= held.sizeOf(most)) return false;
      held.delete(most, oldest!);
      cutOff(oldest!.request.socket);
    }
    held.add(exchange.client, exchange);
    if (this.isDraining) setImmediate(() => this.finish(exchange));
    return true;
  }

  delete(exchange: Sending): void {
    this.held.delete(exchange.client, exchange);
  }

  /** The service is about to stop: streams of events, which have no end, end now, and their clients connect to another instance. */
  drain(): void {
    this.isDraining = true;
    for (const line of this.held.lines()) for (const exchange of [...line]) this.finish(exchange);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private finish(exchange: Sending): void {
    if (exchange.stream?.isEvents) guard(exchange.request.socket, () => exchange.finish());
  }

  private check(): void {
    const now = performance.now();
    for (const line of this.held.lines())
      for (const { request, stream } of [...line]) guard(request.socket, () => stream?.check(now));
  }
}

/**
 * The source of an answer has failed. Before its first byte, the answer is an Error; after it, the connection is closed: what
 * was sent must not look complete. It is logged once, whoever else is told.
 */
export function failStream(response: ServerResponse, error: unknown): void {
  const request = response.req as IncomingMessage & { errorCode?: ErrorCode };
  if (request.errorCode || response.writableEnded || isOfClient(error)) return;
  const code = isUnavailable(error) ? 'service_unavailable' : 'internal_error';
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const line = { requestId: requestIdOf(response), msg: `${code}: ${name}: ${message}` };
  if (code === 'internal_error') logger.error(line, stack?.slice(stack.indexOf('\n    at ') + 1));
  else logger.warn(line);
  request.errorCode = code;
  if (response.headersSent) response.destroy();
  else writeError(response, new ApiError(code));
}

/** Whether a stream has only failed because its client has gone. */
function isOfClient(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ERR_STREAM_DESTROYED';
}
