import type { Type } from '@nestjs/common';
import { type DataSource, type ObjectLiteral, QueryFailedError } from 'typeorm';
import { ApiError, type ErrorCode, isErrorCode } from '../api/index.js';
import { OperatorError } from '../process/index.js';

/** A constraint of an entity's table, and the code of its violation. */
type Violation = readonly [constraint: string, code: ErrorCode];

const VIOLATIONS = Symbol('violations declared for an entity');

function violationsOf(entity: object): ReadonlyMap<string, Violation> {
  return (Reflect.getOwnMetadata(VIOLATIONS, entity) ?? new Map()) as Map<string, Violation>;
}

/**
 * Checks each `violation` declared for the service's tables.
 * @throws OperatorError that names each `violation` of an unknown constraint, or with an unknown error code
 */
export async function requireConstraints(database: DataSource): Promise<void> {
  const all = database.entityMetadatas.flatMap(({ target }) =>
    typeof target === 'function'
      ? [...violationsOf(target).values()].map((one) => [target.name, ...one] as const)
      : [],
  );
  if (all.length === 0) return;
  const callsOf = (some: typeof all) =>
    some.map(([entity, constraint, code]) => `violation(${entity}, '${constraint}', '${code}')`).join(', ');
  const unknown = all.filter(([, , code]) => !isErrorCode(code));
  if (unknown.length > 0)
    throw new OperatorError(`${callsOf(unknown)}: none of the service's features declares the error.`);
  const rows = await database.query<{ name: string }[]>(
    `SELECT conname AS name FROM pg_constraint WHERE conname = ANY ($1)
     UNION SELECT relname FROM pg_class WHERE relkind IN ('i', 'I') AND relname = ANY ($1)`,
    [all.map(([, constraint]) => constraint)],
  );
  const found = new Set(rows.map(({ name }) => name));
  const missing = all.filter(([, constraint]) => !found.has(constraint));
  if (missing.length === 0) return;
  throw new OperatorError(
    `${callsOf(missing)}: no table has a constraint or a unique index of that name. Give \`violation\` the name that the migration uses.`,
  );
}

/**
 * Turns the violation of one constraint of an entity's table into an API error; rethrows other errors.
 * Declare `const NAME_TAKEN = violation(Category, 'categories_name_key', 'category_exists')` beside the
 * service, and use `.catch(NAME_TAKEN)`. The service refuses to start if the constraint is unknown.
 * @param constraint the name of the constraint or unique index in the migration
 * @param status replaces the status of the code, e.g. 400 for a reference in a body
 */
export function violation(
  entity: Type<ObjectLiteral>,
  constraint: string,
  code: ErrorCode,
  status?: number,
): (error: unknown) => never {
  // A method may call `violation` at each run, so equal violations are stored once.
  const violations = new Map(violationsOf(entity)).set(`${constraint} ${code}`, [constraint, code]);
  Reflect.defineMetadata(VIOLATIONS, violations, entity);
  return (error) => {
    if (error instanceof QueryFailedError && error.driverError.constraint === constraint) {
      throw new ApiError(code, undefined, { status, cause: error });
    }
    throw error;
  };
}
