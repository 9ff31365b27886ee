import { type ErrorCode, factsOf } from './error-codes.js';
import './platform.errors.js';

interface ApiErrorOptions {
  /** If one code is answered with different statuses, e.g. 400 for a category named in a body. */
  status?: number;
  /** Response headers that belong to this failure, e.g. `Allow`. */
  headers?: Record<string, string>;
  /** The underlying error; goes to the log, never to the client. */
  cause?: unknown;
}

/** A failure as the client sees it. The only error class that features throw. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ErrorCode,
    message: string = factsOf(code).meaning,
    { status = factsOf(code).status, headers = {}, cause }: ApiErrorOptions = {},
  ) {
    super(message, { cause });
    this.status = status;
    // RFC 9110, 10.2.3: tells the client when to come back.
    this.headers = status === 503 ? { 'Retry-After': '1', ...headers } : headers;
  }

  /** The body of the answer: exactly the specification's Error shape. */
  toJSON() {
    return { code: this.code, message: this.message, status: this.status };
  }
}
