import { OperatorError } from '../process/index.js';
import { codeOf, isUnavailable } from './unavailable.js';

/** SQLSTATE `undefined_table`, `undefined_column` and `invalid_schema_name`. */
const NO_SUCH_SCHEMA = new Set(['42P01', '42703', '3F000']);

/** A database error in the operator's terms; an unforeseen one is returned as it is, with its stack. */
export function explain(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof OperatorError) return error;
  const code = codeOf(error);
  if (code && NO_SUCH_SCHEMA.has(code)) {
    return new OperatorError('The schema is not up to date. Run `npm run migration:run` first.');
  }
  return isUnavailable(error)
    ? new OperatorError(`The database cannot be reached: ${error.message || code}.`)
    : error;
}
