export {
  commandOptions,
  connectionsOf,
  JOB_CONNECTIONS,
  poolOptions,
  sessionClient,
  sessionOptions,
} from './connection-options.js';
export { Connections, type Row, type Statement } from './connections.js';
export { DatabaseModule, SchemaCheck } from './database.module.js';
export { EmbeddedPostgres } from './embedded/embedded-postgres.js';
export { codeOf, explain, isUnavailable } from './unavailable.js';
export { withoutDeadline } from './lent-pool.js';
export { loadMigrations, migrate, type Migration } from './migrate.js';
export { openDatabase, type OpenDatabase, reachDatabase, startOnDatabase } from './open.js';
export { RowStreams, type Sql } from './row-streams.js';
export { LIMITS, prepareSession, TIMEOUTS } from './session-settings.js';
export { SharedLookUps, SharedRead } from './shared-reads.js';
