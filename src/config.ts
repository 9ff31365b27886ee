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
      '$property, which MESSAGES_WEBHOOK_URL needs, must be one or several secrets, separated by commas, each of them whsec_ and at least 24 bytes as base64',
  });

/** The URL and the secret of the webhook require each other. */
const isWebhookUsed = ({ MESSAGES_WEBHOOK_URL: url, MESSAGES_WEBHOOK_SECRET: secret }: Partial<Config>) =>
  url !== undefined || secret !== undefined;

/**
 * The environment of the service: names, defaults and limits. Read once, at the start. The rules of a variable run from right
 * to left; only the first failure is reported. `npm run docs:configuration` copies groups and comments to
 * docs/configuration.md.
 */
export class Config {
  // Serving
  /** TCP port; 0 takes a free port. */
  @AsInteger() @Min(0) @Max(65_535) @IsInt() PORT = 3000;
  /** Address to listen on; without it, every address. */
  @IsOptional() @IsString() HOST?: string;
  /** Processes that serve requests. */
  @AsInteger() @Min(1) @Max(64) @IsInt() WORKERS = 1;
  /** `api` serves HTTP, `worker` runs jobs, `all` does both. */
  @IsIn(['all', 'api', 'worker']) ROLE: 'all' | 'api' | 'worker' = 'all';
  /** Production address, ending in `/v1`: base of `Link` and `Location`. */
  @IsOptional() @WithoutTrailingSlash() @EndsIn('/v1') @IsUrl(URLS.address) BASE_URL?: string;
  /** Staging address, ending in `/v1`, for the OpenAPI document. */
  @IsOptional() @WithoutTrailingSlash() @EndsIn('/v1') @IsUrl(URLS.address) STAGING_URL?: string;
  /** Address of the message interface; without it, `BASE_URL`. */
  @IsOptional() @WithoutTrailingSlash() @IsUrl(URLS.address) API_URL?: string;
  /** Number of proxies whose `X-Forwarded-For` and `-Proto` are trusted. */
  @AsInteger() @Min(0) @Max(10) @IsInt() TRUST_PROXY = 0;
  /** Seconds that an idle connection stays open: more than the proxy's. */
  @AsInteger() @Min(1) @Max(3_600) @IsInt() KEEP_ALIVE_SECONDS = 65;
  /** Origins that browsers may call from, separated by commas. */
  @IsOptional() @Origins() CORS_ORIGINS?: string;
  /** Longest time limit, in seconds, that an operation may declare. */
  @AsInteger() @Min(3) @Max(30) @IsInt() OPERATION_MAX_SECONDS = 30;
  /** Milliseconds that running requests get to finish at a stop. */
  @AsInteger() @Min(0) @Max(600_000) @IsInt() SHUTDOWN_GRACE_MS = 10_000;

  // Database
  /** PostgreSQL 15 or newer, at one address; without it, an embedded server. */
  @IsOptional() @DatabaseUrl() DATABASE_URL?: string;
  /** URL past PgBouncer, for work that needs a session of its own. */
  @IsOptional() @DatabaseUrl() DATABASE_DIRECT_URL?: string;
  /** Replicas that lists are read from, separated by commas. */
  @IsOptional() @DatabaseUrls() DATABASE_REPLICA_URLS?: string;
  /** `off` behind a PgBouncer older than 1.21. */
  @IsIn(['on', 'off']) DATABASE_PREPARED_STATEMENTS = 'on';
  /** Connections per process, to the primary and to each replica. */
  @AsInteger() @Min(1) @Max(1000) @IsInt() DATABASE_POOL_SIZE = 10;
  /** Connections of a process for streams of rows and for slow operations. */
  @AsInteger() @Min(1) @Max(1000) @IsInt() DATABASE_STREAMS = 4;
  /** Folder of the embedded server. */
  @IsString() DATA_DIR = './data';

  // Sign-up and limits
  /** Who may sign up: anyone, nobody, or the holder of an invitation. */
  @IsIn(['open', 'closed', 'invite']) SIGN_UP: 'open' | 'closed' | 'invite' = 'open';
  /** Permissions of new accounts, separated by commas; without it, all. */
  @IsOptional() @AreListed(permissionNames) ACCOUNT_PERMISSIONS?: string;
  /** Sign-ups, email changes, failed log-ins per address and account; 0 is off. */
  @AsInteger() @Min(0) @Max(1_000_000) @IsInt() AUTH_LIMIT_PER_MINUTE = 20;
  /** Requests per API key; 0 is off. */
  @AsInteger() @Min(0) @Max(100_000_000) @IsInt() KEY_LIMIT_PER_MINUTE = 0;
  /** Redis through which instances share these counts. */
  @IsOptional() @IsUrl(URLS.redis) REDIS_URL?: string;
  /** Days that the audit log is kept. */
  @AsInteger() @Min(1) @Max(36_500) @IsInt() AUDIT_RETENTION_DAYS = 365;

  // Identity provider
  /** The provider's issuer; must equal `iss` character for character. */
  @ValidateIf(isOidcUsed) @IsIssuer() OIDC_ISSUER?: string;
  /** Accepted `aud` values, separated by commas; a token needs one. */
  @ValidateIf(isOidcUsed) @IsAudience() OIDC_AUDIENCE?: string;
  /** Claim with a token's permissions: a name, a path, or a JSON Pointer. */
  @IsClaim() OIDC_PERMISSIONS_CLAIM = 'scope';
  /** Whether a new subject gets an account. */
  @IsIn(['open', 'closed']) OIDC_SIGN_UP: 'open' | 'closed' = 'open';
  /** Id of the public client by which `/docs` signs users in. */
  @IsOptional() @IsString() OIDC_CLIENT_ID?: string;
  /** Parameters that `/docs` adds to its authorization request. */
  @IsOptional() @IsSignInQuery() OIDC_SIGN_IN_QUERY?: string;

  // Messages
  /** Receiver of messages; without it, messages wait. */
  @IsOptional() @IsUrl(WEBHOOK_URL) MESSAGES_WEBHOOK_URL?: string;
  /** Signing secrets, `whsec_…`, separated by commas; required with the URL. */
  @ValidateIf(isWebhookUsed) @WebhookSecrets() MESSAGES_WEBHOOK_SECRET?: string;
  /** Longest pause in seconds between two tries of a message. */
  @AsInteger() @Min(1) @Max(86_400) @IsInt() MESSAGES_RETRY_MAX_SECONDS = 3_600;
  /** Messages that a process delivers at a time. */
  @AsInteger() @Min(1) @Max(10_000) @IsInt() MESSAGES_CONCURRENCY = 400;
  /** Days that delivered and failed messages are kept; without it, for ever. */
  @IsOptional() @AsInteger() @Min(1) @Max(36_500) @IsInt() MESSAGES_RETENTION_DAYS?: number;

  // Observability
  /** Lowest level logged: `info` logs all requests, `warn` only failed ones. */
  @IsIn(['debug', 'info', 'warn', 'error']) LOG_LEVEL = 'info';
  /** A port for `/metrics` alone; without it, the API's, or 9464 with `WORKERS`. */
  @IsOptional() @AsInteger() @Min(0) @Max(65_535) @IsInt() METRICS_PORT?: number;
  /** Where traces are sent; without an endpoint or exporter, tracing is off. */
  @IsOptional() @WithoutTrailingSlash() @IsUrl(URLS.http) OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  /** Full URL for traces, with its path; replaces the endpoint above. */
  @IsOptional() @IsUrl(URLS.http) OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  /** `otlp`, `zipkin`, `console`, or several, separated by commas; or `none`. */
  @IsOptional() @IsString() OTEL_TRACES_EXPORTER?: string;
  /** `true` turns tracing off. */
  @IsOptional() @IsString() OTEL_SDK_DISABLED?: string;
  /** Share of requests to trace, where the client does not decide. */
  @AsDecimal() @Min(0) @Max(1) @IsNumber() OTEL_TRACES_SAMPLER_ARG = 1;
}

/** Whether the environment asks for traces: OpenTelemetry's packages are loaded only then. */
export function sendsTraces(config: Config): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_EXPORTER } = config;
  if (config.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  if (OTEL_TRACES_EXPORTER?.trim() === 'none') return false;
  return Boolean(OTEL_EXPORTER_OTLP_ENDPOINT ?? OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_TRACES_EXPORTER);
}

/**
 * Reads the environment; an empty value counts as unset.
 * @throws OperatorError that names every invalid variable, without its value, which may be a secret
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  // With `useDefineForClassFields`, properties without a value are keys too.
  const names = Object.keys(new Config());
  const given = names.filter((name) => environment[name]).map((name) => [name, environment[name]]);
  const config = plainToInstance(Config, Object.fromEntries(given), { exposeDefaultValues: true });
  const problems = validateSync(config, { stopAtFirstError: true }).flatMap((error) =>
    Object.values(error.constraints ?? {}),
  );
  if (problems.length > 0) throw new OperatorError(`Invalid environment: ${problems.join('; ')}.`);
  return config;
}
