/** What PostgreSQL allows without being told: https://www.postgresql.org/docs/current/runtime-config-connection.html */
const DEFAULT_CONNECTIONS = 100;

/**
 * What the log may hold: how the server fares, and nothing of a row, of a statement or of its values. An error is told to
 * whoever has sent the statement, and often quotes it: here only those that end a session or the server are written.
 */
const PRIVATE_LOG = {
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: -1,
  log_min_duration_sample: -1,
  log_parameter_max_length: 0,
  log_parameter_max_length_on_error: 0,
};

/**
 * Settings of an embedded server as arguments, which no file of its data directory overrides.
 * @param connections how many it must at least allow
 */
export function settingsFor(connections: number): string[] {
  const limit = connections > DEFAULT_CONNECTIONS ? { max_connections: connections } : {};
  return Object.entries({ ...PRIVATE_LOG, ...limit }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
