/** A problem that the operator has to solve. Its message is printed as one line: what is wrong, and what to do. */
export class OperatorError extends Error {}

/** Ends the process with status 1; prints an `OperatorError` as one line, any other with its stack. */
export function fail(error: unknown): never {
  console.error(error instanceof OperatorError ? `petstore: ${error.message}` : error);
  process.exit(1);
}
