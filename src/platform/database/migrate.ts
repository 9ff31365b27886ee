import { Logger } from '@nestjs/common';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import {
  AdvancedConsoleLogger,
  DataSource,
  type MigrationInterface,
  QueryFailedError,
  type QueryRunner,
} from 'typeorm';
import type { Config } from '../../config.js';
import { OperatorError } from '../process/index.js';
import { sessionOptions } from './connection-options.js';
import { TIMEOUTS } from './session-settings.js';
import { codeOf, explain } from './unavailable.js';

/** The key of the advisory lock: arbitrary, but the same in every instance. */
const LOCK = 7_387_001;

export type Migration = new () => MigrationInterface;

/** What a service adds to the migrations of `src/migrations`. */
export interface Schema {
  /** The migrations of its features. */
  readonly migrations: readonly Migration[];
  /** Installs, or migrates, tables that a library manages itself. */
  readonly install: (session: Pick<ClientBase, 'query'>) => Promise<void>;
}

/**
 * Brings the schema up to date. TypeORM takes no lock, so instances that start together would run a migration twice: an
 * advisory lock lets one migrate while the others wait.
 * @returns the names of the migrations that were run
 * @throws OperatorError if the database cannot be reached, the advisory lock does not become free, or a migration gets no
 * lock in time
 */
export async function migrate(config: Config, { migrations, install }: Schema): Promise<string[]> {
  const database = await connect(config, migrations);
  const session = database.createQueryRunner();
  try {
    await awaitTurn(session);
    await requireTables(session);
    const done = await database.runMigrations({ transaction: 'each' });
    await install((await session.connect()) as ClientBase);
    await session.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    return done.map(({ name }) => name);
  } catch (error) {
    throw await explainFailure(error, database);
  } finally {
    await session.release();
    await database.destroy();
  }
}

/** Remembers the name of a failed migration: TypeORM passes the name to its logger. */
class FailedMigration extends AdvancedConsoleLogger {
  name = '';

  override logMigration(message: string): void {
    this.name = /"(\w+)"/.exec(message)?.[1] ?? '';
  }

  override logQueryError(): void {}
}

async function connect(config: Config, further: readonly Migration[]): Promise<DataSource> {
  const migrations = await loadMigrations(further);
  const database = new DataSource({ ...sessionOptions(config), migrations, logger: new FailedMigration() });
  return database.initialize().catch((error: unknown) => {
    throw explain(error);
  });
}

/**
 * Checks existing tables. TypeORM does not see tables in a later schema of the `search_path`, nor tables on
 * which the role has no right, and would create new, empty ones.
 * @throws OperatorError for tables in another schema; PostgreSQL's error for a missing right
 */
async function requireTables(session: QueryRunner): Promise<void> {
  const [found] = await session.manager.query<{ schema: string; first: string }[]>(`
    SELECT nspname AS schema, current_schema() AS first FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = to_regclass('migrations') AND to_regclass('pets') IS NOT NULL`);
  if (!found) return;
  const { schema, first } = found;
  if (schema !== first)
    throw new OperatorError(
      `The tables are in the schema ${schema}, but search_path has ${first} in front of it. Set search_path for the role or the database.`,
    );
  await session.query('SELECT FROM migrations LIMIT 0');
}

/** SQLSTATE `lock_not_available`, and `insufficient_privilege`. */
const NO_LOCK = '55P03';
const NO_RIGHT = '42501';

/** The oldest transactions of other sessions with table locks: one of them blocked the migration. */
const HOLDERS = `
  SELECT format('%s (%s, %s, for %s s)', pid, usename, coalesce(nullif(application_name, ''), 'no name'),
    extract(epoch FROM now() - xact_start)::int) AS holder
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND pid IN (SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
      WHERE granted AND relnamespace = current_schema()::regnamespace)
  ORDER BY xact_start LIMIT 3`;

/** A failed migration in the operator's terms; any other error as `explain` returns it. */
async function explainFailure(failure: unknown, database: DataSource): Promise<unknown> {
  const code = Error.isError(failure) ? codeOf(failure) : undefined;
  if (code === NO_RIGHT || (code !== NO_LOCK && !(failure instanceof QueryFailedError)))
    return explain(failure);
  const { name } = database.logger as FailedMigration;
  if (code !== NO_LOCK)
    return new OperatorError(`The migration ${name} failed: ${(failure as Error).message}.`);
  const holders = await database.query<{ holder: string }[]>(HOLDERS).catch(() => []);
  const found =
    holders.length === 0 ? '' : ` Open transactions: ${holders.map(({ holder }) => holder).join(', ')}.`;
  // None runs while the tables of migrations, or those of jobs, are looked at.
  const what = ['The migration', name].filter(Boolean).join(' ');
  return new OperatorError(
    `${what} waited ${TIMEOUTS.migrationLock / 1000} s for a lock that another connection holds, and was undone.${found} Start again.`,
  );
}

/** Milliseconds between two attempts to get the advisory lock. */
const RETRY_MS = 100;

/**
 * Acquires the migration lock by repeated attempts. A statement that waits for the lock would hold a snapshot,
 * and the lock's holder, in `CREATE INDEX CONCURRENTLY`, would wait for that snapshot to end: a deadlock.
 * @throws OperatorError if the lock does not become free
 */
async function awaitTurn(session: QueryRunner): Promise<void> {
  const startedAt = performance.now();
  const acquire = async () => {
    const [row] = await session.manager.query<[{ acquired: boolean }]>(
      'SELECT pg_try_advisory_lock($1) AS acquired',
      [LOCK],
    );
    return row.acquired;
  };
  for (let isLogged = false; !(await acquire()); await sleep(RETRY_MS)) {
    const waited = performance.now() - startedAt;
    if (waited >= TIMEOUTS.migrationTurn.total)
      throw new OperatorError(
        'Another process has been migrating this database for ten minutes. If that process is gone, end the session that holds the advisory lock (see pg_locks).',
      );
    if (isLogged || waited < TIMEOUTS.migrationTurn.logged) continue;
    new Logger('Database').warn('Waiting for another process to migrate the database');
    isLogged = true;
  }
}

const FOLDER = new URL('../../migrations/', import.meta.url);

/**
 * The migrations in `src/migrations`, where a new file needs no registration, and those of features. TypeORM
 * runs missing migrations in the order of the timestamps that end their names, even if later ones have run.
 */
export async function loadMigrations(ofFeatures: readonly Migration[] = []): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d+-.+(?<!\.d)\.[jt]s$/.test(name)).toSorted();
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href)));
  const own = modules.flatMap((module) => Object.values(module as Record<string, Migration>));
  const duplicate = ofFeatures.find(({ name }) => own.some((migration) => migration.name === name));
  if (duplicate)
    throw new OperatorError(
      `A feature has a migration named ${duplicate.name}, but the service itself has one of that name.`,
    );
  return [...own, ...ofFeatures];
}
