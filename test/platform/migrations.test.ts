import 'reflect-metadata';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { Config } from '../../src/config.js';
import { loadParts } from '../../src/load-features.js';
import { loadMigrations, migrate } from '../../src/platform/database/migrate.js';
import { TIMEOUTS } from '../../src/platform/database/session-settings.js';
import { installJobs } from '../../src/platform/jobs/boss.js';
import { connect } from '../support/database.js';
import { eventually, ROOT, runNode } from '../support/npm.js';
import { createDatabase, query } from '../../src/testing/service.js';

/** The lock under which one process migrates. */
const LOCK = 7_387_001;

let url: string;
let database: DataSource;
let other: Client;
beforeAll(async () => {
  url = await createDatabase('TEMPLATE migrated');
  const { features } = await loadParts();
  ({ database } = await connect(url, { migrations: await loadMigrations(features.migrations) }));
  other = new Client({ connectionString: url });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await database.destroy();
});

const config = () => Object.assign(new Config(), { DATABASE_URL: url });
const migrateNow = () => migrate(config(), { migrations: [], install: () => Promise.resolve() });

async function revert(name: string): Promise<void> {
  for (let reverted; reverted !== name; await database.undoLastMigration()) reverted = await lastOne();
}

async function lastOne(): Promise<string> {
  const sql = 'SELECT name FROM migrations ORDER BY id DESC LIMIT 1';
  return (await query<{ name: string }>(url, sql))[0]!.name;
}

/** Runs `work` while another connection uses a table in a transaction that does not end. */
async function whileTableIsUsed<T>(table: string, lock: string, work: () => Promise<T>): Promise<T> {
  await other.query(`BEGIN; LOCK TABLE ${table} IN ${lock} MODE`);
  return work().finally(() => other.query('ROLLBACK'));
}

test('The migrations make the schema that the entities describe', async () => {
  const { upQueries } = await database.driver.createSchemaBuilder().log();
  expect(upQueries.map(({ query: sql }) => sql)).toEqual([]);
});

test.each([
  ['', 'MessageFailures1795237200000', 'messages', 'failure'],
  [' without a transaction', 'AuditOfJobs1795316400000', 'audit_log', 'job'],
])(
  'A migration%s that waits two seconds for a lock is undone, says who has it, and can be run again',
  async (_kind, name, table, column) => {
    await revert(name);
    await other.query(`SET application_name = 'a report'`);
    const printed = jest.spyOn(console, 'log').mockImplementation(() => {});
    await expect(whileTableIsUsed(table, 'ACCESS SHARE', migrateNow)).rejects.toThrow(
      new RegExp(
        `^The migration ${name} waited 2 s for a lock that another connection holds, and was undone. ` +
          `Open transactions: \\d+ \\(petstore, a report, for \\d+ s\\)\\. Start again\\.$`,
      ),
    );
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
    expect(await migrateNow()).toContain(name);
    await query(url, `SELECT ${column} FROM ${table}`);
  },
);

test('A wait for a lock on the tables of jobs ends a migration in words that name none', async () => {
  const migrateAll = () => migrate(config(), { migrations: [], install: installJobs });
  await migrateAll();
  await revert('FailuresOfMessages1795939200000');
  await expect(whileTableIsUsed('pgboss.version', 'ACCESS EXCLUSIVE', migrateAll)).rejects.toThrow(
    /^The migration waited 2 s for a lock that another connection holds, and was undone\./,
  );
  expect(await migrateAll()).toEqual([]);
});

test('Concurrent index builds do not wait for processes that wait to migrate', async () => {
  await revert('PetsOfACategory1795273200000');
  const isAsked = (sql: string) => async () =>
    (await query(url, 'SELECT FROM pg_stat_activity WHERE query LIKE $1', [sql])).length > 0;
  const runs: ReturnType<typeof migrate>[] = [];
  await whileTableIsUsed('pets', 'ROW EXCLUSIVE', async () => {
    runs.push(migrateNow());
    await eventually(isAsked('CREATE INDEX CONCURRENTLY%'));
    runs.push(migrateNow());
    await eventually(isAsked('SELECT pg_%advisory_lock(%'));
    // Longer than other migrations wait for a lock.
    await sleep(TIMEOUTS.migrationLock + 500);
  });
  const [first, second] = await Promise.all(runs);
  expect([first![0], second]).toEqual(['PetsOfACategory1795273200000', []]);
  const sql = `SELECT indexrelid::regclass::text AS name FROM pg_index
    WHERE indrelid = 'pets'::regclass AND indisvalid AND indexrelid::regclass::text LIKE '%category%'`;
  const names = (await query<{ name: string }>(url, sql)).map(({ name }) => name);
  expect(names.toSorted()).toEqual(['pets_category_id_id_idx', 'pets_status_category_id_id_idx']);
});

test('A process that waits for its turn to migrate says so in the log, and goes on once that is over', async () => {
  await other.query('SELECT pg_advisory_lock($1)', [LOCK]);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
  const waiting = migrateNow();
  await eventually(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls[0]![0]).toBe('Waiting for another process to migrate the database');
  await other.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  expect(await waiting).toEqual([]);
  warn.mockRestore();
});

test('The command line of migrations reverts the last one, and asks in one line for the server to work on', async () => {
  const revertBy = (env: Record<string, string>) => {
    const cli = join(ROOT, 'node_modules/typeorm/cli.js');
    return runNode([cli, '-d', join(ROOT, 'dist/ormconfig.js'), 'migration:revert'], { env });
  };
  const last = await lastOne();
  const [reverted, refused] = await Promise.all([revertBy({ DATABASE_URL: url }), revertBy({})]);
  expect(reverted).toMatchObject({ code: 0, stdout: expect.stringContaining(last) });
  expect(refused).toMatchObject({
    code: 1,
    stderr: 'petstore: Set DATABASE_URL to the server whose schema you want to change.\n',
  });
});
