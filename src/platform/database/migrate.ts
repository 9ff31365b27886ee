import { Logger } from '@nestjs/common';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import {
  DataSource,
  type EntitySubscriberInterface,
  EventSubscriber,
  type MigrationInterface,
  QueryFailedError,
  type QueryRunner,
  type TransactionStartEvent,
} from 'typeorm';
import type { Config } from '../../config.js';
import { OperatorError } from '../process/index.js';
import { sessionOptions } from './connection-options.js';
import { TIMEOUTS } from './session-settings.js';
import { explain } from './unavailable.js';

/** Arbitrary; the same in every instance of this service. */
const LOCK = 7_387_001;

/** SQLSTATE `lock_not_available`. */
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Limits how long a migration waits for a lock: all requests for a table queue up behind a migration that waits for it. A
 * migration with `transaction = false`, such as `CREATE INDEX CONCURRENTLY`, blocks nothing, and has no limit.
 */
@EventSubscriber()
class MigrationLockTimeout implements EntitySubscriberInterface {
  async afterTransactionStart({ queryRunner }: TransactionStartEvent): Promise<void> {
    await queryRunner.query(`SET LOCAL lock_timeout = ${TIMEOUTS.migrationLock}`);
  }
}

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
    await refuseOtherSchema(session);
    const done = await database.runMigrations({ transaction: 'each' }).catch(explainFailure);
    await install((await session.connect()) as ClientBase);
    await session.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    await warnOfDataLoss(session);
    return done.map(({ name }) => name);
  } finally {
    await session.release();
    await database.destroy();
  }
}

async function connect(config: Config, further: readonly Migration[]): Promise<DataSource> {
  const database = new DataSource({
    ...sessionOptions(config),
    migrations: await loadMigrations(further),
    subscribers: [MigrationLockTimeout],
  });
  return database.initialize().catch((error: unknown) => {
    throw explain(error);
  });
}

/** Another schema first in the `search_path` would get new, empty tables. @throws OperatorError */
async function refuseOtherSchema(session: QueryRunner): Promise<void> {
  const [found] = await session.manager.query<{ schema: string; first: string }[]>(`
    SELECT nspname AS schema, current_schema() AS first FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = to_regclass('migrations') AND to_regclass('pets') IS NOT NULL AND nspname <> current_schema()`);
  if (!found) return;
  throw new OperatorError(
    `The tables are in the schema ${found.schema}, but search_path has ${found.first} in front of it. Set search_path for the role or the database.`,
  );
}

/** TypeORM logs which migration it was. @throws OperatorError if its SQL failed; any other error unchanged */
function explainFailure(error: unknown): never {
  if (!(error instanceof QueryFailedError)) throw error;
  if (error.driverError.code !== LOCK_NOT_AVAILABLE)
    throw new OperatorError(`A migration failed: ${error.message}.`);
  throw new OperatorError(
    `A migration waited ${TIMEOUTS.migrationLock / 1000} s for a lock that another connection holds, and was undone. Start again.`,
  );
}

/** With one of these off, a crash of the server or its machine can undo acknowledged writes. */
async function warnOfDataLoss(session: QueryRunner): Promise<void> {
  const off = await session.manager.query<{ name: string }[]>(`
    SELECT name FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`);
  if (off.length === 0) return;
  const names = off.map(({ name }) => name).join(', ');
  new Logger('Database').warn(
    `PostgreSQL runs with ${names} off: a crash can lose what the service has acknowledged`,
  );
}

/** Milliseconds between two attempts to get the advisory lock. */
const RETRY_MS = 100;

/**
 * Acquires the lock for migrations, by repeated attempts: a statement that waited would hold a snapshot, for whose end
 * `CREATE INDEX CONCURRENTLY` waits, and with it the holder of the lock.
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
        'Another process has been migrating this database for ten minutes. If it is gone, end its session: it has the advisory lock in pg_locks.',
      );
    if (isLogged || waited < TIMEOUTS.migrationTurn.logged) continue;
    new Logger('Database').warn('Waiting for another process to migrate the database');
    isLogged = true;
  }
}

const FOLDER = new URL('../../migrations/', import.meta.url);

/**
 * The classes of `src/migrations`, where a new file needs no registration, and those of features. TypeORM runs those that a
 * database lacks in the order of the timestamps that end their names, even if later ones have run.
 */
export async function loadMigrations(ofFeatures: readonly Migration[] = []): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d+-.+(?<!\.d)\.[jt]s$/.test(name)).toSorted();
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href)));
  const own = modules.flatMap((module) => Object.values(module as Record<string, Migration>));
  const duplicate = ofFeatures.find(({ name }) => own.some((migration) => migration.name === name));
  if (duplicate)
    throw new OperatorError(
      `A feature brings the migration ${duplicate.name}, which the service has itself.`,
    );
  return [...own, ...ofFeatures];
}
