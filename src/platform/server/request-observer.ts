import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode, OperationFacts } from '../api/index.js';

/** A request as it is once it has been answered. */
export interface ObservedRequest extends IncomingMessage {
  /** The Express route that took it, with its path such as `/v1/pets/:petId`; undefined if none did. */
  route?: { path: string };
  /** What its controller declares; undefined if it has not come to one. */
  operation?: OperationFacts;
  /** Its account, if the guard has let it in. */
  accountId?: string;
}

/** Why a request was refused before Express: a code of the Error, or that there were too many. */
export type Refusal = ErrorCode | 'overloaded';

/** Is notified of the outcome of each request, so it has to be quick. */
export interface RequestObserver {
  /** The answer has been sent, or its client has gone. */
  closed(request: ObservedRequest, response: ServerResponse, durationMs: number): void;
  /** A request was refused before it reached Express; one refused in the middle of its body is also `closed`. */
  refused(reason: Refusal): void;
}
