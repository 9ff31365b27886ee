import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import {
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
  ValidateIf,
  validateSync,
} from 'class-validator';
import { permissionNames } from './platform/api/permissions.js';
import {
  AreListed,
  AsDecimal,
  AsInteger,
  DatabaseUrl,
  DatabaseUrls,
  EndsIn,
  IsAudience,
  IsClaim,
  IsIssuer,
  isOidcUsed,
  IsSignInQuery,
  OperatorError,
  Origins,
  URLS,
  WithoutTrailingSlash,
} from './platform/process/index.js';

const WEBHOOK_URL = { ...URLS.http, disallow_auth: true };
const WEBHOOK_SECRET = 'whsec_(?:[A-Za-z\\d+/]{4}){8,}(?:[A-Za-z\\d+/]{3}=|[A-Za-z\\d+/]{2}==)?';

/** Secrets as the Standard Webhooks specification defines them, separated by commas. */
const WebhookSecrets = () =>
  Matches(new RegExp(`^${WEBHOOK_SECRET}(?:,${WEBHOOK_SECRET})*$`), {
    message:
      '$property, which MESSAGES_WEBHOOK_URL needs, must be whsec_ and at least 24 bytes as base64, or several of that, separated by commas',
  });

/** The URL and the secret of the webhook need each other. */
const isWebhookUsed = ({ MESSAGES_WEBHOOK_URL: url, MESSAGES_WEBHOOK_SECRET: secret }: Partial<Config>) =>
  url !== undefined || secret !== undefined;

/**
 * The environment of the service: its names, defaults and limits. Read once, at the start. The decorators of a variable
 * are checked from right to left, and only its first failure is reported.
 */
export class Config {
  /** TCP port; 0 takes any free one. */
  @AsInteger() @Min(0) @Max(65_535) @IsInt() PORT = 3000;
  /** Address to listen on; every address when left out. */
  @IsOptional() @IsString() HOST?: string;
  /** A PostgreSQL server, 15 or newer, at one address. Without it, the service starts its own in DATA_DIR. */
  @IsOptional() @DatabaseUrl() DATABASE_URL?: string;
  /** A connection past a pooler such as PgBouncer, for what needs its own session: migrations, jobs, events, streams, slow operations. */
  @IsOptional() @DatabaseUrl() DATABASE_DIRECT_URL?: string;
  /** Replicas of DATABASE_URL's server that lists are read from, separated by commas. */
  @IsOptional() @DatabaseUrls() DATABASE_REPLICA_URLS?: string;
  /** Whether statements are prepared; `off` is for a PgBouncer older than 1.21. */
  @IsIn(['on', 'off']) DATABASE_PREPARED_STATEMENTS = 'on';
  /** Processes that serve requests. */
  @AsInteger() @Min(1) @Max(64) @IsInt() WORKERS = 1;
  /** Connections per process, to the primary and to each replica. */
  @AsInteger() @Min(1) @Max(1000) @IsInt() DATABASE_POOL_SIZE = 10;
  /** Results that a process streams from the database at a time, each on a connection of its own. */
  @AsInteger() @Min(1) @Max(1000) @IsInt() DATABASE_STREAMS = 4;
  /** Seconds that an operation may declare as its own time. */
  @AsInteger() @Min(3) @Max(30) @IsInt() OPERATION_MAX_SECONDS = 30;
  /** Folder of the embedded PostgreSQL. */
  @IsString() DATA_DIR = './data';
  /** Address of production; also the base of `Link` and `Location`, which otherwise follow the request. */
  @IsOptional() @WithoutTrailingSlash() @EndsIn('/v1') @IsUrl(URLS.http) BASE_URL?: string;
  /** Address of staging. */
  @IsOptional() @WithoutTrailingSlash() @EndsIn('/v1') @IsUrl(URLS.http) STAGING_URL?: string;
  /** Address of the message interface. */
  @IsOptional() @WithoutTrailingSlash() @IsUrl(URLS.http) API_URL?: string;
  /** Sign-ups, changes of the email and failed log-ins per minute, for each address and each account; 0 is off. */
  @AsInteger() @Min(0) @Max(1_000_000) @IsInt() AUTH_LIMIT_PER_MINUTE = 20;
  /** Who may sign up: anyone, nobody, or whoever has an invitation. */
  @IsIn(['open', 'closed', 'invite']) SIGN_UP: 'open' | 'closed' | 'invite' = 'open';
  /** What keys of new accounts may do, separated by commas; everything when left out. */
  @IsOptional() @AreListed(permissionNames) ACCOUNT_PERMISSIONS?: string;
  /** An OpenID Connect provider whose access tokens are accepted; must equal their `iss` character for character. */
  @ValidateIf(isOidcUsed) @IsIssuer() OIDC_ISSUER?: string;
  /** Accepted `aud` values, separated by commas; a token needs one. */
  @ValidateIf(isOidcUsed) @IsAudience() OIDC_AUDIENCE?: string;
  /** The claim that says what a token may do: a name, a path such as `realm_access.roles`, or a JSON Pointer (RFC 6901). */
  @IsClaim() OIDC_PERMISSIONS_CLAIM = 'scope';
  /** Whether a subject that has no account yet gets one. */
  @IsIn(['open', 'closed']) OIDC_SIGN_UP: 'open' | 'closed' = 'open';
  /** The public client with which the page at `/docs` signs its reader in. */
  @IsOptional() @IsString() OIDC_CLIENT_ID?: string;
  /** What else that asks the identity provider for, as in a query; the openid scope and known permissions when left out. */
  @IsOptional() @IsSignInQuery() OIDC_SIGN_IN_QUERY?: string;
  /** Days for which the audit log is kept. */
  @AsInteger() @Min(1) @Max(36_500) @IsInt() AUDIT_RETENTION_DAYS = 365;
  /** Requests per minute for each API key; 0 is off. */
  @AsInteger() @Min(0) @Max(100_000_000) @IsInt() KEY_LIMIT_PER_MINUTE = 0;
  /** Redis through which all instances share their counts. */
  @IsOptional() @IsUrl(URLS.redis) REDIS_URL?: string;
  /** How many proxies stand in front, whose `X-Forwarded-…` headers are trusted; 0 trusts none. */
  @AsInteger() @Min(0) @Max(10) @IsInt() TRUST_PROXY = 0;
  /** Origins whose pages browsers may let call the service, separated by commas. */
  @IsOptional() @Origins() CORS_ORIGINS?: string;
  /** Whether this process serves the API, delivers messages, or both. */
  @IsIn(['all', 'api', 'worker']) ROLE: 'all' | 'api' | 'worker' = 'all';
  /** Where messages are posted to. */
  @IsOptional() @IsUrl(WEBHOOK_URL) MESSAGES_WEBHOOK_URL?: string;
  /** Sign the messages posted there: one secret, or several, separated by commas. */
  @ValidateIf(isWebhookUsed) @WebhookSecrets() MESSAGES_WEBHOOK_SECRET?: string;
  /** Maximum seconds between two tries of a message; the first ones come sooner. */
  @AsInteger() @Min(1) @Max(86_400) @IsInt() MESSAGES_RETRY_MAX_SECONDS = 3_600;
  /** Messages that a process delivers at a time. */
  @AsInteger() @Min(1) @Max(10_000) @IsInt() MESSAGES_CONCURRENCY = 400;
  /** Days from its submission after which a message that was delivered or has failed is removed; without it, none is. */
  @IsOptional() @AsInteger() @Min(1) @Max(36_500) @IsInt() MESSAGES_RETENTION_DAYS?: number;
  /** Lowest level that is logged: `info` logs every request, `warn` only those that fail with 5xx, with the reason. */
  @IsIn(['debug', 'info', 'warn', 'error']) LOG_LEVEL = 'info';
  /** A port only for the metrics; without it, they are on that of the API. */
  @IsOptional() @AsInteger() @Min(0) @Max(65_535) @IsInt() METRICS_PORT?: number;
  /** Where traces are sent, by OTLP over HTTP; without it, none are recorded. */
  @IsOptional() @WithoutTrailingSlash() @IsUrl(URLS.http) OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  /** The share of requests that are traced if their client has not decided it. */
  @AsDecimal() @Min(0) @Max(1) @IsNumber() OTEL_TRACES_SAMPLER_ARG = 1;
  /** Milliseconds that accepted requests may still run when the service stops. */
  @AsInteger() @Min(0) @Max(600_000) @IsInt() SHUTDOWN_GRACE_MS = 10_000;

  /** How many connections this process may have to wherever messages go. */
  get connectionsForMessages(): number {
    const delivers = this.ROLE !== 'api' && this.MESSAGES_WEBHOOK_URL !== undefined;
    return delivers ? this.MESSAGES_CONCURRENCY : 0;
  }
}

/**
 * Reads the environment; an empty value counts as unset.
 * @throws OperatorError that names every invalid variable at once, without its value, which may be a secret
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  // With `useDefineForClassFields`, a property without a value is a key as well.
  const known = Object.keys(new Config());
  const given = known.filter((name) => environment[name]).map((name) => [name, environment[name]]);
  const config = plainToInstance(Config, Object.fromEntries(given), { exposeDefaultValues: true });
  const problems = validateSync(config, { stopAtFirstError: true }).flatMap((error) =>
    Object.values(error.constraints ?? {}),
  );
  if (problems.length > 0) throw new OperatorError(`Invalid environment: ${problems.join('; ')}.`);
  return config;
}
