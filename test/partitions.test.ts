import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { call, createKey, expectError } from './support/client.js';
import { ROOT } from './support/npm.js';
import { walk } from './support/paging.js';
import { query, type Service, startService } from './support/service.js';

/** The steps of a script that psql runs one after another. */
const stepsOf = (name: string) =>
  readFileSync(join(ROOT, 'deploy/postgres', name), 'utf8')
    .split(/^(?=-- Step )/m)
    .slice(1);

/** What a script may make the service wait for is a lock, which it gives up after two seconds. */
const LONGEST_MS = 3_000;

let service: Service;
let key: string;
beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  await query(
    service.databaseUrl,
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Luna ' || i, i % 10 + 1, (ARRAY['available', 'pending', 'sold', NULL])[i % 4 + 1] FROM generate_series(1, 20000) AS i`,
  );
});
afterAll(() => service.stop());

/** Runs a script while clients write and read; returns what they have made, and the longest wait in milliseconds. */
async function underLoad(script: string): Promise<{ made: number[]; longest: number }> {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  const made: number[] = [];
  let longest = 0;
  const over = new AbortController();
  const timed = async (method: string, path: string, body?: object) => {
    const begun = performance.now();
    const answer = await call(service, method, path, { key, body });
    longest = Math.max(longest, performance.now() - begun);
    expect([200, 201]).toContain(answer.status);
    return answer.body;
  };
  const load = async () => {
    while (!over.signal.aborted) {
      const { id } = await timed('POST', '/v1/pets', { name: 'Rex', categoryId: 1, status: 'available' });
      made.push(id);
      await timed('POST', '/v1/store/orders', { petId: id });
      await timed('GET', '/v1/pets?status=pending');
    }
  };
  const loads = Array.from({ length: 4 }, load);
  // A thousand ids a partition, so that some are used.
  await client.query('SET petstore.partition_size = 1000');
  for (const step of stepsOf(script)) await client.query(step);
  over.abort();
  await Promise.all(loads);
  await client.end();
  return { made, longest };
}

/** The table and what belongs to it, without its partitions. */
const schema = async () =>
  query(
    service.databaseUrl,
    `SELECT pg_get_indexdef(indexrelid) AS is FROM pg_index WHERE indrelid = 'pets'::regclass
     UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
       WHERE (conrelid = 'pets'::regclass OR confrelid = 'pets'::regclass) AND conparentid = 0
     UNION ALL SELECT attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || attidentity::text
       FROM pg_attribute WHERE attrelid = 'pets'::regclass AND attnum > 0
     UNION ALL SELECT sequencename || ' ' || max_value FROM pg_sequences WHERE sequencename LIKE 'pets%' ORDER BY 1`,
  );
const partitions = async () =>
  query<{ name: string; rows: number }>(
    service.databaseUrl,
    `SELECT inhrelid::regclass::text AS name,
       (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || inhrelid::regclass, false, true, '')))[1]::text::int AS rows
     FROM pg_inherits WHERE inhparent = 'pets'::regclass ORDER BY inhrelid`,
  );

describe('The scripts of deploy/postgres', () => {
  let whole: unknown;

  test('partition pets while it is written and read, with no failure and no long wait', async () => {
    whole = await schema();
    const { made, longest } = await underLoad('partition-pets.sql');
    expect(made.length).toBeGreaterThan(0);
    expect(longest).toBeLessThan(LONGEST_MS);
    const names = (await partitions()).map(({ name }) => name);
    expect(names).toEqual(['pets_first', expect.any(String), expect.any(String), 'pets_beyond']);
  });

  test('and the documents say how to add a partition', async () => {
    const [beyond] = await query<{ from: string }>(
      service.databaseUrl,
      `SELECT substring(pg_get_expr(relpartbound, oid) FROM '\\d+') AS from FROM pg_class WHERE relname = 'pets_beyond'`,
    );
    const from = Number(beyond!.from);
    const [sql] = /BEGIN;\n(?:.+\n)*?.+ pets_beyond;\n(?:.+\n)*?COMMIT;/.exec(
      readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8'),
    )!;
    await query(
      service.databaseUrl,
      sql.replaceAll('200000000', String(from)).replaceAll('250000000', String(from + 1_000)),
    );
    const names = (await partitions()).map(({ name }) => name);
    expect(names).toEqual([...names.slice(0, 3), 'pets_beyond', `pets_from_${from}`]);
  });

  test('leave a service that answers as before, from several partitions', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO pets (name, category_id, status) SELECT 'Bella', 1, 'available' FROM generate_series(1, 5000)`,
    );
    const filled = (await partitions()).filter(({ rows }) => rows > 0);
    expect(filled).toHaveLength(5);
    for (const order of ['asc', 'desc']) {
      const path = `/v1/pets?status=available&limit=100&order=${order}`;
      const ids = (await walk<{ id: number }>(service, path, { key })).map(({ id }) => id);
      const sql = `SELECT id::int FROM pets WHERE status = 'available' ORDER BY pets.id ${order}`;
      expect(ids).toEqual((await query<{ id: number }>(service.databaseUrl, sql)).map(({ id }) => id));
    }
    const [newest] = await query<{ id: number }>(service.databaseUrl, 'SELECT max(id)::int AS id FROM pets');
    const order = () => call(service, 'POST', '/v1/store/orders', { key, body: { petId: newest!.id } });
    expect((await order()).status).toBe(201);
    expectError(await order(), 409, 'pet_not_available');
    const body = { name: 'Rex', categoryId: 999 };
    expectError(await call(service, 'POST', '/v1/pets', { key, body }), 400, 'category_not_found');
  });

  test('leave an order in which a page of all animals is read from the first partition alone', async () => {
    const plan = await query(service.databaseUrl, 'EXPLAIN SELECT id FROM pets ORDER BY id LIMIT 20');
    expect(JSON.stringify(plan)).toContain('  Append');
  });

  test('make it whole again while it is written and read, as it was and with every row', async () => {
    const sum = `SELECT count(*)::int AS n, sum(hashtext(pets::text)) AS sum FROM pets WHERE id <= 20000 AND status = 'sold'`;
    const before = await query(service.databaseUrl, sum);
    const { made, longest } = await underLoad('unpartition-pets.sql');
    expect(longest).toBeLessThan(LONGEST_MS);
    expect(await schema()).toEqual(whole);
    expect(await query(service.databaseUrl, sum)).toEqual(before);
    const found = await query<{ id: number; status: string }>(
      service.databaseUrl,
      `SELECT id::int, status FROM pets WHERE id = ANY($1) ORDER BY pets.id`,
      [made],
    );
    expect(found).toEqual(made.toSorted((a, b) => a - b).map((id) => ({ id, status: 'pending' })));
    const { status, body } = await call(service, 'POST', '/v1/pets', {
      key,
      body: { name: 'Rex', categoryId: 1 },
    });
    expect(status).toBe(201);
    expect(body.id).toBeGreaterThan(made.at(-1)!);
  });
});
