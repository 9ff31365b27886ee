import type { Client } from 'pg';
import { explain, loadMigrations } from '../../platform/database/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { findPartitions, findShape } from './tables.js';

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

/**
 * A table may have partitions in one database and none in the other: they hold the same rows.
 * @throws OperatorError unless two databases have the same tables, of the service and of its queue
 */
export async function requireSameSchema(source: Client, target: Client): Promise<void> {
  const [here, there] = await Promise.all([findPartitions(source), findPartitions(target)]);
  const both = [...here.keys()].filter((table) => there.has(table));
  const partitionsIn = (all: typeof here) => both.flatMap((table) => all.get(table)!);
  if ((await queueVersion(source)) !== (await queueVersion(target)))
    throw new OperatorError(
      'The queue of the source is not up to date. Run `npm run migration:run` on it first.',
    );
  const [own, copy] = await Promise.all([findShape(source), findShape(target)]);
  const inSource = new Set([...own, ...partitionsIn(here)]);
  const inTarget = new Set([...copy, ...partitionsIn(there)]);
  const [different] = inSource.symmetricDifference(inTarget);
  if (!different) return;
  const where = inSource.has(different) ? 'source' : 'target';
  throw new OperatorError(
    `Only the ${where} has ${different}, which no migration of this release has made. ` +
      'Change the source to what its migrations make, or copy it with pg_dump (docs/operating.md).',
  );
}

async function queueVersion(session: Client): Promise<number | undefined> {
  const { rows } = await session.query<{ version: number }>('SELECT version FROM pgboss.version');
  return rows[0]?.version;
}
