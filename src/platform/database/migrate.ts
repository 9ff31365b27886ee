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
const LOCK_TIMEOUT = '55P03';

/**
 * Lets a migration wait only so long for a lock: behind one that waits for a table, all requests for that table wait.
 * One with `transaction = false`, such as for `CREATE INDEX CONCURRENTLY`, holds up nothing and waits.
 */
@EventSubscriber()
class MigrationLockTimeout implements EntitySubscriberInterface {
  async afterTransactionStart({ queryRunner }: TransactionStartEvent): Promise<void> {
    await queryRunner.query(`SET LOCAL lock_timeout = ${TIMEOUTS.migrationLock}`);
  }
}

/** Something else that keeps its tables in the database and migrates them itself. */
export type Install = (session: Pick<ClientBase, 'query'>) => Promise<void>;

/**
 * Brings the schema up to date. TypeORM takes no lock of its own, so instances that start together would run the same
 * migration twice: an advisory lock lets one do it while the others wait.
 * @returns the names of the migrations that were run
 * @throws OperatorError if the database cannot be reached, its turn does not come, or a migration does not get a lock in
 * time
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

/**
 * A schema that somebody has put in front of that of the tables would get all of them anew, and the service would have no data.
 * @throws OperatorError if the tables are found, but others would be made elsewhere
 */
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
  if (error.driverError.code !== LOCK_TIMEOUT)
    throw new OperatorError(`A migration failed: ${error.message}.`);
  throw new OperatorError(
    `A migration waited ${TIMEOUTS.migrationLock / 1000} s for a lock that another connection holds, and was undone. Start again.`,
  );
}

/** While one of these is off, a crash of the server or its machine can undo writes that were acknowledged. */
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

/** How often a process that waits for its turn asks again, in milliseconds. */
const INTERVAL_MS = 100;

/** Who has an advisory lock with a key of one number, which fits into 32 bits. */
const HOLDER = `
  SELECT pid, coalesce(host(client_addr), 'a local socket') AS address
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND classid = 0 AND objid = $1 AND objsubid = 1 AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Takes the lock under which one process migrates while others wait, and tells the log what it waits for.
 * @param limits after how many milliseconds it says so for the first time, how often again, and when it gives up
 * @throws OperatorError if it has waited in vain
 */
export async function awaitTurn(
  session: QueryRunner,
  lock: number,
  limits = TIMEOUTS.migrationTurn,
): Promise<void> {
  const begun = performance.now();
  for (let patience = limits.first; !(await isTaken(session, lock, patience)); patience = limits.next) {
    const waited = performance.now() - begun;
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
 * Takes a lock within so many milliseconds. It asks again and again: a statement that waited would hold a snapshot, for
 * whose end `CREATE INDEX CONCURRENTLY` waits, and with it the holder of the lock.
 */
async function isTaken(session: QueryRunner, lock: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    const rows = (await session.query('SELECT pg_try_advisory_lock($1) AS taken', [lock])) as {
      taken: boolean;
    }[];
    if (rows[0]!.taken) return true;
    if (performance.now() >= end) return false;
    await sleep(INTERVAL_MS);
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

let ofFeatures: readonly Migration[] = [];

/** Adds the migrations that features bring to those of `src/migrations`. */
export function bringMigrations(migrations: readonly Migration[]): void {
  ofFeatures = migrations;
}

/**
 * The classes of `src/migrations`, where a new file needs no registration, and those of the features. TypeORM runs those
 * that a database lacks in the order of the times that their names end with, also where later ones have been run.
 */
export async function loadMigrations(): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d+-.+(?<!\.d)\.[jt]s$/.test(name)).toSorted();
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href)));
  const own = modules.flatMap((module) => Object.values(module as Record<string, Migration>));
  const taken = ofFeatures.find(({ name }) => own.some((one) => one.name === name));
  if (taken)
    throw new OperatorError(`A feature brings the migration ${taken.name}, which the service has itself.`);
  return [...own, ...ofFeatures];
}
