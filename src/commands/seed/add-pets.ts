import { DataSource, type EntityManager } from 'typeorm';
import type { Config } from '../../config.js';
import { sessionOptions } from '../../platform/database/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { type StatusMix, statusOf } from './status-mixes.js';

/** Rows of one statement and commit: enough that commits cost nothing, few enough that progress shows. */
const CHUNK = 50_000;

const NAMES = ['Luna', 'Milo', 'Bella', 'Rocky', 'Coco', 'Simba', 'Nala', 'Oscar', 'Ruby', 'Felix'];

interface Seeding {
  count: number;
  mix: StatusMix;
  /** Called after every commit with the number of rows so far. */
  onProgress: (added: number) => void;
}

/**
 * Adds animals, spread over all categories, to the existing ones, and refreshes the planner's statistics. Every chunk
 * is committed: what an interrupted run has added stays, and another run adds more.
 * @throws OperatorError if there is no category
 */
export async function addPets(config: Config, { count, mix, onProgress }: Seeding): Promise<void> {
  const database = await new DataSource(sessionOptions(config)).initialize();
  try {
    const categoryIds = await readCategoryIds(database.manager);
    const sql = insertion(mix);
    for (let added = 0; added < count;) {
      const last = Math.min(added + CHUNK, count);
      await database.query(sql, [added + 1, last, categoryIds, NAMES]);
      onProgress((added = last));
    }
    await database.query('VACUUM (ANALYZE) pets');
  } finally {
    await database.destroy();
  }
}

async function readCategoryIds(manager: EntityManager): Promise<string[]> {
  const rows = await manager.query<{ id: string }[]>('SELECT id FROM categories ORDER BY id');
  if (rows.length === 0) throw new OperatorError('There is no category. Animals need one.');
  return rows.map(({ id }) => id);
}

/** Inserts the animals from the first number to the last, in the order of ids. */
function insertion(mix: StatusMix): string {
  const pick = (list: string) => `(${list})[1 + number % cardinality(${list})]`;
  return `
    INSERT INTO pets (name, category_id, status)
    SELECT ${pick('$4::text[]')} || ' ' || number, ${pick('$3::bigint[]')}, ${statusOf(mix, 'number')}
    FROM generate_series($1::bigint, $2::bigint) AS number`;
}
