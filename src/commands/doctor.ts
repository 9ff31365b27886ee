import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import type { Config } from '../config.js';
import {
  connectionsOf,
  explain,
  LIMITS,
  loadMigrations,
  type Migration,
  prepareSession,
  sessionClient,
} from '../platform/database/index.js';
import {
  addressIn,
  commandLine,
  fetchDiscovery,
  fetchJson,
  OperatorError,
} from '../platform/process/index.js';
import { type CommandEnvironment, CommandLine } from './command.js';

/** Returns the problems found, each with its remedy. */
type Check = (config: Config, migrations: readonly Migration[]) => Promise<string[]>;

/** Milliseconds that a server may take. */
const PATIENCE_MS = 5_000;
const MIN_DESCRIPTORS = 4_096;
/** Seconds by which the server's clock may differ from this machine's, as tokens and keys expire by time. */
const MAX_SKEW = 2;
/** Milliseconds that a replica may lag. */
const MAX_LAG_MS = 1_000;

/** `petstore doctor`: checks settings and servers, changes nothing. Exit status 1 if there is a problem. */
export function doctor(args: string[], environment: CommandEnvironment): Promise<number> {
  const title = 'Checks the settings, and the servers that the service will use.';
  const line = new CommandLine('doctor', title, environment);
  line.program.action(() =>
    line.onDatabase(async ({ config }) => {
      const { features } = await environment.parts();
      const migrations = await loadMigrations(features.migrations);
      await line.print(['ok       settings']);
      const found = new Set<string>();
      // All at once, as each check may wait for a server that does not answer.
      const checks = Object.entries(CHECKS).map(([name, check]) => ({
        name,
        checked: check(config, migrations).catch((error: unknown) => [reasonOf(error)]),
      }));
      for (const { name, checked } of checks) {
        const problems = await checked;
        // A database that is away gives several checks the same problem.
        const further = problems.filter((problem) => !found.has(problem));
        for (const problem of further) found.add(problem);
        await line.print(further.map((problem) => `PROBLEM  ${name}: ${problem}`));
        if (problems.length === 0) await line.print([`ok       ${name}`]);
      }
      if (found.size > 0) throw new OperatorError(`Problems found: ${found.size}.`);
    }),
  );
  return line.run(args);
}

const reasonOf = (error: unknown) => (explain(error) as Error).message;

const CHECKS: Record<string, Check> = {
  'database server': onDatabase(async (ask, config) => {
    const [server] = await ask<Server>(SERVER);
    const { version, off, connections, isReadOnly, epoch, isFirst } = server!;
    const ahead = epoch - Date.now() / 1_000;
    const needed = connectionsOf(config);
    return those({
      'PostgreSQL is older than 15: move the data to a newer server (docs/operating.md, "Another database").':
        version < 150_000,
      'Read-only server: let DATABASE_URL lead to the primary (docs/scaling.md, "Failover").': isReadOnly,
      [`A crash can lose what the service has acknowledged: switch ${off.join(', ')} on.`]: off.length > 0,
      [`The server allows ${connections} connections, but an instance may need ${needed}: raise max_connections, or use PgBouncer.`]:
        connections < needed,
      [`The server's clock is ${ahead.toFixed(1)} s ahead of this machine's: let both follow NTP.`]:
        Math.abs(ahead) > MAX_SKEW,
      'In search_path, another schema comes before that of the tables: set search_path for the role or the database.':
        !isFirst,
    });
  }),
  schema: onDatabase(async (ask, _config, migrations) => {
    const [is] = await ask<{ there: boolean }>(
      `SELECT to_regclass('migrations') IS NOT NULL AND to_regclass('pgboss.version') IS NOT NULL AS there`,
    );
    const rows = is!.there ? await ask<{ name: string }>('SELECT name FROM migrations') : [];
    const names = new Set(rows.map(({ name }) => name));
    const missing = migrations.filter(({ name }) => !names.has(name)).length;
    return those({
      [`Migrations are missing (${missing}): run \`${commandLine('migrate')}\` as the owner of the tables.`]:
        missing > 0,
    });
  }),
  rights: onDatabase(async (ask) => {
    const lacking = await ask<{ grant: string }>(RIGHTS);
    return lacking.map(({ grant }) => `The role lacks rights: as the owner, run ${grant}.`);
  }),
  'time-outs and pooler': async (config) => {
    const inUse = { connectionString: config.DATABASE_URL };
    const [requests, sessions] = await Promise.all([inUse, sessionClient(config, '')].map(sessionFacts));
    const { missing, role, isPooled, keepsStatements } = requests!;
    const set = missing.map(({ name, ms }) => `ALTER ROLE "${role}" SET ${name} = '${ms}ms'`);
    const isPrepared = config.DATABASE_PREPARED_STATEMENTS === 'on';
    return those({
      [`A pooler drops the service's time-outs, so statements go on after the service has given them up: run ${set.join('; ')}.`]:
        missing.length > 0,
      'Migrations and jobs need sessions of their own: let DATABASE_DIRECT_URL lead past the pooler.':
        sessions!.isPooled,
      'The pooler keeps no prepared statements: set DATABASE_PREPARED_STATEMENTS=off, or max_prepared_statements in PgBouncer.':
        isPooled && isPrepared && !keepsStatements,
    });
  },
  replicas: async (config) => {
    const urls = config.DATABASE_REPLICA_URLS?.split(',') ?? [];
    const identify = (connectionString?: string) =>
      onServer({ connectionString }, async (ask) => (await ask<Identity>(IDENTITY))[0]!);
    if (urls.length === 0) return [];
    const primary = await identify(config.DATABASE_URL);
    await sleep(MAX_LAG_MS);
    const found = urls.map(async (url) => {
      const { host } = new URL(url);
      const replica = await identify(url).catch(reasonOf);
      if (typeof replica === 'string') return [`${host}: ${replica} Lists are read from the primary.`];
      const isOfPrimary = replica.isReplica && replica.id === primary.id;
      return those({
        [`${host} is no replica of the primary: name one in DATABASE_REPLICA_URLS.`]: !isOfPrimary,
        [`${host} lags by more than ${MAX_LAG_MS / 1_000} s: look at its load, its network, and whether it is connected to the primary.`]:
          isOfPrimary && replica.position < primary.position,
      });
    });
    return (await Promise.all(found)).flat();
  },
  'file descriptors': async () => {
    const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: unknown } } };
    const limit = userLimits?.open_files.soft;
    return those({
      [`A process may open ${String(limit)} files, and each connection takes one: raise the limit (\`ulimit -n\`, LimitNOFILE).`]:
        Number(limit) < MIN_DESCRIPTORS,
    });
  },
  'identity provider': async ({ OIDC_ISSUER: issuer }) => {
    if (!issuer) return [];
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const facts = await fetchDiscovery(issuer, signal);
    const { keys } = (await fetchJson(addressIn(facts, 'jwks_uri').href, signal)) as { keys?: unknown[] };
    return those({ 'The JWKS has no keys, so no token is accepted: check OIDC_ISSUER.': !keys?.length });
  },
};

/** The problems whose condition is true. */
function those(all: Record<string, boolean>): string[] {
  return Object.keys(all).filter((problem) => all[problem]);
}

/** @param name of the prepared statement, if the statement is to be prepared */
type Ask = <Row extends object>(text: string, name?: string) => Promise<Row[]>;

/** A check that queries the database, past any pooler. */
function onDatabase(check: (ask: Ask, ...given: Parameters<Check>) => Promise<string[]>): Check {
  return (...given) => onServer(sessionClient(given[0], ''), (ask) => check(ask, ...given));
}

async function onServer<T>(options: ClientConfig, work: (ask: Ask) => Promise<T>): Promise<T> {
  const timeouts = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS };
  const client = new Client({ ...options, ...timeouts, application_name: 'petstore-doctor' });
  client.on('error', () => {});
  try {
    await client.connect();
    await prepareSession(client);
    return await work(async (text, name) => (await client.query({ text, name })).rows);
  } finally {
    await client.end().catch(() => {});
  }
}

interface Server {
  version: number;
  off: string[];
  connections: number;
  isReadOnly: boolean;
  epoch: number;
  isFirst: boolean;
}

const SERVER = `
  SELECT current_setting('server_version_num')::int AS version,
    array(SELECT name FROM pg_settings WHERE setting = 'off'
      AND name IN ('fsync', 'full_page_writes', 'synchronous_commit')) AS off,
    current_setting('max_connections')::int AS connections,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS "isReadOnly",
    extract(epoch FROM clock_timestamp())::float AS epoch,
    coalesce((SELECT relnamespace = current_schema()::regnamespace FROM pg_class WHERE oid = to_regclass('pets')), true)
      AS "isFirst"`;

/** The statements that grant what the role lacks. */
const RIGHTS = `
  WITH schemas AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', current_schema(), 'pgboss'))
  SELECT format('GRANT USAGE ON SCHEMA %I TO %I', nspname, current_user) AS grant
    FROM schemas WHERE NOT has_schema_privilege(oid, 'USAGE')
  UNION ALL
  SELECT DISTINCT format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', nspname, current_user)
    FROM schemas JOIN pg_class ON relnamespace = schemas.oid AND relkind IN ('r', 'p'),
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS of(privilege)
    WHERE NOT has_table_privilege(pg_class.oid, privilege)`;

interface Identity {
  id: string;
  isReplica: boolean;
  /** Bytes of WAL that the primary has written, or that the replica has replayed. */
  position: number;
}

/** The identity that only a primary and its replicas share, and the WAL position: a cut-off replica sees no lag. */
const IDENTITY = `
  SELECT system_identifier || ' ' || current_database() AS id, pg_is_in_recovery() AS "isReplica",
    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, '0/0')::float
      AS position
  FROM pg_control_system()`;

/** A time-out of one millisecond less than the service's is in force only if no pooler has dropped it. */
const MARK = LIMITS.statement_timeout - 1;

const SESSION = `
  SELECT current_user AS role, current_setting('statement_timeout') <> '${MARK}ms' AS "isPooled",
    array(SELECT name FROM pg_settings WHERE setting = '0' AND name IN ('${Object.keys(LIMITS).join("', '")}')) AS missing`;
/** Finds nothing if the pooler keeps prepared statements, as such poolers rename them. */
const UNCHANGED = `SELECT FROM pg_prepared_statements WHERE name LIKE 'petstore_doctor%'`;

function sessionFacts(options: ClientConfig) {
  return onServer({ ...options, ...LIMITS, statement_timeout: MARK }, async (ask) => {
    // The open transaction makes a pooler keep the session until the end.
    await ask('BEGIN');
    const [session] = await ask<{ role: string; isPooled: boolean; missing: (keyof typeof LIMITS)[] }>(
      SESSION,
      `petstore_doctor_${randomUUID()}`,
    );
    const missing = session!.missing.map((name) => ({ name, ms: LIMITS[name] }));
    const isUnchanged = (await ask(UNCHANGED)).length > 0;
    return { ...session!, missing, keepsStatements: !isUnchanged };
  });
}
