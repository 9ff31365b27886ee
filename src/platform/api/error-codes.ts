import type { DeclaredErrors } from './declared.js';

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

const declared = new Map<string, ErrorFacts>();

/**
 * Declares the errors of a feature, which is the only one to do so.
 * @throws Error for a code that is declared already
 */
export function declareErrors<const Errors extends Record<string, ErrorFacts>>(errors: Errors): Errors {
  for (const [code, facts] of Object.entries(errors)) {
    if (declared.has(code)) throw new Error(`The error ${code} is declared twice.`);
    declared.set(code, facts);
  }
  return errors;
}

export function isDeclared(code: string): code is ErrorCode {
  return declared.has(code);
}

/** @throws Error for a code that nobody has declared: the module of its feature is not loaded */
export function factsOf(code: ErrorCode): ErrorFacts {
  const facts = declared.get(code);
  if (!facts) throw new Error(`The error ${code} is not declared.`);
  return facts;
}

/** Every code with its facts, in the order of their statuses, then of the alphabet; complete once all features are loaded. */
export function allErrors(): [ErrorCode, ErrorFacts][] {
  const all = [...declared] as [ErrorCode, ErrorFacts][];
  return all.toSorted(([a, one], [b, other]) => one.status - other.status || (a < b ? -1 : 1));
}
