import { Client } from 'pg';

/**
 * Moves all animals into as many partitions by ranges of the id. `deploy/postgres/partition-pets.sql` does so on a database
 * in use, where the rows that are there stay in one.
 */
export async function partitionPets(url: string, count: number, partitions: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows: indexes } = await client.query<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE tablename = 'pets'`,
  );
  const size = Math.ceil(count / partitions);
  const ranges = Array.from({ length: partitions }, (_, i) => [
    i === 0 ? 'MINVALUE' : i * size + 1,
    i === partitions - 1 ? 'MAXVALUE' : (i + 1) * size + 1,
  ]);
  const statements = [
    'BEGIN',
    'ALTER TABLE orders DROP CONSTRAINT orders_pet_id_fkey',
    'ALTER TABLE pets RENAME TO pets_plain',
    'CREATE TABLE pets (LIKE pets_plain INCLUDING CONSTRAINTS INCLUDING IDENTITY) PARTITION BY RANGE (id)',
    ...ranges.map(
      ([from, to], i) => `CREATE TABLE pets_${i} PARTITION OF pets FOR VALUES FROM (${from}) TO (${to})`,
    ),
    'INSERT INTO pets OVERRIDING SYSTEM VALUE SELECT * FROM pets_plain',
    'DROP TABLE pets_plain',
    ...indexes.map(({ indexdef }) => indexdef),
    'COMMIT',
  ];
  for (const sql of statements) await client.query(sql);
  await client.end();
}
