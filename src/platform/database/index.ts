export { asker, type Asker, asPartOf, outside } from './asker.js';
export { Batcher, bytesOf, isLarge, isUndone, made, type Outcome } from './batcher.js';
export {
  commandOptions,
  JOB_CONNECTIONS,
  poolOptions,
  besidePool,
  sessionOptions,
} from './connection-options.js';
export { Connections, type Run, type Statement } from './connections.js';
export { DatabaseModule, SchemaCheck } from './database.module.js';
export { DeadlineClient } from './deadline-client.js';
export { EmbeddedPostgres } from './embedded/embedded-postgres.js';
export { codeOf, explain, isLostStatement, isUnavailable } from './unavailable.js';
export { HostClient } from './host-client.js';
export { bringMigrations, migrate } from './migrate.js';
export { openDatabase, type OpenDatabase, reachDatabase, startOnDatabase } from './open.js';
export { RowStreams, type Sql } from './row-streams.js';
export { TIMEOUTS } from './session-settings.js';
