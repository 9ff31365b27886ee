import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config.js';
import { DeadlineClient } from './deadline-client.js';
import { TIMEOUTS } from './timeouts.js';

/** TypeORM's options for the connections that requests use. */
export function poolOptions(config: Config): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: config.DATABASE_URL,
    applicationName: 'petstore',
    connectTimeoutMS: TIMEOUTS.connect,
    extra: {
      max: config.DATABASE_POOL_SIZE,
      Client: DeadlineClient,
      keepAlive: true,
      statement_timeout: TIMEOUTS.statement,
      lock_timeout: TIMEOUTS.lock,
      idle_in_transaction_session_timeout: TIMEOUTS.idleInTransaction,
    },
  };
}

/** TypeORM's options for what needs a session of its own, past a pooler, and may take its time: migrations. */
export function sessionOptions(config: Config): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
    applicationName: 'petstore-migrations',
    connectTimeoutMS: TIMEOUTS.start,
  };
}
