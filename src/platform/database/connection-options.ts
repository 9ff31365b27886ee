import { Socket } from 'node:net';
import type { ClientBase, ClientConfig, PoolConfig } from 'pg';
import {
  AdvancedConsoleLogger,
  type AfterQueryEvent,
  type BeforeQueryEvent,
  type EntitySubscriberInterface,
  EventSubscriber,
} from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../../config.js';
import type { ConnectionOptions } from './connections.js';
import { lendingPg } from './lent-pool.js';
import { CHECK_CLIENT, LIMITS, prepareSession, TIMEOUTS } from './session-settings.js';
import { answered503 } from './unavailable.js';

/**
 * Sends statements in one packet if none waits for another: `pg` corks the socket for each, and this socket
 * uncorks in the next tick, as Node advises. A change of an order with a key takes six writes, not eight.
 */
class PacketSocket extends Socket {
  override uncork(): void {
    process.nextTick(() => super.uncork());
  }
}

/**
 * Options of all pools except the one for slow operations. `pipeline` sends the statements of a transaction
 * without waiting for each answer.
 */
const COMMON = {
  keepAlive: true,
  pipeline: true,
  stream: () => new PacketSocket(),
  onConnect: (client: ClientBase) => prepareSession(client),
};

/** Marks `pg` errors that mean 503: TypeORM logs each, then copies the properties into an error of its own. */
class StatementFailures extends AdvancedConsoleLogger {
  override logQueryError(...[error, ...rest]: Parameters<AdvancedConsoleLogger['logQueryError']>): void {
    super.logQueryError(answered503(error), ...rest);
  }
}

/** Options of the connections for requests: TypeORM's pool to the primary, and pools to replicas. */
export function poolOptions(config: Config): ConnectionOptions {
  const pool = {
    ...COMMON,
    max: config.DATABASE_POOL_SIZE,
    // With `pipeline`, this time-out closes the connection.
    query_timeout: TIMEOUTS.silence,
    ...LIMITS,
  };
  return {
    ...optionsOf(config, 'petstore', pool),
    logger: new StatementFailures(),
    connectTimeoutMS: TIMEOUTS.connect,
    replicaPools: (config.DATABASE_REPLICA_URLS?.split(',') ?? []).map((url) => replicaPool(pool, url)),
  };
}

/** Options of a command, which waits longer for a busy server, as no client waits for an answer. */
export function commandOptions(config: Config): ConnectionOptions {
  const options = optionsOf(config, 'petstore-command', { ...COMMON, max: 1 });
  return { ...options, connectTimeoutMS: TIMEOUTS.start };
}

function optionsOf(config: Config, applicationName: string, pool: PoolConfig): ConnectionOptions {
  return {
    type: 'postgres',
    driver: lendingPg(),
    url: config.DATABASE_URL,
    applicationName,
    extra: { ...pool, slow: slowOptions(config) },
    preparesStatements: config.DATABASE_PREPARED_STATEMENTS === 'on',
  };
}

/** Options of a session that bypasses any pooler. */
export function sessionClient({ DATABASE_DIRECT_URL, DATABASE_URL }: Config, name: string) {
  return {
    connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
    application_name: name,
    connectionTimeoutMillis: TIMEOUTS.connect,
    keepAlive: true,
  } satisfies ClientConfig;
}

/** Options for slow operations. A pooler would drop the time-outs, so these connections bypass it. */
function slowOptions(config: Config): PoolConfig {
  const longestMs = config.OPERATION_MAX_SECONDS * 1_000;
  return {
    ...sessionClient(config, 'petstore-streams'),
    max: config.DATABASE_STREAMS,
    statement_timeout: longestMs,
    query_timeout: longestMs,
    // With `pipeline`, closing a connection waits for its slow statement, and cursors do not work.
    pipeline: false,
    // Makes PostgreSQL cancel a slow statement soon after its connection is closed.
    onConnect: (client) => prepareSession(client, CHECK_CLIENT),
  };
}

function replicaPool(pool: PoolConfig, connectionString: string): PoolConfig {
  const patience = {
    connectionTimeoutMillis: TIMEOUTS.replica,
    query_timeout: TIMEOUTS.replica,
    statement_timeout: TIMEOUTS.replica,
  };
  return { ...pool, ...patience, connectionString, application_name: 'petstore-lists' };
}

/**
 * Lifts the lock time-out for `CREATE INDEX CONCURRENTLY`, which blocks nothing, but waits for every open
 * transaction. Other migrations wait briefly, as all requests for a table queue up behind a waiting migration.
 */
@EventSubscriber()
class ConcurrentStatements implements EntitySubscriberInterface {
  async beforeQuery({ query, queryRunner }: BeforeQueryEvent): Promise<void> {
    if (isConcurrent(query)) await queryRunner.query('SET lock_timeout = 0');
  }

  async afterQuery({ query, queryRunner }: AfterQueryEvent): Promise<void> {
    if (isConcurrent(query)) await queryRunner.query('RESET lock_timeout');
  }
}

const isConcurrent = (query: string) => /\bINDEX\s+CONCURRENTLY\b/i.test(query);

/** Options for migrations, which may take long, and need a session of their own, past any pooler. */
export function sessionOptions(config: Config): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
    applicationName: 'petstore-migrations',
    connectTimeoutMS: TIMEOUTS.start,
    subscribers: [ConcurrentStatements],
    // Overrides the role's time-outs, which may be set for requests through a pooler. By the keep-alive probes,
    // the server notices within two minutes that the client machine is gone, and releases the client's locks.
    extra: {
      onConnect: (client: ClientBase) => prepareSession(client),
      options: `-c statement_timeout=0 -c lock_timeout=${TIMEOUTS.migrationLock} -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10`,
      keepAlive: true,
    },
  };
}

/** Connections for jobs, per process: jobs need sessions of their own. */
export const JOB_CONNECTIONS = 2;

/** Connections for migrations, commands and people. */
const RESERVE = 20;

/** Connections that the database must allow: per process, for requests, jobs, events and slow operations. */
export function connectionsOf({ WORKERS, DATABASE_POOL_SIZE, DATABASE_STREAMS }: Config): number {
  return WORKERS * (DATABASE_POOL_SIZE + JOB_CONNECTIONS + 1 + DATABASE_STREAMS) + RESERVE;
}
