/** What an operator has to put right. Its message is the one line that is printed, so it says what is wrong and what to do. */
export class OperatorError extends Error {}

/** Ends the process with status 1; an `OperatorError` is told in one line, any other with its stack. */
export function fail(error: unknown): never {
  console.error(error instanceof OperatorError ? `petstore: ${error.message}` : error);
  process.exit(1);
}
