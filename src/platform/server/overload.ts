import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../api/api-error.js';
import { PROBES } from '../telemetry/probes.js';
import { asResponse } from './error-response.js';

const LIMITS = {
  /** Requests under way in this process. At a few ms each, more than these would wait longer than a client does. */
  requests: 2_000,
  /** Milliseconds that one turn of the event loop may take. Beyond it, most of what else comes in that turn is refused. */
  lagMs: 400,
  /** Requests under way up to which a long turn is not their doing, but that of a machine that is busy otherwise. */
  few: 100,
};
const TICK_MS = 20;

/** Fixed bytes, written before Express: routing, an exception and a log line would cost more than serving it. */
const ERROR = new ApiError('service_unavailable');
const RESPONSE = asResponse(ERROR);

/** Refuses requests, at once and cheaply, while there are more than the process can serve; probes always pass. */
export class Overload {
  private readonly ticker = setInterval(() => (this.ticked = performance.now()), TICK_MS).unref();
  private ticked = performance.now();
  /** Requests under way. */
  requests = 0;

  /** Answers a request with 503 if it is too much; else counts it, until `release`. */
  sheds({ url }: IncomingMessage, response: ServerResponse): boolean {
    if (this.isOverloaded() && !PROBES.test(url ?? '')) {
      response.writeHead(ERROR.status, RESPONSE.headers).end(RESPONSE.body);
      return true;
    }
    this.requests++;
    return false;
  }

  /** Ends the counting of a request. */
  release(): void {
    this.requests--;
  }

  stop(): void {
    clearInterval(this.ticker);
  }

  private isOverloaded(): boolean {
    if (this.requests >= LIMITS.requests) return true;
    return this.requests >= LIMITS.few && performance.now() - this.ticked > LIMITS.lagMs;
  }
}
