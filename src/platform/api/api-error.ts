/**
 * Every code that an Error can carry: its status, and what it means. The OpenAPI document lists these same codes;
 * clients switch on them, so a code never changes its meaning.
 */
export const ERROR_CODES = {
  bad_request: { status: 400, meaning: 'The request is not valid HTTP.' },
  invalid_json: { status: 400, meaning: 'The request body is not valid JSON in UTF-8.' },
  invalid_content_type: {
    status: 400,
    meaning: 'The request needs the header Content-Type: application/json.',
  },
  validation_failed: { status: 400, meaning: 'A parameter or a field of the body has an invalid value.' },
  invalid_cursor: {
    status: 400,
    meaning: 'The cursor does not come from a Link header of this list with these filters and this order.',
  },
  missing_api_key: {
    status: 401,
    meaning: 'The request needs an API key in its Authorization header: Bearer, then the key.',
  },
  invalid_api_key: { status: 401, meaning: 'The API key is not valid.' },
  invalid_credentials: { status: 401, meaning: 'The email and password are missing or wrong.' },
  permission_denied: { status: 403, meaning: 'The API key lacks a permission, which the message names.' },
  sign_up_closed: { status: 403, meaning: 'Signing up is closed, or takes an invitation.' },
  pet_not_found: { status: 404, meaning: 'The animal cannot be found.' },
  category_not_found: { status: 404, meaning: 'The category cannot be found.' },
  order_not_found: { status: 404, meaning: 'The order cannot be found.' },
  message_not_found: { status: 404, meaning: 'The message cannot be found.' },
  api_key_not_found: { status: 404, meaning: 'The API key cannot be found.' },
  route_not_found: { status: 404, meaning: 'There is nothing at this address.' },
  method_not_allowed: { status: 405, meaning: 'The method is not allowed at this address.' },
  request_timeout: { status: 408, meaning: 'The request did not arrive in time.' },
  account_exists: { status: 409, meaning: 'An account with this email already exists.' },
  too_many_api_keys: { status: 409, meaning: 'The account has as many API keys as it can have.' },
  category_exists: { status: 409, meaning: 'A category with this name already exists.' },
  pet_not_available: { status: 409, meaning: 'The animal is not available.' },
  invalid_transition: { status: 409, meaning: 'The order cannot go from its present status to this one.' },
  idempotency_key_in_use: {
    status: 409,
    meaning: 'The first request with this Idempotency-Key is still running.',
  },
  operation_removed: { status: 410, meaning: 'The operation has been removed.' },
  precondition_failed: {
    status: 412,
    meaning: 'What is to be changed is not in the state that the If-Match header names.',
  },
  payload_too_large: { status: 413, meaning: 'The request body is larger than 100 kB.' },
  unsupported_encoding: {
    status: 415,
    meaning: 'The Content-Encoding of the request body is not supported.',
  },
  expectation_failed: { status: 417, meaning: 'The expectation in the Expect header cannot be met.' },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The Idempotency-Key was used before with another request.',
  },
  rate_limited: { status: 429, meaning: 'Too many requests.' },
  headers_too_large: { status: 431, meaning: 'The request headers are larger than 16 kB.' },
  internal_error: { status: 500, meaning: 'Something went wrong on our side.' },
  service_unavailable: { status: 503, meaning: 'The service cannot answer right now. Try again shortly.' },
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

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
    message: string = ERROR_CODES[code].meaning,
    { status = ERROR_CODES[code].status, headers = {}, cause }: ApiErrorOptions = {},
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
