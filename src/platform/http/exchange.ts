import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ApiError, type ErrorCode, type OperationFacts, requestIdOf } from '../api/index.js';
import { type Asker, TIMEOUTS } from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { writeError } from './errors.js';
import { guard } from './guarded-events.js';
import type { Quotas } from './quotas.js';
import { failStream, Stream, type Streams } from './streams.js';

/** A request with the properties that Express, the guard and the error writer set. */
interface ObservedRequest extends IncomingMessage {
  /** The Express route, such as `/v1/pets/:petId`; undefined if none matched. */
  route?: { path: string };
  /** Undefined before the guard. */
  operation?: OperationFacts;
  /** The account, once the guard has admitted the request. */
  accountId?: string;
  /** The code of an error answer. */
  errorCode?: ErrorCode;
  /** Undefined once the answer has been sent. */
  body?: unknown;
  rawBody?: unknown;
  file?: unknown;
  files?: unknown;
}

type Answer = ServerResponse & { exchange?: Exchange };

const overdue = new ThrottledWarning(new Logger('Deadline'), 'Requests missed their deadline (503)');

/**
 * The phase of a request:
 * - `waiting` for earlier requests on its connection, or for admission;
 * - `working`: counts against the quota of requests, and the deadline runs;
 * - `reading`: the body is arriving, and the deadline is paused;
 * - `answering`: the answer is complete, and is being sent;
 * - `streaming`: the answer is sent while it is made;
 * - `over`: the answer has been sent, or the client has gone.
 */
type Phase = 'waiting' | 'working' | 'reading' | 'answering' | 'streaming' | 'over';

/** A request and its answer. */
export class Exchange implements Asker {
  phase: Phase = 'waiting';
  /** The arrival of the request, in milliseconds of `performance.now`. */
  readonly from = performance.now();
  /** A streamed answer. */
  stream?: Stream;
  /** Whether the request was refused before routing. */
  isRefused = false;
  /** Whether `body.ts` times the body instead of Node, which times a request only once. */
  isUpload = false;
  /** Whether an upload has exceeded Node's time limit. */
  isOverdue = false;
  private account?: string;
  /** The caller that is charged for the work or the stream. */
  private charged?: string;
  /** Bytes of memory that the exchange holds, for its body and its unread answer; and the caller whose they are. */
  private memory = 0;
  private bodyBytes = 0;
  private holder?: string;
  /** Releases other resources of the exchange. */
  private cleanups?: (() => void)[];
  /** Milliseconds until the first byte of the answer. */
  private limitMs = TIMEOUTS.request;
  /** The deadline, in milliseconds of `performance.now`; while `reading`, the milliseconds left. */
  private due = this.from + this.limitMs;
  private deadline?: NodeJS.Timeout;

  /** @param network of the client */
  constructor(
    readonly request: ObservedRequest,
    readonly response: ServerResponse,
    private readonly network: string,
    private readonly quotas: Quotas,
    private readonly streams: Streams,
  ) {
    (response as Answer).exchange = this;
    response.on('pipe', listenToSource);
  }

  static of(response: ServerResponse): Exchange | undefined {
    return (response as Answer).exchange;
  }

  /** The account after authentication, before it the network. */
  get client(): string {
    return this.account ?? this.network;
  }

  /** Whether the request has its answer, or its client has gone. */
  get isOver(): boolean {
    return this.phase === 'answering' || this.phase === 'over';
  }

  get hasOwnTime(): boolean {
    return this.limitMs > TIMEOUTS.request;
  }

  /** Milliseconds until the deadline; infinite once the answer has started. */
  get left(): number {
    if (this.phase === 'streaming') return Infinity;
    return this.phase === 'reading' ? this.due : this.due - performance.now();
  }

  /** Starts the work; false if the caller's quota is used up, or hardly any time is left after waiting. */
  admit(): boolean {
    return this.left > TIMEOUTS.abortMargin && this.startWork();
  }

  /** Charges the account from now on. @throws ApiError `service_unavailable` if its quota is used up */
  chargeTo(account: string): void {
    const isCharged = !this.isOver && this.charged !== undefined;
    if (isCharged) this.discharge();
    this.account = account;
    if (isCharged && !this.charge()) throw tooMuch();
  }

  /** Pauses the deadline and the charge while the body arrives. */
  pause(): void {
    if (this.phase !== 'working') return;
    this.due -= performance.now();
    this.endWork('reading');
  }

  /** Continues with the body. @throws ApiError `service_unavailable` if the caller's quota is used up */
  resume(): void {
    if (this.phase !== 'reading') return;
    this.due += performance.now();
    if (!this.startWork()) throw tooMuch();
  }

  /** Sets the milliseconds until the first byte of the answer, from the arrival of the request. */
  setTimeLimit(ms: number): void {
    this.due += ms - this.limitMs;
    this.limitMs = ms;
    if (this.phase !== 'working') return;
    clearTimeout(this.deadline);
    this.startDeadline();
  }

  whenOver(cleanup: () => void): void {
    if (this.phase === 'over') cleanup();
    else (this.cleanups ??= []).push(cleanup);
  }

  /**
   * Reserves memory for the body until the answer has been sent; waits until the caller's quota allows it.
   * @throws ApiError `service_unavailable` after `waitMs`; `request_timeout` if the exchange is over
   */
  async reserveMemory(bytes: number, waitMs: number): Promise<void> {
    const { client, quotas } = this;
    const count = Math.min(bytes, quotas.bytes.half);
    await quotas.bytes.acquire(client, waitMs, tooMuch, count);
    if (this.isOver) {
      quotas.bytes.release(client, count);
      throw new ApiError('request_timeout');
    }
    this.holder = client;
    this.memory = this.bodyBytes = count;
  }

  /** Answers with an error, unless the request has its answer; cuts off an answer that has started. */
  fail(error: ApiError): void {
    if (!this.isOver) writeError(this.response, error);
  }

  /** Logs that the request has missed its deadline. */
  ranOut(): void {
    const { method, route } = this.request;
    overdue.add(`${method} ${route?.path ?? 'without a route'}, request ${requestIdOf(this.response)}`);
  }

  /** The answer is complete; the handler's later output is dropped. */
  answered(): void {
    this.endWork('answering');
  }

  /** The answer has been sent, or the client has gone. */
  close(): void {
    this.endWork('over');
    // The connection, which may stay idle for long, refers to its last request.
    const { request } = this;
    if (request.rawBody !== undefined || request.body !== undefined)
      request.rawBody = request.body = undefined;
    if (request.file || request.files) request.file = request.files = undefined;
    this.bodyBytes = 0;
    this.tryHold(0);
    for (const cleanup of this.cleanups?.splice(0) ?? []) cleanup();
    if (this.stream) {
      this.streams.delete(this.stream);
      this.quotas.streams.release(this.charged);
      this.charged = undefined;
    }
  }

  /**
   * Starts to stream the answer.
   * @param type media type of the answer
   * @returns false if the request has its answer, or the caller's quota of streams is used up
   */
  tryStream(type: unknown): boolean {
    if (this.phase === 'streaming') return true;
    if (this.isOver) return false;
    if (!this.quotas.streams.tryAcquire(this.client)) {
      this.fail(tooMuch());
      return false;
    }
    this.endWork('streaming');
    this.charged = this.client;
    const isEvents = EVENTS.test(String(type));
    this.stream = new Stream(this.request, this.response, this.from, isEvents);
    this.streams.add(this.stream);
    // Nest turns the time-out off; a client that reads the heartbeats keeps refreshing it.
    if (isEvents) this.request.socket.setTimeout(IDLE_MS);
    return true;
  }

  /**
   * Holds memory for the unread bytes of the answer, or for the body if that takes more; cuts the connection off if the caller's
   * quota is used up. A longer answer counts as half of the quota, so that a caller with nothing else gets it.
   */
  chargeUnread(): void {
    const unread = Math.min(this.response.writableLength, this.quotas.bytes.half);
    if (this.phase === 'answering' && !this.tryHold(Math.max(unread, this.bodyBytes)))
      cutOff(this.request.socket);
  }

  /** Holds this much memory from now on; false, with no change, if the caller's quota is used up. */
  private tryHold(bytes: number): boolean {
    const quota = this.quotas.bytes;
    const more = bytes - this.memory;
    if (more > 0 && !quota.tryAcquire((this.holder ??= this.client), more)) return false;
    if (more < 0) quota.release(this.holder, -more);
    this.memory = bytes;
    return true;
  }

  private startWork(): boolean {
    this.phase = 'working';
    if (!this.charge()) return false;
    this.startDeadline();
    return true;
  }

  private charge(): boolean {
    if (!this.quotas.requests.tryAcquire(this.client)) return false;
    this.charged = this.client;
    return true;
  }

  private discharge(): void {
    this.quotas.requests.release(this.charged);
    this.charged = undefined;
  }

  private endWork(phase: Phase): void {
    if (this.phase === 'working') {
      clearTimeout(this.deadline);
      if (this.charged !== undefined) this.discharge();
    }
    this.phase = phase;
  }

  /** In whole milliseconds: Node keeps one list of timers per duration. */
  private startDeadline(): void {
    this.deadline = setTimeout(expire, Math.max(0, Math.ceil(this.left)), this);
  }
}

function expire(exchange: Exchange): void {
  guard(exchange.request.socket, () => {
    exchange.ranOut();
    exchange.fail(new ApiError('service_unavailable'));
  });
}

/** Closes the connection too: the rest of the request is not read. */
function tooMuch(): ApiError {
  return new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } });
}

/** Milliseconds without traffic after which Node reports a socket. */
export const IDLE_MS = 10_000;

/**
 * Resets a connection, which frees its unsent bytes in the kernel. A connection that is ending is closed instead: libuv
 * refuses the reset, and Node would lose track of the open socket.
 */
export function cutOff(socket: IncomingMessage['socket']): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** Parameters such as a charset may follow (RFC 9110, 8.3). */
const EVENTS = /^text\/event-stream\b/i;

/**
 * Has responses with this prototype report to their exchange that the answer is complete (Node's events come only after the
 * client has read it) or is streamed.
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
    const stream = this.exchange?.stream;
    if (stream?.isEvents) args[0] = withoutId(args[0]);
    stream?.wrote(args[0], args[1]);
    return node.write.apply(this, args as Parameters<ServerResponse['write']>);
  };
  prototype.flushHeaders = function (this: Answer) {
    if (mayStream(this, this.getHeader('Content-Type'))) node.flushHeaders.call(this);
  };
  // After the headers of a stream of events, no error can be answered.
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
  source.once('error', (error: unknown) => failStream(this, error));
  // Nothing will read the source: its file would stay open.
  if (this.exchange?.isOver) source.unpipe(this).destroy();
}
