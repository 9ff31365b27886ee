import { commandLine, OperatorError } from '../process/index.js';

/**
 * SQLSTATE classes and codes that mean "not now": the statement is fine, but the server cannot run it.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const NOT_NOW = [
  '08', // connection exception
  '53', // insufficient resources: disk full, out of memory, too many connections
  '57', // operator intervention: shutdown, starting up, statement time-out
  '58', // system error: I/O error
  '25006', // read-only transaction: the primary has moved
  '25P03', // idle-in-transaction time-out
  '28', // the server no longer accepts this service's credentials
  '3D000', // the database does not exist, as in the middle of a restore
  '40', // transaction rollback: serialization failure, deadlock
  '55000', // the database accepts no connections
  '55P03', // lock time-out
  '2200H', // a sequence has reached its end
];

/** Codes of Node for a broken network path to the server, or a failure of TLS. */
const NETWORK =
  /^(?:E(?:CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|NONET|AI_|PROTO|ADDRNOTAVAIL|SHUTDOWN)|ERR_(?:SSL|TLS|SOCKET|STREAM)_|(?:DEPTH_ZERO_)?SELF_SIGNED|CERT_|UNABLE_TO_)/;

// Errors of `pg`, `pg-pool` and TypeORM without a code. A query runner is released early if its connection breaks between
// two statements of a transaction.
const BY_MESSAGE =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed and is not queryable|pool after calling end|timeout expired|[Qq]uery runner (?:was )?already released/;

/** No connection could be made, or none was free in time. */
export class NoConnection extends Error {}

/** Whether an error means that the database is away, too slow or too busy, and a later try can succeed. */
export function isUnavailable(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  const { code, driverError, syscall } = error as {
    code?: unknown;
    driverError?: unknown;
    syscall?: unknown;
  };
  if (driverError instanceof Error && isUnavailable(driverError)) return true;
  // `prepareSession` throws an `OperatorError` if the service cannot use the database.
  if (error instanceof OperatorError || error instanceof NoConnection) return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (typeof code !== 'string') return BY_MESSAGE.test(error.message);
  if (code.length === 5 && NOT_NOW.some((prefix) => code.startsWith(prefix))) return true;
  if (isLostStatement(error)) return true;
  // A missing socket file means that the server is not running; any other missing file is a bug.
  return NETWORK.test(code) || (code === 'ENOENT' && syscall === 'connect');
}

/** Properties of an `http-errors` error, which Nest's own filter answers with this status and no message. */
const ANSWERED_503 = { status: 503, statusCode: 503, expose: false };

/** Marks an error that means "not now": Nest's own filter, and filters that call it, answer 503. */
export function answered503<Failure>(error: Failure): Failure {
  return isUnavailable(error) ? Object.assign(error as object, ANSWERED_503) && error : error;
}

/**
 * Whether PostgreSQL has refused to run a prepared statement: a changed table gives its result other types,
 * or the session has lost the statement (`DISCARD ALL`, a pooler), or already has another of that name.
 */
export function isLostStatement(error: unknown): boolean {
  const { code, routine } = error as { code?: unknown; routine?: unknown };
  return code === '26000' || code === '42P05' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** The code of an error, or of the driver error inside: a SQLSTATE, or a code of Node such as ECONNREFUSED. */
export function codeOf(error: unknown): string | undefined {
  const { code } = ((error as { driverError?: object }).driverError ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** SQLSTATE `undefined_table`, `undefined_column` and `invalid_schema_name`. */
const SCHEMA_IS_OUTDATED = new Set(['42P01', '42703', '3F000']);

/** SQLSTATE `insufficient_privilege`. */
const NO_RIGHT = '42501';

/** A database error in the operator's terms; an unforeseen error unchanged, with its stack. */
export function explain(error: unknown): unknown {
  if (!Error.isError(error) || error instanceof OperatorError) return error;
  const code = codeOf(error);
  const { severity, syscall } = error as { severity?: string; syscall?: string };
  const { message } = error;
  // The error of `pg` if the URL has no password.
  if (/client password must be a/.test(message))
    return new OperatorError(
      'The database asks for a password, and its URL has none: postgresql://user:password@host/database.',
    );
  if (/does not support SSL/.test(message))
    return new OperatorError(`${message}, but its URL asks for SSL (sslmode or ssl): remove that option.`);
  if (code === 'ENOENT' && syscall === 'open')
    return new OperatorError(
      `${message}: sslrootcert, sslcert and sslkey in the URL of the database must be paths of existing files.`,
    );
  if (code === NO_RIGHT)
    return new OperatorError(
      `The role of the database lacks a right: ${message}. ${grantFor(message)} (docs/operating.md, "Migrations").`,
    );
  if (code && SCHEMA_IS_OUTDATED.has(code))
    return new OperatorError(`The schema is not up to date. Run \`${commandLine('migrate')}\` first.`);
  if (isUnavailable(error)) return new OperatorError(`The database cannot be reached: ${message || code}.`);
  if (severity === 'FATAL')
    return new OperatorError(
      `The database refuses the connection: ${message}. Check its URL, for example the options in it.`,
    );
  return error;
}

function grantFor(message: string): string {
  const [, kind, name] = /for (database|schema) (\S+)/.exec(message) ?? [];
  if (kind === 'database')
    return `As its owner: GRANT CREATE ON DATABASE "${name}" TO that role, or migrate as the owner`;
  if (kind === 'schema')
    return `As its owner: GRANT USAGE ON SCHEMA ${name} TO that role, and CREATE too if it migrates`;
  return 'As the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public, pgboss TO that role';
}
