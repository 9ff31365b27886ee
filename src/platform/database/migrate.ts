import { Logger } from '@nestjs/common';
import type { ClientBase } from 'pg';
import {
  DataSource,
  type EntitySubscriberInterface,
  EventSubscriber,
  QueryFailedError,
  type QueryRunner,
  type TransactionStartEvent,
} from 'typeorm';
import type { Config } from '../../config.js';
import { OperatorError } from '../process/index.js';
import { sessionOptions } from './connection-options.js';
import { explain } from './explain.js';
import { awaitTurn } from './migration-turn.js';
import { loadMigrations } from './migrations.js';
import { TIMEOUTS } from './timeouts.js';
import { refuseUnfinishedCopy } from './unfinished-copy.js';

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
 * @param intoUnfinishedCopy whether it is for a copy, which no service may start on before it is complete
 * @throws OperatorError if the database cannot be reached, its turn does not come, or a migration does not get a lock in
 * time
 */
export async function migrate(
  config: Config,
  install: Install,
  { intoUnfinishedCopy = false } = {},
): Promise<string[]> {
  const database = await connect(config);
  const session = database.createQueryRunner();
  try {
    await awaitTurn(session, LOCK);
    if (!intoUnfinishedCopy) await refuseUnfinishedCopy(session);
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
