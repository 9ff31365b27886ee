import { type IncomingMessage, ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { ApiError, type ErrorCode, type OperationFacts, requestIdOf } from '../api/index.js';
import { type Asker, TIMEOUTS } from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { guard } from './guarded-events.js';
import type { Client, Overload } from './overload.js';
import { writeError } from './refusals.js';

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
  `Requests were not done within ${TIMEOUTS.request} ms, and answered 503`,
);

/** A request and its answer. It counts as work until the answer has been written, however long its client reads. */
export class Exchange implements Asker {
  /** When the request arrived, in milliseconds of `performance.now`. */
  readonly from = performance.now();
  /** Whether it is not for Express. */
  isRefused = false;
  private isWork = false;
  private hasEnded = false;
  private deadline?: NodeJS.Timeout;
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
  ) {
    (response as Answer).exchange = this;
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
    if (this.isWork || this.isOver) return true;
    if (this.counted) this.since = performance.now();
    this.counted ??= this.overload.enter(this.client);
    const left = TIMEOUTS.request - this.spentNow();
    this.isWork = left > TIMEOUTS.taken && this.overload.admit(this.counted);
    if (this.isWork) this.deadline = setTimeout(expire, left, this);
    return this.isWork;
  }

  /** Milliseconds until the answer is due. The time in which the client sends the body does not count. */
  get left(): number {
    return TIMEOUTS.request - (this.isWork || !this.counted ? this.spentNow() : this.spent);
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
    if (this.counted) this.overload.left(this.counted);
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
    writeError(exchange.response, new ApiError('service_unavailable'));
  });
}

/** Lets responses with this prototype tell their exchange when an answer is complete; no event does before it is read. */
export function restAtEnd(prototype: ServerResponse): void {
  prototype.end = function (this: Answer, ...args: unknown[]) {
    this.exchange?.rest();
    return ServerResponse.prototype.end.apply(this, args as Parameters<ServerResponse['end']>);
  };
}
