import { type IncomingMessage, ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { ApiError, type ErrorCode, type OperationFacts, requestIdOf } from '../api/index.js';
import { type Asker, TIMEOUTS } from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { guard } from './guarded-events.js';
import type { Client, Overload } from './overload.js';
import { writeError } from './refusals.js';
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
}

type Answer = ServerResponse & { exchange?: Exchange };

const late = new ThrottledWarning(
  new Logger('Deadline'),
  'Requests were not done in their time, and answered 503',
);

/** What is written to a response. */
type Chunk = [chunk: unknown, encoding?: unknown, callback?: unknown];

/**
 * A request and its answer. It counts as work until the answer has been written, however long its client reads; of an answer
 * that is sent while it is made, until its first byte has been.
 */
export class Exchange implements Asker {
  /** When the request arrived, in milliseconds of `performance.now`. */
  readonly from = performance.now();
  /** Whether it is not for Express. */
  isRefused = false;
  /** Whether a body is on its way that may take longer than others: it is timed by `Room`, and not by Node. */
  isTakingBody = false;
  /** Whether Node has found that it takes longer, which Node says of a request once. */
  isOverdue = false;
  /** Its answer, once a part of that was sent before the rest was there. */
  stream?: Stream;
  /** Whether the service has answered, or ended the answer, in the place of the handler: what that still sends goes nowhere. */
  private isCut = false;
  private isWork = false;
  private hasEnded = false;
  private ends?: (() => void)[];
  private deadline?: NodeJS.Timeout;
  /** Milliseconds that the work may take. */
  private time = TIMEOUTS.request;
  private counted?: Client;
  /** Milliseconds for which it was worked on before, and since when it is now. */
  private spent = 0;
  private since = this.from;

  constructor(
    readonly request: ObservedRequest,
    readonly response: ServerResponse,
    /** Where it comes from, as `networkOf` says. */
    readonly client: string,
    private readonly overload: Overload,
    private readonly streams: Streams,
  ) {
    (response as Answer).exchange = this;
    response.on('pipe', listenToSource);
  }

  static of(response: ServerResponse): Exchange | undefined {
    return (response as Answer).exchange;
  }

  /** Whether it has its answer, or its client has gone: what is done for it now is done for nobody. */
  get isOver(): boolean {
    return this.hasEnded || this.response.writableEnded;
  }

  /**
   * Begins or continues with the work; false if there is too much, or hardly any time is left: it has waited for those before
   * it on its connection, or was worked on before its body came. The time in which that comes does not count.
   */
  work(): boolean {
    if (this.isWork || this.stream || this.isOver) return true;
    if (this.counted) this.since = performance.now();
    this.counted ??= this.overload.enter(this.client);
    const left = this.time - this.spentNow();
    this.isWork = left > TIMEOUTS.taken && this.overload.admit(this.counted);
    if (this.isWork) this.deadline = setTimeout(expire, left, this);
    return this.isWork;
  }

  get hasOwnTime(): boolean {
    return this.time > TIMEOUTS.request;
  }

  whenOver(end: () => void): void {
    if (this.hasEnded) end();
    else (this.ends ??= []).push(end);
  }

  /** Gives the work another time than the usual one, in milliseconds. */
  takeTime(ms: number): void {
    this.time = ms;
    if (!this.isWork) return;
    clearTimeout(this.deadline);
    this.deadline = setTimeout(expire, Math.max(0, ms - this.spentNow()), this);
  }

  /** Milliseconds until the answer is due, if it has not begun. The time in which the client sends the body does not count. */
  get left(): number {
    if (this.stream) return Infinity;
    return this.time - (this.isWork || !this.counted ? this.spentNow() : this.spent);
  }

  /** There is nothing to do: all is done, or the client has to send something first. */
  rest(): void {
    if (!this.isWork) return;
    clearTimeout(this.deadline);
    this.spent = this.spentNow();
    this.isWork = false;
    this.overload.release(this.counted!);
  }

  /** The answer has been sent, or the client has gone. */
  end(): void {
    this.rest();
    this.hasEnded = true;
    for (const end of this.ends?.splice(0) ?? []) end();
    this.stream?.over();
    if (this.stream) this.streams.delete(this);
    else if (this.counted) this.overload.left(this.counted);
  }

  /**
   * Begins with an answer that is sent while it is made; false if there are too many, and the client is told so.
   * @param isEvents whether it is one of server-sent events, which nothing ends but either side
   */
  begin(isEvents: boolean): boolean {
    if (this.isCut) return false;
    if (this.stream || this.isOver) return true;
    if (!this.streams.add(this)) {
      this.cut(new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } }));
      return false;
    }
    this.rest();
    if (this.counted) this.overload.left(this.counted);
    this.stream = new Stream(this, isEvents);
    return true;
  }

  /** Ends an answer of the handler, with an error if it has not begun. */
  cut(error: ApiError): void {
    writeError(this.response, error);
    this.isCut = true;
  }

  /** Ends a stream that has no end of its own. */
  finish(): void {
    this.response.end();
    this.isCut = true;
  }

  /** In whole milliseconds: Node keeps a list of timers for each number of them. */
  private spentNow(): number {
    return this.spent + Math.floor(performance.now() - this.since);
  }

  /** Has the log say that the time was over before the answer was there. */
  ranOut(): void {
    const { method, route } = this.request;
    late.add(`${method} ${route?.path ?? 'of no route'}, request ${requestIdOf(this.response)}`);
  }
}

/** Answers for work that has taken too long. Whatever it still answers goes nowhere. */
function expire(exchange: Exchange): void {
  guard(exchange.request.socket, () => {
    exchange.ranOut();
    exchange.cut(new ApiError('service_unavailable'));
  });
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
    const [chunk, encoding] = args;
    this.exchange?.rest();
    if (typeof chunk !== 'function') this.exchange?.stream?.wrote(chunk, encoding);
    const ended = node.end.apply(this, args as Parameters<ServerResponse['end']>);
    this.exchange?.stream?.over();
    return ended;
  };
  prototype.write = function (this: Answer, ...args: Chunk) {
    if (!begins(this, this.getHeader('Content-Type'))) return false;
    this.exchange?.stream?.wrote(args[0], args[1]);
    return node.write.apply(this, args as Parameters<ServerResponse['write']>);
  };
  prototype.flushHeaders = function (this: Answer) {
    if (begins(this, this.getHeader('Content-Type'))) node.flushHeaders.call(this);
  };
  // Once the headers of events are made, no other answer can be given.
  prototype.writeHead = function (this: Answer, ...args: unknown[]) {
    const type = (args.at(-1) as Record<string, unknown> | null)?.['Content-Type'];
    if (EVENTS.test(String(type)) && !begins(this, type)) return this;
    return node.writeHead.apply(this, args as Parameters<ServerResponse['writeHead']>);
  };
}

function begins({ exchange }: Answer, type: unknown): boolean {
  return exchange?.begin(EVENTS.test(String(type))) !== false;
}

/** Nobody else may listen to the errors of what is piped into an answer, and Node ends a process at one that nobody hears. */
function listenToSource(this: ServerResponse, source: NodeJS.ReadableStream): void {
  source.once('error', (error: unknown) => failStream(this, error));
}
