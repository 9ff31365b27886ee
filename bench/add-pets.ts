import { Client } from 'pg';

/** Rows of one statement and commit. */
const CHUNK = 50_000;

/**
 * Animals of an old shop, spread over the ten first categories: of 100,000 consecutive ones, 100 are available, one is
 * pending, and the others were sold. A plan that searches through those for the few is slow. (7919 has no common divisor
 * with 100,000, so each place occurs once.)
 */
const INSERT = `
  INSERT INTO pets (name, category_id, status)
  SELECT 'Pet ' || n, 1 + n % 10, CASE WHEN place < 100 THEN 'available' WHEN place = 100 THEN 'pending' ELSE 'sold' END
  FROM generate_series($1::bigint, $2::bigint) AS n, LATERAL (SELECT n * 7919 % 100000 AS place) AS drawn`;

/** Adds so many animals in the order of ids, and refreshes the planner's statistics. */
export async function addPets(databaseUrl: string, count: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let added = 0; added < count; added += CHUNK)
      await client.query(INSERT, [added + 1, Math.min(added + CHUNK, count)]);
    await client.query('VACUUM (ANALYZE) pets');
  } finally {
    await client.end();
  }
}
