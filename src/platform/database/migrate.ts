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

/** Installs, or migrates, tables that a library manages itself. */
export type Install = (session: Pick<ClientBase, 'query'>) => Promise<void>;

/**
 * Brings the schema up to date. TypeORM takes no lock, so instances that start together would run a migration twice: an
 * advisory lock lets one migrate while the others wait.
 * @returns the names of the migrations that were run
 * @throws OperatorError if the database cannot be reached, the advisory lock does not become free, or a migration gets no
 * lock in time
 */
export async function migrate(config: Config, install: Install): Promise<string[]> {
  const database = await connect(config);
  const session = database.createQueryRunner();
  try {
    await awaitTurn(session, LOCK);
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

async function connect(config: Config): Promise<DataSource> {
  const database = new DataSource({
    ...sessionOptions(config),
    migrations: await loadMigrations(),
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

/** The session that holds an advisory lock with a single key of 32 bits. */
const HOLDER = `
  SELECT pid, coalesce(host(client_addr), 'a local socket') AS address
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND classid = 0 AND objid = $1 AND objsubid = 1 AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Acquires the lock for migrations, and logs which session it waits for.
 * @param limits milliseconds until the first log line, between log lines, and until it gives up
 * @throws OperatorError if the lock does not become free
 */
export async function awaitTurn(
  session: QueryRunner,
  lock: number,
  limits = TIMEOUTS.migrationTurn,
): Promise<void> {
  const startedAt = performance.now();
  for (let patience = limits.first; !(await tryAcquire(session, lock, patience)); patience = limits.next) {
    const waited = performance.now() - startedAt;
    const holder = await findHolder(session, lock);
    if (waited >= limits.total)
      throw new OperatorError(
        `${holder} has been migrating this database for more than ${seconds(waited)}. If it is gone, end its session.`,
      );
    new Logger('Database').warn(
      `Waiting for ${holder} to migrate the database, for ${seconds(waited)} so far`,
    );
  }
}

/**
 * Acquires a lock within `withinMs`, by repeated attempts: a statement that waited would hold a snapshot, for whose end
 * `CREATE INDEX CONCURRENTLY` waits, and with it the holder of the lock.
 */
async function tryAcquire(session: QueryRunner, lock: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    const rows = (await session.query('SELECT pg_try_advisory_lock($1) AS acquired', [lock])) as {
      acquired: boolean;
    }[];
    if (rows[0]!.acquired) return true;
    if (performance.now() >= end) return false;
    await sleep(RETRY_MS);
  }
}

async function findHolder(session: QueryRunner, lock: number): Promise<string> {
  const rows = (await session.query(HOLDER, [lock])) as { pid: number; address: string }[];
  const [holder] = rows;
  return holder
    ? `another process (PostgreSQL's session ${holder.pid}, from ${holder.address})`
    : 'another process';
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1_000)} s`;
}

const FOLDER = new URL('../../migrations/', import.meta.url);

type Migration = new () => MigrationInterface;

let featureMigrations: readonly Migration[] = [];

/** Sets the migrations of features, which run beside those of `src/migrations`. */
export function bringMigrations(migrations: readonly Migration[]): void {
  featureMigrations = migrations;
}

/**
 * The classes of `src/migrations`, where a new file needs no registration, and those of features. TypeORM runs those that a
 * database lacks in the order of the timestamps that end their names, even if later ones have run.
 */
export async function loadMigrations(): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d+-.+(?<!\.d)\.[jt]s$/.test(name)).toSorted();
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href)));
  const own = modules.flatMap((module) => Object.values(module as Record<string, Migration>));
  const duplicate = featureMigrations.find(({ name }) => own.some((migration) => migration.name === name));
  if (duplicate)
    throw new OperatorError(
      `A feature brings the migration ${duplicate.name}, which the service has itself.`,
    );
  return [...own, ...featureMigrations];
}
