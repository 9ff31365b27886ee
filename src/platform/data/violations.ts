import { type DataSource, QueryFailedError } from 'typeorm';
import { ApiError, type ErrorCode } from '../api/index.js';
import { OperatorError } from '../process/index.js';

const codes = new Map<string, ErrorCode>();

/** @throws OperatorError that names the constraints given to `violation` which the database lacks */
export async function requireConstraints(database: DataSource): Promise<void> {
  if (codes.size === 0) return;
  const rows = await database.query<{ name: string }[]>(
    `SELECT conname AS name FROM pg_constraint WHERE conname = ANY ($1)
     UNION SELECT relname FROM pg_class WHERE relkind IN ('i', 'I') AND relname = ANY ($1)`,
    [[...codes.keys()]],
  );
  const found = new Set(rows.map(({ name }) => name));
  const missing = [...codes].filter(([constraint]) => !found.has(constraint));
  if (missing.length === 0) return;
  const calls = missing.map(([constraint, code]) => `violation('${constraint}', '${code}')`);
  throw new OperatorError(
    `${calls.join(', ')}: no table has a constraint or a unique index of that name. Use the name in the migration.`,
  );
}

/**
 * Turns the violation of one constraint of the schema into an API error; rethrows any other error. Declare it beside the
 * service, `const NAME_TAKEN = violation('categories_name_key', 'category_exists')`, and use it as `.catch(NAME_TAKEN)`: an
 * unknown constraint then ends the start.
 * @param constraint the name of the constraint or unique index in the migration
 * @param status if not the code's own, e.g. 400 for a reference in a body
 */
export function violation(constraint: string, code: ErrorCode, status?: number): (error: unknown) => never {
  codes.set(constraint, code);
  return (error) => {
    if (error instanceof QueryFailedError && error.driverError.constraint === constraint) {
      throw new ApiError(code, undefined, { status, cause: error });
    }
    throw error;
  };
}
