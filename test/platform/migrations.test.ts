import { join } from 'node:path';
import { Client } from 'pg';
import { migrate as runMigrations } from '../support/commands.js';
import { eventually, ROOT, runNode } from '../support/npm.js';
import { query, type Service, startService } from '../../src/testing/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const node = (args: string[], env: Record<string, string> = { DATABASE_URL: service.databaseUrl }) =>
  runNode(args, { env });

const typeorm = (args: string[], env?: Record<string, string>) =>
  node([join(ROOT, 'node_modules/typeorm/cli.js'), '-d', join(ROOT, 'dist/ormconfig.js'), ...args], env);
const migrate = () => runMigrations({ DATABASE_URL: service.databaseUrl });

/** Reverts a migration, after those that were run since, also of features that were added. */
async function revertTo(name: string): Promise<void> {
  expect(await node(['test/support/revert-after.js', name])).toMatchObject({ code: 0 });
  const reverted = await typeorm(['migration:revert']);
  expect(reverted).toMatchObject({ code: 0, stdout: expect.stringContaining(name) });
}

/** Runs `work` while another connection uses a table in a transaction that does not end. */
async function whileTableIsUsed<T>(table: string, lock: string, work: () => Promise<T>): Promise<T> {
  const user = new Client({ connectionString: service.databaseUrl });
  await user.connect();
  await user.query(`BEGIN; LOCK TABLE ${table} IN ${lock} MODE`);
  return work().finally(() => user.end());
}

test('The migrations make the schema that the entities describe', async () => {
  const { stdout } = await typeorm(['migration:generate', '--check', '--dryrun', 'drift']);
  expect(stdout).toContain('No changes in database schema were found');
});

test('A migration that waits two seconds for a lock is undone, says so, and can be run again', async () => {
  await revertTo('MessageFailures1795237200000');
  expect(await whileTableIsUsed('messages', 'ACCESS SHARE', migrate)).toMatchObject({
    code: 1,
    stderr:
      'petstore: A migration waited 2 s for a lock that another connection holds, and was undone. Start again.\n',
  });
  expect((await migrate()).code).toBe(0);
  await query(service.databaseUrl, 'SELECT failure FROM messages');
});

test('Indexes that are built beside writes do not wait for processes that wait for their turn', async () => {
  await revertTo('PetsOfACategory1795273200000');
  const isAsked = (sql: string) => async () =>
    (await query(service.databaseUrl, 'SELECT FROM pg_stat_activity WHERE query LIKE $1', [sql])).length > 0;
  const runs: ReturnType<typeof migrate>[] = [];
  await whileTableIsUsed('pets', 'ROW EXCLUSIVE', async () => {
    runs.push(migrate());
    await eventually(isAsked('CREATE INDEX CONCURRENTLY%'));
    runs.push(migrate());
    await eventually(isAsked('SELECT pg_%advisory_lock(%'));
  });
  for (const run of runs) expect(await run).toMatchObject({ code: 0 });
  const sql = `SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'pets'::regclass AND indisvalid`;
  const names = (await query<{ name: string }>(service.databaseUrl, sql)).map(({ name }) => name);
  expect(names.toSorted()).toEqual([
    'pets_category_id_id_idx',
    'pets_pkey',
    'pets_status_category_id_id_idx',
    'pets_status_id_idx',
  ]);
});

test('The command line of migrations asks in one line for the server that it works on', async () => {
  expect(await typeorm(['migration:revert'], {})).toMatchObject({
    code: 1,
    stderr: 'petstore: Set DATABASE_URL to the server whose schema you want to change.\n',
  });
});
