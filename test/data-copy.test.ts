import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.js';
import { call, createKey } from '../src/testing/client.js';
import { endRuns, eventually, newFolder, nodeStart, removeFolders, ROOT, runNode } from './support/npm.js';
import { createDatabase, query, startService } from '../src/testing/service.js';

const MAIN = 'dist/src/commands/admin/main.js';
const PETS = 20_000;

let source: string;
let key: string;

/** Runs a command of `admin data`; the database of its configuration is the source unless `env` names another. */
const data = (args: string[], env: Record<string, string> = { DATABASE_URL: source }) =>
  runNode([MAIN, 'data', ...args], { env });

const count = async (url: string, table: string) =>
  (await query<{ count: number }>(url, `SELECT count(*)::int FROM ${table}`))[0]!.count;

beforeAll(async () => {
  const service = await startService();
  source = service.databaseUrl;
  key = await createKey(service);
  const body = { name: 'Luna "\\N"\t\n, ü', categoryId: 1, status: 'available' };
  const { body: pet } = await call(service, 'POST', '/v1/pets', { key, body });
  await call(service, 'POST', '/v1/store/orders', { key, body: { petId: pet.id } });
  await call(service, 'POST', '/v1/messages', { key, body: { message: 'Hello\\.\r\n' } });
  await call(service, 'POST', '/v1/categories', { key, body: { name: 'Ponies' } });
  await service.stop();
  await query(
    source,
    `INSERT INTO pets (name, category_id) SELECT 'Pet ' || n, 1 + n % 10 FROM generate_series(1, ${PETS}) n`,
  );
});
afterEach(endRuns);
afterAll(removeFolders);

describe('A copy of a database', () => {
  test('holds everything, and a service goes on with it', async () => {
    const target = await createDatabase();
    const { code, stdout, stderr } = await data(['copy', '--to', target]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/100 %\n$/) });
    expect(stdout).toMatch(/^public\.pets +20001 +-?\d+$/m);
    expect(stdout).toMatch(/^pgboss\.job +1 /m);
    expect(stdout).toMatch(
      /\nCopied [\d,]+ rows in \d+\.\d s: [\d,]+ a second\. Counts and checksums are the same/,
    );
    const service = await startService({ DATABASE_URL: target });
    const order = await call(service, 'GET', '/v1/store/orders', { key });
    expect(order.body).toHaveLength(1);
    const body = { name: 'Milo', categoryId: 11 };
    const { body: pet } = await call(service, 'POST', '/v1/pets', { key, body });
    expect(pet.id).toBeGreaterThan(PETS + 1);
    expect((await call(service, 'POST', '/v1/messages', { key, body: { message: 'Again' } })).status).toBe(
      202,
    );
    await service.stop();
    const again = await data(['copy', '--to', target]);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^petstore: The target already holds data/),
    });
    expect(await count(target, 'pets')).toBe(PETS + 2);
  });

  test('that was cut off is completed by another run, and no service starts on it before', async () => {
    const target = await createDatabase();
    await data(['copy', '--to', target]);
    // As if it had ended in the middle of the animals, with others meanwhile sold.
    await query(target, 'CREATE SCHEMA petstore_unfinished_copy');
    await query(target, 'TRUNCATE orders, messages');
    await query(target, 'DELETE FROM pets WHERE id % 2 = 0');
    const refused = await nodeStart({ DATABASE_URL: target }).failure();
    expect(refused).toMatch(/^petstore: The copy into this database is not complete\. [^\n]+\n$/);
    const { code, stdout } = await data(['copy', '--to', target]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('are the same in both') });
    expect(await count(target, 'pets')).toBe(PETS + 1);
  });

  test('that is killed is completed by another run', async () => {
    const target = await createDatabase();
    const env = { PATH: process.env.PATH, DATABASE_URL: source };
    const child = spawn(process.execPath, [MAIN, 'data', 'copy', '--to', target], {
      cwd: ROOT,
      env,
      stdio: 'ignore',
    });
    const begun = `SELECT FROM pg_namespace WHERE nspname = 'petstore_unfinished_copy'`;
    await eventually(async () => (await query(target, begun)).length > 0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await query(target, begun)).toHaveLength(1);
    // The server may need a moment to see that the first one is gone.
    await eventually(async () => (await data(['copy', '--to', target])).code === 0);
    expect(await count(target, 'pets')).toBe(PETS + 1);
    expect(await query(target, begun)).toEqual([]);
  });

  test('has everything of one moment, whatever is written meanwhile', async () => {
    const from = await createDatabase(`TEMPLATE ${new URL(source).pathname.slice(1)}`);
    const writer = new Client({ connectionString: from });
    await writer.connect();
    const over = new AbortController();
    let written = 0;
    const writing = (async () => {
      while (!over.signal.aborted) {
        // An order, of an animal that was not there before, and after both an animal of its own.
        await writer.query(
          `WITH pet AS (INSERT INTO pets (name, category_id) VALUES ('New', 1) RETURNING id)
           INSERT INTO orders (account_id, pet_id, status) SELECT (SELECT min(id) FROM accounts), id, 'delivered' FROM pet`,
        );
        await writer.query(`INSERT INTO pets (name, category_id) VALUES ('Later', 1)`);
        written++;
      }
    })();
    await eventually(() => written > 10);
    const begun = written;
    const target = await createDatabase();
    const ended = await data(['copy', '--to', target], { DATABASE_URL: from });
    over.abort();
    await writing;
    await writer.end();
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('are the same in both') });
    const [held] = await query<{ new: number; later: number; orders: number }>(
      target,
      `SELECT count(*) FILTER (WHERE name = 'New')::int AS new, count(*) FILTER (WHERE name = 'Later')::int AS later,
         count(orders.id) FILTER (WHERE name = 'New')::int AS orders FROM pets LEFT JOIN orders ON pet_id = pets.id`,
    );
    expect(held!.orders).toBe(held!.new);
    expect([0, 1]).toContain(held!.new - held!.later);
    expect(held!.new).toBeGreaterThanOrEqual(begun);
    expect(held!.new).toBeLessThan(written);
  });

  test('of partitioned animals holds them in one table', async () => {
    const from = await createDatabase(`TEMPLATE ${new URL(source).pathname.slice(1)}`);
    const script = readFileSync(join(ROOT, 'deploy/postgres/partition-pets.sql'), 'utf8').split(
      /^(?=-- Step )/m,
    );
    for (const step of script.slice(1)) await query(from, step);
    const target = await createDatabase();
    const { code, stdout } = await data(['copy', '--to', target], { DATABASE_URL: from });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('are the same in both') });
    const service = await startService({ DATABASE_URL: target });
    const created = await call(service, 'POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } });
    expect(created.body.id).toBeGreaterThan(PETS + 1);
    await service.stop();
  });

  test('holds each row once, of tables that others inherit from', async () => {
    const from = await createDatabase(`TEMPLATE ${new URL(source).pathname.slice(1)}`);
    const target = await createDatabase();
    await data(['copy', '--to', target], { DATABASE_URL: from });
    // As if migrations had made them, and the copy had been cut off.
    for (const url of [from, target])
      await query(
        url,
        `CREATE TABLE notes (text text); CREATE TABLE longer (more text) INHERITS (notes);
         CREATE TABLE longest () INHERITS (longer, notes)`,
      );
    await query(target, `CREATE SCHEMA petstore_unfinished_copy; INSERT INTO longest VALUES ('c', 'c')`);
    await query(
      from,
      `INSERT INTO notes VALUES ('a'), ('b'); INSERT INTO longer VALUES ('b', 'b'); INSERT INTO longest VALUES ('c', 'c')`,
    );
    const { code, stdout, stderr } = await data(['copy', '--to', target], { DATABASE_URL: from });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/100 %\n$/) });
    expect(stdout).toMatch(/^public\.notes +2 /m);
    expect(stdout).toMatch(/^public\.longer +1 /m);
    expect(stdout).toMatch(/^public\.longest +1 /m);
    const rows = `SELECT tableoid::regclass::text AS of, text FROM notes ORDER BY 1, 2`;
    expect(await query(target, rows)).toEqual(await query(from, rows));
  });

  test('goes from one server into the embedded one of a new folder, and out of it', async () => {
    const DATA_DIR = newFolder();
    expect((await data(['copy', '--from', source], { DATA_DIR })).code).toBe(0);
    const target = await createDatabase();
    expect((await data(['copy', '--to', target], { DATA_DIR })).code).toBe(0);
    expect(await count(target, 'pets')).toBe(PETS + 1);
    const external = await EmbeddedPostgres.start(newFolder());
    expect((await data(['copy', '--to', external.url], { DATA_DIR })).code).toBe(0);
    await external.postgres.stop();
  });
});

test('An embedded PostgreSQL is served without the service, until a signal', async () => {
  const DATA_DIR = newFolder();
  expect((await data(['copy', '--from', source], { DATA_DIR })).code).toBe(0);
  const env = { PATH: process.env.PATH, DATA_DIR };
  const child = spawn(process.execPath, [MAIN, 'data', 'serve'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(child.stdout, 'data')) as [Buffer];
  expect(await count(url.toString().trim(), 'pets')).toBe(PETS + 1);
  child.kill('SIGTERM');
  await once(child, 'exit');
});

test.each<[string, () => Promise<[string[], Record<string, string>]>, RegExp]>([
  [
    'into itself',
    async () => [['--to', source], { DATABASE_URL: source }],
    /^petstore: The target is the source itself\.\n$/,
  ],
  [
    'into a database with other tables',
    async () => {
      const target = await createDatabase();
      await query(target, 'CREATE TABLE theirs (id int)');
      return [['--to', target], { DATABASE_URL: source }];
    },
    /^petstore: The target already holds data[^\n]+\n$/,
  ],
  [
    'from a database without the schema',
    async () => [['--to', await createDatabase()], { DATABASE_URL: await createDatabase() }],
    /^petstore: The schema is not up to date\. [^\n]+\n$/,
  ],
  [
    'from a database behind this release',
    async () => {
      const target = await createDatabase();
      await data(['copy', '--to', target]);
      await query(target, 'DELETE FROM migrations WHERE id = 3');
      return [['--to', await createDatabase()], { DATABASE_URL: target }];
    },
    /^petstore: The source lacks migrations \(\w+\)\. [^\n]+\n$/,
  ],
  [
    'of a database that was changed by hand',
    async () => {
      const changed = await createDatabase(`TEMPLATE ${new URL(source).pathname.slice(1)}`);
      await query(changed, 'CREATE TABLE theirs (id int)');
      return [['--to', await createDatabase()], { DATABASE_URL: changed }];
    },
    /^petstore: Only the source has public\.theirs \(id\), which no migration [^\n]+ pg_dump [^\n]+\n$/,
  ],
  [
    'to a server that is away',
    async () => [['--to', 'postgresql://u:s3cret@127.0.0.1:1/x'], { DATABASE_URL: source }],
    /^petstore: The database cannot be reached: [^\n]*ECONNREFUSED[^\n]*\n$/,
  ],
])('A copy %s is refused in one line', async (_name, prepare, line) => {
  const [args, env] = await prepare();
  const { code, stderr } = await data(['copy', ...args], env);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
  expect(stderr).not.toContain('s3cret');
});
