import { STATUS_CODES } from 'node:http';
import { OperatorError } from '../process/index.js';
import type { DeclaredErrors } from './declared.js';
import { PLATFORM_ERRORS } from './platform.errors.js';

/** What is known of an error beforehand. */
export interface ErrorFacts {
  /** Its usual status. */
  readonly status: number;
  readonly meaning: string;
  /** What a client does about it, where that is more than what its status says. */
  readonly advice?: string;
}

/** What clients switch on. A code never changes its meaning. */
export type ErrorCode = keyof DeclaredErrors;

/** Errors by their codes. */
export type Errors = Readonly<Record<string, ErrorFacts>>;

const ofService = new Map<string, ErrorFacts>(Object.entries<ErrorFacts>(PLATFORM_ERRORS));
let ofFeatures: ReadonlyMap<string, ErrorFacts> = new Map();

/** Declares errors of the service itself, which no feature brings. */
export function declareErrors(errors: Errors): void {
  for (const [code, facts] of Object.entries(errors)) ofService.set(code, facts);
  refuseTaken();
}

/**
 * Makes the errors of all features known, beside those of the service itself.
 * @throws OperatorError for a code that the service has itself
 */
export function declareFeatureErrors(errors: Errors): void {
  ofFeatures = new Map(Object.entries(errors));
  refuseTaken();
}

function refuseTaken(): void {
  const taken = [...ofFeatures.keys()].find((code) => ofService.has(code));
  if (taken) throw new OperatorError(`A feature declares the error ${taken}, which the service has itself.`);
}

export function isDeclared(code: string): code is ErrorCode {
  return ofService.has(code) || ofFeatures.has(code);
}

/** @throws Error for a code that nobody has declared: the module of its feature is not loaded */
export function factsOf(code: ErrorCode): ErrorFacts {
  const facts = ofService.get(code) ?? ofFeatures.get(code);
  if (!facts) throw new Error(`The error ${code} is not declared.`);
  return facts;
}

/** Every code with its facts, in the order of their statuses, then of the alphabet; complete once all features are loaded. */
export function allErrors(): [ErrorCode, ErrorFacts][] {
  const all = [...ofService, ...ofFeatures] as [ErrorCode, ErrorFacts][];
  return all.toSorted(([a, one], [b, other]) => one.status - other.status || (a < b ? -1 : 1));
}

/** What a client does about a failure of a status, where its code has no advice of its own. */
const ADVICE: Record<number, string> = {
  400: 'Correct what the message names. Sent again as it is, the request is refused again.',
  401: 'Send other credentials.',
  403: 'Ask whoever runs the service for access.',
  404: 'Check the id. What belongs to another account is not found either.',
  409: 'Read the present state, and decide anew.',
  500: 'It may have been done. Send a read, or a write with an Idempotency-Key, again after a pause; report what stays so with the X-Request-Id of the answer.',
  503: 'It may have been done. Wait as many seconds as Retry-After says, longer each time, and send a read, or a write with an Idempotency-Key, again.',
};

/** What a client does about an error, in a sentence or two. */
export function adviceOn(code: ErrorCode): string {
  const { status, advice } = factsOf(code);
  return advice ?? ADVICE[status] ?? ADVICE[400]!;
}

interface ApiErrorOptions {
  /** If one code is answered with different statuses, e.g. 400 for a category named in a body. */
  status?: number;
  /** Response headers that belong to this failure, e.g. `Allow`. */
  headers?: Record<string, string>;
  /** The underlying error; goes to the log, never to the client. */
  cause?: unknown;
}

/** What every failure of a status tells its client: how to come in (RFC 9110, 15.5.2), or when to come back (10.2.3). */
const HEADERS: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'Bearer realm="petstore"' },
  429: { 'Retry-After': '1' },
  503: { 'Retry-After': '1' },
};

/** A failure as the client sees it. The only error class that features throw. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ErrorCode,
    message: string = factsOf(code).meaning,
    { status = factsOf(code).status, headers, cause }: ApiErrorOptions = {},
  ) {
    // An exception of Nest's may come without a text.
    super(message || STATUS_CODES[status], { cause });
    this.status = status;
    this.headers = { ...HEADERS[status], ...headers };
  }

  /** The body of the answer: exactly the specification's Error shape. */
  toJSON() {
    return { code: this.code, message: this.message, status: this.status };
  }
}
