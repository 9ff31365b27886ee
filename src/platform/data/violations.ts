import { QueryFailedError } from 'typeorm';
import { ApiError, type ErrorCode } from '../api/index.js';

/**
 * Turns the violation of one constraint of the schema into an API error; every other error is thrown again. Use it as
 * `.catch(violation('categories_name_key', 'category_exists'))`.
 * @param constraint the name that the migration gave the constraint or unique index
 * @param status if not the code's own, e.g. 400 for a reference in a body
 */
export function violation(constraint: string, code: ErrorCode, status?: number): (error: unknown) => never {
  return (error) => {
    if (error instanceof QueryFailedError && error.driverError.constraint === constraint) {
      throw new ApiError(code, undefined, { status, cause: error });
    }
    throw error;
  };
}
