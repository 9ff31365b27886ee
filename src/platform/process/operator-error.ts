/** A problem that the operator has to solve. Its message is printed as one line: what is wrong, and what to do. */
export class OperatorError extends Error {}

/**
 * Ends the process with status 1; prints an `OperatorError` as one line, and of any other its stack: the properties of a
 * database's error hold the statement and its values.
 */
export function fail(error: unknown): never {
  const bug = error instanceof Error ? error.stack : error;
  console.error(error instanceof OperatorError ? `petstore: ${error.message}` : bug);
  process.exit(1);
}
