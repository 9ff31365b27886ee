import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ApiError, type ErrorCode, type OperationFacts, requestIdOf } from '../api/index.js';
import { TIMEOUTS } from '../database/index.js';
import type { Payers, Work } from '../process/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { writeError } from './errors.js';
import { guard } from './guard.js';
import type { Quotas } from './quotas.js';
import { failStream, Stream } from './streams.js';

/** A request with the properties that Express, the guard and the error writer set. */
interface ObservedRequest extends IncomingMessage {
  /** The Express route, such as `/v1/pets/:petId`; undefined if none matched. */
  route?: { path: string };
  /** Set by the guard; undefined before. */
  operation?: OperationFacts;
  /** The account, once the guard has admitted the request. */
  accountId?: string;
  /** The code of an error answer. */
  errorCode?: ErrorCode;
  /** The parsed body; undefined once the answer has been sent. */
  body?: unknown;
  rawBody?: unknown;
  file?: unknown;
  files?: unknown;
}

type Answer = ServerResponse & { exchange?: Exchange };

/** A request's connection, which is charged to the request's account too. */
interface ChargedConnection {
  readonly quotas: Quotas;
  /** @returns false if the account holds too many connections already */
  chargeTo(account: string): boolean;
  /** Counts the waiting requests anew, as the current exchange may have become long. */
  count(): void;
  /** Registers a stream of events that has started. */
  addEvents(stream: Stream): void;
}

const overdue = new ThrottledWarning(new Logger('Deadline'), 'Requests missed their deadline (503)');

/**
 * The phase of a request:
 * - `waiting` for earlier requests on its connection, or for admission;
 * - `working`: the deadline runs;
 * - `reading`: the body is arriving, and the deadline is paused;
 * - `answering`: the answer is complete, and is being sent;
 * - `streaming`: the answer is sent while it is made;
 * - `over`: the answer has been sent, or the client has gone.
 */
type Phase = 'waiting' | 'working' | 'reading' | 'answering' | 'streaming' | 'over';

/** Bytes of memory for a waiting request, besides its headers: 5 kB of objects, and a reserve for garbage not yet collected. */
const REQUEST_BYTES = 16_000;

/** A request and its answer. */
export class Exchange implements Work {
  phase: Phase = 'waiting';
  /** The arrival of the request, in milliseconds of `performance.now`. */
  readonly arrivedAt = performance.now();
  /** The network of the client and, after authentication, the account. */
  payers: Payers;
  /** A streamed answer. */
  stream?: Stream;
  /** Why the request is refused before routing. */
  refusal?: ApiError;
  /** Whether the request was added to a `RoundRobin`, which must learn when the request is done. */
  isAdmitted = false;
  /** Whether `body.ts`, not Node, enforces the time limit of the body: Node reports an overdue request only once. */
  isUpload = false;
  /** Whether an upload has exceeded Node's time limit. */
  isOverdue = false;
  /** Whether the exchange is counted in the quota of requests. */
  private isCounted = false;
  /** Bytes of memory that the exchange holds for itself while waiting, for its body, or for its unread answer. */
  private memory = 0;
  private bodyBytes = 0;
  /** Releases other resources of the exchange. */
  private cleanups?: (() => void)[];
  /** Milliseconds until the first byte of the answer. */
  private limitMs = TIMEOUTS.request;
  /** The deadline, in milliseconds of `performance.now`; while `reading`, the milliseconds left. */
  private due = this.arrivedAt + this.limitMs;
  private deadline?: NodeJS.Timeout;
  private readonly quotas: Quotas;

  /** @param network of the client */
  constructor(
    readonly request: ObservedRequest,
    readonly response: ServerResponse,
    readonly network: string,
    private readonly connection: ChargedConnection,
  ) {
    this.payers = [network];
    this.quotas = connection.quotas;
    (response as Answer).exchange = this;
    response.on('pipe', listenToSource);
  }

  static of(response: ServerResponse): Exchange | undefined {
    return (response as Answer).exchange;
  }

  /** Whether the request has its answer, or its client has gone. */
  get isOver(): boolean {
    return this.phase === 'answering' || this.phase === 'over';
  }

  get hasOwnTime(): boolean {
    return this.limitMs > TIMEOUTS.request;
  }

  /** Whether the exchange may exceed the usual time limit, as its operation may, or as its client reads slowly. */
  get isLong(): boolean {
    return this.hasOwnTime || this.phase === 'streaming' || this.phase === 'answering';
  }

  /** Milliseconds until the deadline; infinite once the answer has started. */
  get left(): number {
    if (this.phase === 'streaming') return Infinity;
    return this.phase === 'reading' ? this.due : this.due - performance.now();
  }

  /**
   * Holds memory while the request waits for earlier ones; false if its client holds too much memory. Ignores the body, which
   * is part of the chunk that Node has read.
   */
  wait(): boolean {
    return this.tryHold(this.request.rawHeaders.reduce((size, text) => size + text.length, REQUEST_BYTES));
  }

  /** Starts the work; false if its client has too many requests under way, or if waiting has left hardly any time. */
  admit(): boolean {
    if (this.memory > 0) this.tryHold(0);
    return this.left > TIMEOUTS.abortMargin && this.startWork();
  }

  /** From now on, charges the account too. @throws ApiError `service_unavailable` if the account is over its quota */
  chargeTo(account: string): void {
    if (!this.connection.chargeTo(account)) throw tooMuch();
    if (this.isCounted && !this.quotas.requests.tryCharge(account)) throw tooMuch();
    this.payers = [this.network, account];
  }

  /** Pauses the deadline while the body arrives; meanwhile, the request is charged only for its memory. */
  pause(): void {
    if (this.phase !== 'working') return;
    this.due -= performance.now();
    this.endWork('reading');
  }

  /** Continues with the arrived body. @throws ApiError `service_unavailable` if the client has too many requests under way */
  resume(): void {
    if (this.phase !== 'reading') return;
    this.due += performance.now();
    if (!this.startWork()) throw tooMuch();
  }

  /** Sets the milliseconds until the first byte of the answer, from the arrival of the request. */
  setTimeLimit(ms: number): void {
    this.due += ms - this.limitMs;
    this.limitMs = ms;
    this.connection.count();
    if (this.phase !== 'working') return;
    clearTimeout(this.deadline);
    this.startDeadline();
  }

  whenOver(cleanup: () => void): void {
    if (this.phase === 'over') cleanup();
    else (this.cleanups ??= []).push(cleanup);
  }

  /**
   * Reserves memory for the body until the answer has been sent; waits for free memory until the deadline.
   * @throws ApiError `service_unavailable` if too little is free by then; `request_timeout` if the exchange is over
   */
  async reserveMemory(bytes: number): Promise<void> {
    const { payers, quotas } = this;
    const count = Math.min(bytes, quotas.bytes.half);
    await quotas.bytes.acquire(payers, Math.max(0, this.left - TIMEOUTS.abortMargin), tooMuch, count);
    if (this.isOver) {
      quotas.bytes.release(payers, count);
      throw new ApiError('request_timeout');
    }
    this.memory = this.bodyBytes = count;
  }

  /** Answers with an error, unless the answer is complete; cuts off an answer that has only started. */
  fail(error: ApiError): void {
    if (!this.isOver) writeError(this.response, error);
  }

  /** Marks the answer as complete; the handler's later output is dropped. */
  answered(): void {
    this.endWork('answering');
  }

  /** Ends the exchange: the answer has been sent, or the client has gone. */
  close(): void {
    this.endWork('over');
    // Frees the bodies: a connection, which may stay idle for long, keeps its last request.
    const { request } = this;
    if (request.rawBody !== undefined || request.body !== undefined)
      request.rawBody = request.body = undefined;
    if (request.file || request.files) request.file = request.files = undefined;
    this.bodyBytes = 0;
    this.tryHold(0);
    for (const cleanup of this.cleanups?.splice(0) ?? []) cleanup();
    if (!this.stream) return;
    this.stream.close();
    this.quotas.streams.release(this.payers);
  }

  /**
   * Starts to stream the answer.
   * @param type media type of the answer
   * @returns false if the request has its answer, or if its client has too many streams already
   */
  tryStream(type: unknown): boolean {
    if (this.phase === 'streaming') return true;
    if (this.isOver) return false;
    if (!this.quotas.streams.tryAcquire(this.payers)) {
      this.fail(tooMuch());
      return false;
    }
    this.endWork('streaming');
    const isEvents = EVENTS.test(String(type));
    this.stream = new Stream(this.response, this.arrivedAt, isEvents);
    if (isEvents) {
      this.connection.addEvents(this.stream);
      // Sets the timeout that Nest turned off; a client that reads the heartbeats keeps resetting it.
      this.request.socket.setTimeout(IDLE_MS);
    }
    this.response.on('drain', () => this.chargeUnread());
    return true;
  }

  /**
   * Holds memory for the unread bytes of the answer, or for the body if the body is larger; cuts the connection off if its
   * client holds too much memory. An answer counts as at most half of the quota, so that a client that holds nothing else can
   * get an answer of any size; a stream of events has no such maximum.
   */
  chargeUnread(): void {
    if (this.phase === 'over') return;
    this.connection.count();
    const { writableLength } = this.response;
    const unread = this.stream?.isEvents ? writableLength : Math.min(writableLength, this.quotas.bytes.half);
    if (!this.tryHold(Math.max(unread, this.bodyBytes))) cutOff(this.request.socket);
  }

  /** Sets the memory that the exchange holds; false, without a change, if the client may not hold so much. */
  private tryHold(bytes: number): boolean {
    const { quotas, payers, memory } = this;
    const more = bytes - memory;
    if (more > 0 && !quotas.bytes.tryAcquire(payers, more)) return false;
    if (more < 0) quotas.bytes.release(payers, -more);
    this.memory = bytes;
    return true;
  }

  private startWork(): boolean {
    this.phase = 'working';
    this.isCounted = this.quotas.requests.tryAcquire(this.payers);
    if (this.isCounted) this.startDeadline();
    return this.isCounted;
  }

  private endWork(phase: Phase): void {
    clearTimeout(this.deadline);
    if (this.isCounted) this.quotas.requests.release(this.payers);
    this.isCounted = false;
    this.phase = phase;
  }

  /** Rounds to whole milliseconds, because Node keeps one list of timers per duration. */
  private startDeadline(): void {
    this.deadline = setTimeout(expire, Math.max(0, Math.ceil(this.left)), this);
  }
}

function expire(exchange: Exchange): void {
  const { request, response } = exchange;
  guard(request.socket, () => {
    overdue.add(
      `${request.method} ${request.route?.path ?? 'without a route'}, request ${requestIdOf(response)}`,
    );
    exchange.fail(new ApiError('service_unavailable'));
  });
}

/** The error for a client that is over a quota. Closes the connection, as the rest of the request is not read. */
function tooMuch(): ApiError {
  return new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } });
}

/** Milliseconds without traffic after which Node reports a socket as idle. */
export const IDLE_MS = 10_000;

/**
 * Resets a connection, which frees its unsent bytes in the kernel. A connection that is ending is closed instead, as libuv
 * refuses to reset it, and Node would then lose track of the open socket.
 */
export function cutOff(socket: IncomingMessage['socket']): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** The media type of events; parameters such as a charset may follow (RFC 9110, 8.3). */
const EVENTS = /^text\/event-stream\b/i;

/**
 * Makes responses with this prototype report to their exchange when the answer is complete or is streamed. Node's own events
 * come only after the client has read the answer.
 */
export function observeAnswers(prototype: ServerResponse): void {
  const node = ServerResponse.prototype;
  prototype.end = function (this: Answer, ...args: unknown[]) {
    const { exchange } = this;
    if (!exchange) return node.end.apply(this, args as Parameters<ServerResponse['end']>);
    if (exchange.isOver) return this;
    const [chunk, encoding] = args;
    if (typeof chunk !== 'function') exchange.stream?.wrote(chunk, encoding);
    exchange.answered();
    node.end.apply(this, args as Parameters<ServerResponse['end']>);
    exchange.chargeUnread();
    return this;
  };
  prototype.write = function (this: Answer, ...args: [chunk: unknown, encoding?: unknown, done?: unknown]) {
    if (!mayStream(this, this.getHeader('Content-Type'))) return false;
    const { exchange } = this;
    const stream = exchange?.stream;
    if (stream?.isEvents) args[0] = withoutId(args[0]);
    stream?.wrote(args[0], args[1]);
    const isDrained = node.write.apply(this, args as Parameters<ServerResponse['write']>);
    exchange?.chargeUnread();
    return isDrained;
  };
  prototype.flushHeaders = function (this: Answer) {
    if (mayStream(this, this.getHeader('Content-Type'))) node.flushHeaders.call(this);
  };
  // Checks a stream of events before its headers are sent: after them, no error can be sent.
  prototype.writeHead = function (this: Answer, ...args: unknown[]) {
    const type = (args.at(-1) as Record<string, unknown> | null)?.['Content-Type'];
    if (EVENTS.test(String(type)) && !mayStream(this, type)) return this;
    return node.writeHead.apply(this, args as Parameters<ServerResponse['writeHead']>);
  };
}

/** Removes the id that Nest gives its error event: the client would reconnect with it as `Last-Event-ID`. */
function withoutId(chunk: unknown): unknown {
  const isError = typeof chunk === 'string' && chunk.startsWith('event: error\nid: ');
  return isError ? chunk.replace(/^id: .*\n/m, '') : chunk;
}

function mayStream({ exchange }: Answer, type: unknown): boolean {
  return exchange?.tryStream(type) !== false;
}

/** Handles errors of a stream that is piped into an answer: Node ends the process at an unhandled error. */
function listenToSource(this: Answer, source: Readable): void {
  source.once('error', (error: unknown) => guard(this.req.socket, () => failStream(this, error)));
  // Closes the source, which nothing will read: its file would stay open.
  if (this.exchange?.isOver) source.unpipe(this).destroy();
}
