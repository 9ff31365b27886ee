import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ApiError, clientNetwork, type ErrorCode, type OperationFacts, requestIdOf } from '../api/index.js';
import { type Asker, TIMEOUTS } from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { writeError } from './errors.js';
import { guard } from './guarded-events.js';
import type { Quotas } from './quotas.js';
import { failStream, Stream, type Streams } from './streams.js';

/** A request as it is once it has been answered. */
export interface ObservedRequest extends IncomingMessage {
  /** The Express route that took it, with its path such as `/v1/pets/:petId`; undefined if none did. */
  route?: { path: string };
  /** What its controller declares; undefined if it has not come to one. */
  operation?: OperationFacts;
  /** Its account, if the guard has let it in. */
  accountId?: string;
  /** Of the error that it was answered with. */
  errorCode?: ErrorCode;
  /** What it sent, as long as it is worked on. */
  body?: unknown;
  rawBody?: unknown;
}

type Answer = ServerResponse & { exchange?: Exchange };

const late = new ThrottledWarning(
  new Logger('Deadline'),
  'Requests were not done in their time, and answered 503',
);

/**
 * What happens to a request:
 * - `waiting` for those before it on its connection, or to be let in;
 * - `working`: it counts as one of the requests that the process works on, and its deadline runs;
 * - `reading`: its body is on its way, and the deadline stands still;
 * - `answering`: its answer is complete, and is being sent;
 * - `streaming`: its answer is sent while it is made;
 * - `over`: its answer has been sent, or its client has gone.
 */
type Phase = 'waiting' | 'working' | 'reading' | 'answering' | 'streaming' | 'over';

/** A request and its answer. */
export class Exchange implements Asker {
  phase: Phase = 'waiting';
  /** When the request arrived, in milliseconds of `performance.now`. */
  readonly from = performance.now();
  /** Its answer, if that was sent while it was made. */
  stream?: Stream;
  /** Whether it was refused unheard. */
  isRefused = false;
  /** Whether its body is timed by `body.ts`, and not by Node, which times a request once. */
  isUpload = false;
  /** Whether Node has found that it takes longer. */
  isOverdue = false;
  private readonly network: string;
  private account?: string;
  /** Who is charged for the work, while it is `working`. */
  private charged?: string;
  /** Gives back what the exchange holds beside that. */
  private ends?: (() => void)[];
  /** Milliseconds that it has until the first byte of its answer. */
  private time = TIMEOUTS.request;
  /** When that is due, in milliseconds of `performance.now`; what is left of it while it is `reading`. */
  private due = this.from + this.time;
  private deadline?: NodeJS.Timeout;

  /**
   * @param network where the connection comes from
   * @param isProxied whether that is a proxy, and the headers of the request name the client
   */
  constructor(
    readonly request: ObservedRequest,
    readonly response: ServerResponse,
    network: string,
    isProxied: boolean,
    private readonly quotas: Quotas,
    private readonly streams: Streams,
  ) {
    this.network = isProxied ? clientNetwork(request as Parameters<typeof clientNetwork>[0]) : network;
    (response as Answer).exchange = this;
    response.on('pipe', listenToSource);
  }

  static of(response: ServerResponse): Exchange | undefined {
    return (response as Answer).exchange;
  }

  /** The caller: the account once it is known, before that the network of its address. */
  get client(): string {
    return this.account ?? this.network;
  }

  /** Whether it has its answer, or its client has gone: what is done for it now is done for nobody. */
  get isOver(): boolean {
    return this.phase === 'answering' || this.phase === 'over';
  }

  get hasOwnTime(): boolean {
    return this.time > TIMEOUTS.request;
  }

  /** Milliseconds until the answer is due, if it has not begun. */
  get left(): number {
    if (this.phase === 'streaming') return Infinity;
    return this.phase === 'reading' ? this.due : this.due - performance.now();
  }

  /** Begins with the work; false if its caller has too much of it, or hardly any time is left, as it has waited. */
  begin(): boolean {
    return this.left > TIMEOUTS.abortMargin && this.work();
  }

  /** The account is known that is charged from now on. @throws ApiError `service_unavailable` where it has too much */
  belongTo(account: string): void {
    const isCharged = this.charged !== undefined;
    if (this.isOver || !isCharged) {
      this.account = account;
      return;
    }
    this.discharge();
    this.account = account;
    if (!this.charge()) throw tooMuch();
  }

  /** The body is on its way, and there is nothing to do. */
  pause(): void {
    if (this.phase !== 'working') return;
    this.due -= performance.now();
    this.rest('reading');
  }

  /** The body is there. @throws ApiError `service_unavailable` if its caller has too much work */
  resume(): void {
    if (this.phase !== 'reading') return;
    this.due += performance.now();
    if (!this.work()) throw tooMuch();
  }

  /** Gives the work another time than the usual one, in milliseconds. */
  takeTime(ms: number): void {
    this.due += ms - this.time;
    this.time = ms;
    if (this.phase !== 'working') return;
    clearTimeout(this.deadline);
    this.startDeadline();
  }

  whenOver(end: () => void): void {
    if (this.phase === 'over') end();
    else (this.ends ??= []).push(end);
  }

  /**
   * Takes memory until the end, as soon as the caller may have it.
   * @throws ApiError `service_unavailable` after so many milliseconds; `request_timeout` if it is over
   */
  async hold(bytes: number, patienceMs: number): Promise<void> {
    const { client, quotas } = this;
    const count = Math.min(bytes, quotas.bytes.half);
    await quotas.bytes.take(client, patienceMs, tooMuch, count);
    this.whenOver(() => quotas.bytes.giveBack(client, count));
    if (this.isOver) throw new ApiError('request_timeout');
  }

  /** Answers with an error, unless there is an answer; where one has begun, it is cut off. */
  fail(error: ApiError): void {
    if (!this.isOver) writeError(this.response, error);
  }

  /** Has the log say that the time was over before the answer was there. */
  ranOut(): void {
    const { method, route } = this.request;
    late.add(`${method} ${route?.path ?? 'of no route'}, request ${requestIdOf(this.response)}`);
  }

  /** There is an answer, past the response or by its `end`: what the handler sends later is dropped. */
  answered(): void {
    this.rest('answering');
  }

  /** The answer has been sent, or the client has gone. */
  close(): void {
    this.rest('over');
    // The connection, which may be idle for long, holds its last request.
    if (this.request.body !== undefined) this.request.body = this.request.rawBody = undefined;
    for (const end of this.ends?.splice(0) ?? []) end();
    if (this.stream) {
      this.streams.delete(this.stream);
      this.quotas.streams.giveBack(this.charged);
      this.charged = undefined;
    }
  }

  /**
   * Part of the answer is to be sent before the rest is there.
   * @param type its media type
   * @returns whether it may be: not if there is an answer already, or too many are sent like that
   */
  sends(type: unknown): boolean {
    if (this.phase === 'streaming') return true;
    if (this.isOver) return false;
    if (!this.quotas.streams.tryTake(this.client)) {
      this.fail(tooMuch());
      return false;
    }
    this.rest('streaming');
    this.charged = this.client;
    const isEvents = EVENTS.test(String(type));
    this.stream = new Stream(this.request, this.response, this.from, isEvents);
    this.streams.add(this.stream);
    // Nest takes the time-out from a stream of events, whose beats would refresh it as long as they are read.
    if (isEvents) this.request.socket.setTimeout(IDLE_MS);
    return true;
  }

  /** Charges the caller for what of the answer waits to be read; cuts the connection off where that is too much. */
  holdUnread(): void {
    const { response, client, quotas } = this;
    const bytes = response.writableLength;
    if (bytes === 0 || this.phase !== 'answering') return;
    if (!quotas.bytes.tryTake(client, bytes)) return cutOff(this.request.socket);
    this.whenOver(() => quotas.bytes.giveBack(client, bytes));
  }

  private work(): boolean {
    this.phase = 'working';
    if (!this.charge()) return false;
    this.startDeadline();
    return true;
  }

  private charge(): boolean {
    if (!this.quotas.requests.tryTake(this.client)) return false;
    this.charged = this.client;
    return true;
  }

  private discharge(): void {
    this.quotas.requests.giveBack(this.charged);
    this.charged = undefined;
  }

  /** There is nothing to do any more, or for a while. */
  private rest(phase: Phase): void {
    if (this.phase === 'working') {
      clearTimeout(this.deadline);
      if (this.charged !== undefined) this.discharge();
    }
    this.phase = phase;
  }

  /** In whole milliseconds: Node keeps a list of timers for each number of them. */
  private startDeadline(): void {
    this.deadline = setTimeout(expire, Math.max(0, Math.ceil(this.left)), this);
  }
}

/** Answers for work that has taken too long. */
function expire(exchange: Exchange): void {
  guard(exchange.request.socket, () => {
    exchange.ranOut();
    exchange.fail(new ApiError('service_unavailable'));
  });
}

/** A client that sends on is not listened to. */
function tooMuch(): ApiError {
  return new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } });
}

/** After how many milliseconds without use a socket is looked at. */
export const IDLE_MS = 10_000;

/**
 * Closes a connection with a reset: what waits to be sent would else keep its memory in the kernel. One that is ending is
 * closed without: libuv refuses to reset it, and Node would forget it while it is open and goes on reading.
 */
export function cutOff(socket: IncomingMessage['socket']): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** RFC 9110, 8.3: parameters such as a charset may follow. */
const EVENTS = /^text\/event-stream\b/i;

/**
 * Lets responses with this prototype tell their exchange when an answer is complete, which no event does before it is read, and
 * when one begins that is sent in parts.
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
    exchange.holdUnread();
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
  // Once the headers of events are made, no other answer can be given.
  prototype.writeHead = function (this: Answer, ...args: unknown[]) {
    const type = (args.at(-1) as Record<string, unknown> | null)?.['Content-Type'];
    if (EVENTS.test(String(type)) && !mayStream(this, type)) return this;
    return node.writeHead.apply(this, args as Parameters<ServerResponse['writeHead']>);
  };
}

/**
 * An event by which Nest tells of a failed source, without the id that Nest counts: the client would come back with that as its
 * `Last-Event-ID`, in the place of the last one that it was sent.
 */
function withoutId(chunk: unknown): unknown {
  const isError = typeof chunk === 'string' && chunk.startsWith('event: error\nid: ');
  return isError ? chunk.replace(/^id: .*\n/m, '') : chunk;
}

function mayStream({ exchange }: Answer, type: unknown): boolean {
  return exchange?.sends(type) !== false;
}

/** Nobody else may listen to the errors of a source that is piped into an answer, and Node ends a process at an unheard one. */
function listenToSource(this: Answer, source: Readable): void {
  source.once('error', (error: unknown) => failStream(this, error));
  // Nobody reads it any more: its file would stay open.
  if (this.exchange?.isOver) source.unpipe(this).destroy();
}
