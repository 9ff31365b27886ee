import type { QueryRunner } from 'typeorm';
import { OperatorError } from '../process/index.js';

/** A schema that a database has while it is being filled by `npm run admin -- data copy`, and until that is complete. */
export const UNFINISHED_COPY = 'petstore_unfinished_copy';

/** @throws OperatorError if a copy into the database has begun and is not complete: it would undo what a service writes */
export async function refuseUnfinishedCopy(session: QueryRunner): Promise<void> {
  const sql = 'SELECT FROM pg_namespace WHERE nspname = $1';
  if (((await session.query(sql, [UNFINISHED_COPY])) as unknown[]).length === 0) return;
  throw new OperatorError(
    'The copy into this database is not complete. Run `npm run admin -- data copy` again.',
  );
}
