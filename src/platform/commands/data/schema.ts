import type { Client } from 'pg';
import { explain } from '../../database/explain.js';
import { loadMigrations } from '../../database/migrations.js';
import { OperatorError } from '../../process/operator-error.js';
import { findShape } from './tables.js';

/** @throws OperatorError unless a database has exactly the migrations of this release */
export async function requireMigrations(session: Client): Promise<void> {
  const found = await session.query<{ name: string }>('SELECT name FROM public.migrations').catch((error) => {
    throw explain(error);
  });
  const applied = new Set(found.rows.map(({ name }) => name));
  const own = new Set((await loadMigrations()).map(({ name }) => name));
  const [missing] = own.difference(applied);
  if (missing)
    throw new OperatorError(
      `The source lacks migrations (${missing}). Run \`npm run migration:run\` on it first.`,
    );
  const [newer] = applied.difference(own);
  if (newer)
    throw new OperatorError(`A newer release has migrated the source (${newer}). Copy with that one.`);
}

/** @throws OperatorError unless two databases have the same tables, of the service and of its queue */
export async function requireSameSchema(source: Client, target: Client): Promise<void> {
  const [here, there] = await Promise.all([shapeOf(source), shapeOf(target)]);
  const [different] = here.symmetricDifference(there);
  if (!different) return;
  const where = here.has(different) ? 'source' : 'target';
  throw new OperatorError(
    `Only the ${where} has ${different}. Run \`npm run migration:run\` on the source first.`,
  );
}

async function shapeOf(session: Client): Promise<Set<string>> {
  const { rows } = await session.query<{ version: number }>('SELECT version FROM pgboss.version');
  return new Set([...(await findShape(session)), `version ${rows[0]?.version} of its queue`]);
}
