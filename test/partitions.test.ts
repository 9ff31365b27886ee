import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { call, createKey, expectError } from '../src/testing/client.js';
import { eventually, ROOT } from './support/npm.js';
import { walk } from '../src/testing/paging.js';
import { hasPsql, psql as runPsql, SCRIPTS as FOLDER } from './support/psql.js';
import { createDatabase, query, type Service, startService } from '../src/testing/service.js';

const SCRIPTS = ['partition-pets.sql', 'unpartition-pets.sql'];
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

/** Runs SQL with a thousand ids a partition, so that some are used. */
const psql = (url: string, script: string, env: Record<string, string> = {}) =>
  runPsql(url, script, { PGOPTIONS: '-c petstore.partition_size=1000', ...env });

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
  const ended = await psql(service.databaseUrl, script);
  over.abort();
  await Promise.all(loads);
  expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('ERROR') });
  return { made, longest };
}

const schema = () => schemaOf(service.databaseUrl);
const partitions = async () =>
  query<{ name: string; rows: number }>(
    service.databaseUrl,
    `SELECT inhrelid::regclass::text AS name,
       (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || inhrelid::regclass, false, true, '')))[1]::text::int AS rows
     FROM pg_inherits WHERE inhparent = 'pets'::regclass ORDER BY inhrelid`,
  );

/** With no failure and no long wait. */
async function partition(): Promise<void> {
  const { made, longest } = await underLoad('partition-pets.sql');
  expect(made.length).toBeGreaterThan(0);
  expect(longest).toBeLessThan(LONGEST_MS);
  const names = (await partitions()).map(({ name }) => name);
  expect(names).toEqual(['pets_first', expect.any(String), expect.any(String), 'pets_beyond']);
}

/** As the documents say. */
async function addPartition(): Promise<void> {
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
}

async function answerAsBefore(): Promise<void> {
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
}

/** A page of all animals from the first partition alone. */
async function readInOrder(): Promise<void> {
  const plan = await query(service.databaseUrl, 'EXPLAIN SELECT id FROM pets ORDER BY id LIMIT 20');
  expect(JSON.stringify(plan)).toContain('  Append');
}

/** As it was and with every row. */
async function makeWhole(whole: string[]): Promise<void> {
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
}

(hasPsql ? test : test.skip)(
  'The scripts of deploy/postgres partition pets and make it whole again while it is written and read, and in between the service answers as before',
  async () => {
    const whole = await schema();
    await partition();
    await addPartition();
    await answerAsBefore();
    await readInOrder();
    await makeWhole(whole);
  },
);

(hasPsql ? describe : describe.skip)('A script of deploy/postgres', () => {
  const PETS = 20_000;
  /** A database as each of the scripts finds it. */
  const templates = new Map<string, string>();
  const nameOf = (url: string) => new URL(url).pathname.slice(1);
  const copyFor = (script: string, options = '') =>
    createDatabase(`TEMPLATE ${nameOf(templates.get(script)!)} ${options}`);

  beforeAll(async () => {
    const whole = await createDatabase('TEMPLATE migrated');
    await query(
      whole,
      `INSERT INTO pets (name, category_id, status) SELECT 'Luna ' || i, i % 10 + 1, 'sold' FROM generate_series(1, ${PETS}) i`,
    );
    await query(
      whole,
      `WITH account AS (INSERT INTO accounts (email, password_hash) VALUES ('grace@example.com', '') RETURNING id)
       INSERT INTO orders (account_id, pet_id, status) SELECT account.id, i, 'delivered' FROM account, generate_series(1, 200) i`,
    );
    templates.set('partition-pets.sql', whole);
    const partitioned = await createDatabase(`TEMPLATE ${nameOf(whole)}`);
    await psql(partitioned, 'partition-pets.sql');
    await query(
      partitioned,
      `INSERT INTO pets (name, category_id) SELECT 'Bella', 1 FROM generate_series(1, 5000)`,
    );
    templates.set('unpartition-pets.sql', partitioned);
  });

  /** Every animal and order of a database, each of which still has its animal. */
  const rows = (url: string) =>
    query(
      url,
      `SELECT count(*)::int AS orders, count(pets.id)::int AS "withPets",
         (SELECT count(*) || ' ' || sum(hashtextextended(all_pets::text, 0)) FROM pets AS all_pets) AS pets
       FROM orders LEFT JOIN pets ON pets.id = pet_id`,
    );
  /** What is left of a run that has not come to its end. */
  const remains = (url: string) =>
    query(
      url,
      `SELECT relname FROM pg_class WHERE relname ~ '^pets_(whole|parts)' UNION ALL SELECT proname FROM pg_proc WHERE proname = 'copy_pet'
       UNION ALL SELECT conname FROM pg_constraint WHERE conname = 'pets_first_ids' OR NOT convalidated`,
    );
  const kindOf = async (url: string) =>
    (await query<{ relkind: string }>(url, `SELECT relkind FROM pg_class WHERE relname = 'pets'`))[0]!
      .relkind;
  /** Runs a script on a database that has it half done or done, and expects all rows, and nothing left over. */
  const complete = async (url: string, script: string, before: unknown) => {
    expect(await psql(url, script)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('ERROR') });
    expect(await rows(url)).toEqual(before);
    expect(await kindOf(url)).toBe(script === 'partition-pets.sql' ? 'p' : 'r');
    expect(await remains(url)).toEqual([]);
    await query(url, `INSERT INTO pets (name, category_id) SELECT 'Rex', 1 FROM generate_series(1, 5000)`);
  };

  const cuts = SCRIPTS.flatMap((script) =>
    read(script)
      .split(/^(?=-- Step )/m)
      .map((_, step, steps) => [script, step, steps.slice(0, step + 1).join('')] as const),
  );
  test.each(cuts)(
    '%s that is cut off after step %i is completed by another run',
    async (script, _, begun) => {
      const url = await copyFor(script);
      const before = await rows(url);
      expect(await psql(url, begun)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('ERROR') });
      expect(await rows(url)).toEqual(before);
      await query(url, `INSERT INTO pets (name, category_id) VALUES ('Milo', 1)`);
      await query(url, `DELETE FROM pets WHERE name = 'Milo'`);
      await complete(url, script, before);
      await complete(url, script, await rows(url));
    },
  );

  const locks = [
    ['partition-pets.sql', 'LOCK TABLE pets IN ROW SHARE MODE'],
    ['partition-pets.sql', 'LOCK TABLE pets IN ROW SHARE MODE'],
    ['partition-pets.sql', 'LOCK TABLE orders IN ROW SHARE MODE'],
    ['unpartition-pets.sql', 'LOCK TABLE pets IN ROW EXCLUSIVE MODE'],
    ['unpartition-pets.sql', 'SELECT FROM pets WHERE id = 12345 FOR UPDATE'],
    ['unpartition-pets.sql', 'SELECT FROM pets WHERE id = 12345 FOR UPDATE'],
    ['unpartition-pets.sql', 'LOCK TABLE pets IN ACCESS SHARE MODE'],
    ['unpartition-pets.sql', 'LOCK TABLE orders IN ROW SHARE MODE'],
  ] as const;
  const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'psql'`;
  test.each(locks.map((lock, i) => [...lock, i % 2 === 0 ? 'waits too long' : 'is killed'] as const))(
    '%s that meets "%s" and %s stops there, and loses nothing',
    async (script, lock, end) => {
      const url = await copyFor(script);
      const before = await rows(url);
      const holder = new Client({ connectionString: url });
      await holder.connect();
      await holder.query(`BEGIN; ${lock}`);
      const run = psql(url, script);
      if (end === 'is killed') await eventually(async () => (await query(url, waiting)).length > 0);
      const { code, stderr } = await run;
      await holder.end();
      expect(code).not.toBe(0);
      expect(stderr).toMatch(end === 'is killed' ? /terminating connection/ : /due to lock timeout/);
      expect(await rows(url)).toEqual(before);
      await complete(url, script, before);
    },
  );

  test.each(SCRIPTS)('%s is not ended by a time-out of the role', async (script) => {
    const url = await copyFor(script);
    const before = await rows(url);
    const PGOPTIONS = '-c petstore.partition_size=1000 -c statement_timeout=20ms -c lock_timeout=1ms';
    expect(await psql(url, script, { PGOPTIONS })).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('ERROR'),
    });
    await complete(url, script, before);
  });

  let disk: string | undefined;
  afterAll(() => {
    if (!disk) return;
    // PostgreSQL may still have files open there.
    spawnSync('umount', ['--lazy', disk]);
    rmSync(disk, { recursive: true });
  });
  test('unpartition-pets.sql without room loses nothing', async () => {
    disk = mountSmallDisk();
    if (!disk) return console.warn('This is not tested: a small file system cannot be mounted here.');
    await query(process.env.TEST_DATABASE_URL!, `CREATE TABLESPACE small LOCATION '${disk}'`);
    const url = await copyFor('unpartition-pets.sql', 'TABLESPACE small');
    const before = await rows(url);
    await query(url, 'CHECKPOINT');
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize - 2_000_000));
    const { code, stderr } = await psql(url, 'unpartition-pets.sql');
    expect(code).not.toBe(0);
    expect(stderr).toContain('No space left on device');
    expect(await rows(url)).toEqual(before);
    rmSync(join(disk, 'ballast'));
    await complete(url, 'unpartition-pets.sql', before);
    await query(process.env.TEST_DATABASE_URL!, `DROP DATABASE ${nameOf(url)} WITH (FORCE)`);
    await query(process.env.TEST_DATABASE_URL!, 'DROP TABLESPACE small');
  });

  test('unpartition-pets.sql keeps the partitions if the copy is not the same', async () => {
    const url = await copyFor('unpartition-pets.sql');
    const before = await rows(url);
    const [begun] = read('unpartition-pets.sql').split(/^(?=-- Step 3)/m);
    await psql(url, begun!);
    await query(url, 'DELETE FROM pets_whole WHERE id = 12345');
    const { code, stderr } = await psql(
      url,
      read('unpartition-pets.sql').replace(/^-- Step 2[^]*(?=^-- Step 3)/m, ''),
    );
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('1 rows of pets_whole are not'),
    });
    expect(await rows(url)).toEqual(before);
    const [giveUp] = /DROP FUNCTION .*;/.exec(read('unpartition-pets.sql'))!;
    await query(url, giveUp);
    expect(await remains(url)).toEqual([]);
    await complete(url, 'unpartition-pets.sql', before);
  });

  test.each(SCRIPTS)('%s refuses a table with what would be lost, and names it', async (script) => {
    const url = await copyFor(script);
    await query(
      url,
      `CREATE PUBLICATION of_one FOR TABLE pets; CREATE PUBLICATION of_all FOR ALL TABLES;
       CREATE POLICY mine ON pets USING (true); ALTER TABLE pets ENABLE ROW LEVEL SECURITY;
       CREATE VIEW names AS SELECT name FROM pets; CREATE STATISTICS both_of (dependencies) ON category_id, status FROM pets;
       ALTER TABLE pets REPLICA IDENTITY FULL;
       CREATE FUNCTION first_of(pets) RETURNS text LANGUAGE sql AS $$ SELECT $1.name $$;
       CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
       CREATE TRIGGER heard AFTER INSERT ON pets FOR EACH ROW EXECUTE FUNCTION hear()`,
    );
    const before = await schemaOf(url);
    const { code, stderr } = await psql(url, script);
    expect(code).toBe(3);
    const [, named] = /pets has what would be lost: (.+)\n/.exec(stderr)!;
    expect(named).toBe(
      'function first_of(pets), policy mine on table pets, publication of_all, publication of_one, ' +
        'row level security of pets, rule _RETURN on view names, statistics object both_of, ' +
        'the replica identity of pets, trigger heard',
    );
    expect(await schemaOf(url)).toEqual(before);
    expect(await remains(url)).toEqual([]);
  });

  test('carries over owner, rights, comments, indexes, foreign keys and settings, whoever runs it', async () => {
    const url = await copyFor('partition-pets.sql');
    const names = ['owner', 'reader', 'writer'].map((name) => `${name}_${nameOf(url)}`);
    const [owner, reader, writer] = names;
    for (const name of names) await query(url, `CREATE ROLE ${name}`);
    await query(
      url,
      `GRANT CREATE, USAGE ON SCHEMA public TO ${owner};
       ALTER TABLE pets OWNER TO ${owner}; ALTER TABLE orders OWNER TO ${owner}; ALTER TABLE categories OWNER TO ${owner};
       ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} GRANT DELETE ON TABLES TO PUBLIC;
       GRANT SELECT ON pets TO ${reader} WITH GRANT OPTION; GRANT UPDATE (name, status) ON pets TO ${writer};
       GRANT INSERT ON pets TO PUBLIC; GRANT USAGE ON SEQUENCE pets_id_seq TO ${writer};
       ALTER SEQUENCE pets_id_seq CACHE 7; COMMENT ON TABLE pets IS 'Animals'; COMMENT ON COLUMN pets.name IS 'Called so';
       COMMENT ON INDEX pets_status_id_idx IS 'Pages'; ALTER TABLE pets ALTER status SET STATISTICS 500;
       ALTER TABLE pets ALTER name SET (n_distinct_inherited = -0.5); CREATE INDEX "By name" ON pets (lower(name)) WHERE status IS NULL;
       CREATE TABLE visits (id int, pet bigint REFERENCES pets)`,
    );
    const before = await schemaOf(url);
    const rowsBefore = await rows(url);
    await complete(url, 'partition-pets.sql', rowsBefore);
    const partitioned = await schemaOf(url);
    expect(partitioned).toEqual(before.map((line) => line.replace(' r ', ' p ')));
    await complete(url, 'unpartition-pets.sql', await rows(url));
    expect(await schemaOf(url)).toEqual(before);
  });
});

/** All that belongs to the table, line by line, without its partitions. */
async function schemaOf(url: string): Promise<string[]> {
  const lines = await query<{ line: string }>(
    url,
    `SELECT concat_ws(' ', 'index', replace(pg_get_indexdef(indexrelid), ' ONLY ', ' '), obj_description(indexrelid, 'pg_class')) AS line
       FROM pg_index WHERE indrelid = 'pets'::regclass
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
       WHERE (conrelid = 'pets'::regclass OR confrelid = 'pets'::regclass) AND conparentid = 0
     UNION ALL SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstattarget, attoptions,
         (SELECT array_agg(acl ORDER BY acl::text) FROM unnest(attacl) AS acl), col_description(attrelid, attnum))
       FROM pg_attribute WHERE attrelid = 'pets'::regclass AND attnum > 0
     UNION ALL SELECT concat_ws(' ', 'relation', relname, relkind, relowner::regrole,
         (SELECT array_agg(acl ORDER BY acl::text) FROM unnest(coalesce(relacl, acldefault((CASE relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", relowner))) AS acl), obj_description(oid, 'pg_class'), seqmax, seqcache)
       FROM pg_class LEFT JOIN pg_sequence ON seqrelid = oid WHERE relname IN ('pets', 'pets_id_seq')
     ORDER BY 1`,
  );
  return lines.map(({ line }) => line);
}

/** A file system of 48 MB that PostgreSQL may write to, if this process may mount one. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  const options = ['-t', 'tmpfs', '-o', 'size=48m,uid=65534,mode=700', 'none', folder];
  if (process.getuid?.() === 0 && spawnSync('mount', options).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}
