import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config.js';

/** Milliseconds. A request gets its answer, a 503 if need be, within 3 seconds. */
const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` would wait for ever. */
  connect: 2_000,
  /** The server ends a statement that runs longer, also one that waits for a lock. */
  statement: 2_000,
  /** The client gives up on a server that does not even say that: a frozen one. */
  query: 2_500,
};

/** TypeORM's options for the connections that requests use. */
export function poolOptions(config: Config): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: config.DATABASE_URL,
    applicationName: 'petstore',
    connectTimeoutMS: TIMEOUTS.connect,
    extra: {
      max: config.DATABASE_POOL_SIZE,
      statement_timeout: TIMEOUTS.statement,
      query_timeout: TIMEOUTS.query,
      idle_in_transaction_session_timeout: TIMEOUTS.query,
    },
  };
}

/** TypeORM's options for what needs a session of its own, past a pooler, and may take its time: migrations. */
export function sessionOptions(config: Config): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
    applicationName: 'petstore-migrations',
    connectTimeoutMS: TIMEOUTS.connect,
  };
}
