import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../common/api-error.js';

/** A request as it is when its answer is out. */
export interface ObservedRequest extends IncomingMessage {
  /** The route of Express that took it; left out where none did. */
  route?: object;
  /** Whose it is, where the guard has let it in. */
  accountId?: string;
}

/** Why a request was refused before Express had it: a code of the Error, or that there were too many. */
export type Refusal = ErrorCode | 'overloaded';

/** Is told what becomes of requests. It is called for each of them, so it has to be quick. */
export interface RequestObserver {
  /** The answer is out, or its client has gone. */
  closed(request: ObservedRequest, response: ServerResponse, durationMs: number): void;
  /** A request was refused before it came to Express; one that is refused in the middle of its body is also `closed`. */
  refused(reason: Refusal): void;
}
