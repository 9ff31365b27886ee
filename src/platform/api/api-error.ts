import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import type { ErrorCode, ErrorFacts } from './declarations.js';
import { currentRegistry, isInService } from './registry.js';

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(currentRegistry().errors, code);
}

/** @throws Error for an unknown code: no feature in the list of features declares the code */
export function factsOf(code: ErrorCode): ErrorFacts {
  const facts = currentRegistry().errors[code];
  if (facts) return facts;
  if (isInService()) throw new Error(`None of the service's features declares the error ${code}.`);
  // A unit test calls a feature's code without starting the service.
  return { status: 500, meaning: code };
}

/** All errors, ordered by status, then by code. */
export function allErrors(): [ErrorCode, ErrorFacts][] {
  const all = Object.entries(currentRegistry().errors) as [ErrorCode, ErrorFacts][];
  return all.toSorted(([a, { status }], [b, other]) => status - other.status || (a < b ? -1 : 1));
}

/** Advice to clients, keyed by status, for errors that declare no advice. */
const ADVICE: Record<number, string> = {
  400: 'Correct what the message names. Unchanged, the request would be refused again.',
  401: 'Send other credentials.',
  403: 'Ask the administrator of the service for access.',
  404: 'Check the id. Resources of other accounts are not found either.',
  409: 'Read the present state, and decide anew.',
  500: 'The request may have been carried out. Repeat a read, or a write with an Idempotency-Key, after a pause; report a lasting failure with the X-Request-Id of the answer.',
  503: 'The request may have been carried out. Repeat a read, or a write with an Idempotency-Key, after as many seconds as Retry-After says, and wait longer each time.',
};

/** What a client should do about an error, in a sentence or two. */
export function adviceOn(code: ErrorCode): string {
  const { status, advice } = factsOf(code);
  return advice ?? ADVICE[status] ?? ADVICE[400]!;
}

interface ApiErrorOptions {
  /** A status other than the usual one, e.g. 400 for an unknown category in a body. */
  status?: number;
  /** Response headers, e.g. `Allow`. */
  headers?: Record<string, string>;
  /** The underlying error: for the log, never for the client. */
  cause?: unknown;
}

/** Headers of every failure, keyed by status: how to authenticate (RFC 9110, 15.5.2), or when to retry (10.2.3). */
const HEADERS: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'Bearer realm="petstore"' },
  429: { 'Retry-After': '1' },
  503: { 'Retry-After': '1' },
};

/**
 * Key of the property in which an error body holds its `ApiError`, as an exception filter passes only the body to the HTTP
 * adapter. Not a `WeakMap`: V8 would keep each error, and through its stack the whole request, until the next full collection.
 */
const ERROR = Symbol('the error of a response');

/** The error class that features throw: a failure as the client sees it, in the specification's Error shape. */
export class ApiError extends HttpException {
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ErrorCode,
    message: string = factsOf(code).meaning,
    { status = factsOf(code).status, headers, cause }: ApiErrorOptions = {},
  ) {
    // An exception of Nest may have no message.
    const response = { code, message: message || STATUS_CODES[status]!, status };
    super(response, status, { cause });
    this.headers = { ...HEADERS[status], ...headers };
    Object.defineProperty(response, ERROR, { value: this });
  }

  /** The body of the answer. */
  toJSON(): object {
    return this.getResponse() as object;
  }
}

/** The `ApiError` that a response body belongs to. */
export function errorWith(response: object): ApiError | undefined {
  return (response as { [ERROR]?: ApiError })[ERROR];
}
