import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROBES } from '../common/probes.js';
import { ApiError } from '../common/api-error.js';
import { asResponse } from './refusals.js';

const LIMITS = {
  /** Requests under way in this process. At a few ms each, more than these would wait longer than a client does. */
  requests: 2_000,
  /** Milliseconds that the event loop may take for one turn. Beyond it, what still comes in that turn is too much. */
  lagMs: 400,
};
const TICK_MS = 20;

/** Written as it stands and before Express: a framework, an exception and a log line for each would take longer than the reads. */
const ERROR = new ApiError('service_unavailable');
const RESPONSE = asResponse(ERROR);

/** Turns requests away, at once and cheaply, while there are more than the process can serve; probes always pass. */
export class Overload {
  private readonly ticker = setInterval(() => (this.ticked = performance.now()), TICK_MS).unref();
  private ticked = performance.now();
  /** Requests under way. */
  requests = 0;

  /** Answers a request with 503 where it is too much; else counts it, until `release`. */
  sheds({ url }: IncomingMessage, response: ServerResponse): boolean {
    if (this.isOverloaded() && !PROBES.test(url ?? '')) {
      response.writeHead(ERROR.status, RESPONSE.headers).end(RESPONSE.body);
      return true;
    }
    this.requests++;
    return false;
  }

  /** A request that was counted is over. */
  release(): void {
    this.requests--;
  }

  stop(): void {
    clearInterval(this.ticker);
  }

  private isOverloaded(): boolean {
    return this.requests >= LIMITS.requests || performance.now() - this.ticked > LIMITS.lagMs;
  }
}
