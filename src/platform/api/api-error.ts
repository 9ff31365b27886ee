import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { OperatorError } from '../process/index.js';
import type { DeclaredErrors } from './declared.js';
import { PLATFORM_ERRORS } from './platform.errors.js';

/** The definition of an error. */
export interface ErrorFacts {
  readonly status: number;
  readonly meaning: string;
  /** What a client should do, if the status does not say it. */
  readonly advice?: string;
}

/** What clients switch on. A code never changes its meaning. */
export type ErrorCode = keyof DeclaredErrors;

export type Errors = Readonly<Record<string, ErrorFacts>>;

let registered: Errors = PLATFORM_ERRORS;

/** Registers errors of the service itself, or of its features. @throws OperatorError for a code that is there already */
export function registerErrors(errors: Errors): void {
  const twice = Object.keys(errors).find((code) => (registered[code] ?? errors[code]) !== errors[code]);
  if (twice) throw new OperatorError(`A feature declares the error ${twice}, which the service has itself.`);
  registered = { ...registered, ...errors };
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(registered, code);
}

/** @throws Error for an unregistered code: its feature is not loaded */
export function factsOf(code: ErrorCode): ErrorFacts {
  const facts = registered[code];
  if (!facts) throw new Error(`The error ${code} is not declared.`);
  return facts;
}

/** All errors by status, then by code; complete once all features are loaded. */
export function allErrors(): [ErrorCode, ErrorFacts][] {
  const all = Object.entries(registered) as [ErrorCode, ErrorFacts][];
  return all.toSorted(([a, { status }], [b, other]) => status - other.status || (a < b ? -1 : 1));
}

/** What a client should do, by status, about an error without advice of its own. */
const ADVICE: Record<number, string> = {
  400: 'Correct what the message names. The same request is refused again.',
  401: 'Send other credentials.',
  403: 'Ask the administrator of the service for access.',
  404: 'Check the id. Resources of other accounts are not found either.',
  409: 'Read the present state, and decide anew.',
  500: 'The request may have been carried out. Repeat a read, or a write with an Idempotency-Key, after a pause; report a lasting failure with the X-Request-Id of the answer.',
  503: 'The request may have been carried out. Repeat a read, or a write with an Idempotency-Key, after the seconds of Retry-After, and wait longer each time.',
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

/** Headers of every failure with a status: how to authenticate (RFC 9110, 15.5.2), or when to retry (10.2.3). */
const HEADERS: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'Bearer realm="petstore"' },
  429: { 'Retry-After': '1' },
  503: { 'Retry-After': '1' },
};

/** The errors by their responses, which is all that a filter hands on to the HTTP adapter. */
const byResponse = new WeakMap<object, ApiError>();

/** A failure as the client sees it: the error class that features throw. Its response is the specification's Error shape. */
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
    byResponse.set(response, this);
  }

  /** The body of the answer. */
  toJSON(): object {
    return this.getResponse() as object;
  }
}

/** The error that has a response. */
export function errorWith(response: object): ApiError | undefined {
  return byResponse.get(response);
}
