import { Transform } from 'class-transformer';
import { isURL, ValidateBy } from 'class-validator';

/** Hosts in a private network have no top-level domain, and those of Docker Compose may contain an underscore. */
const PRIVATE = { require_protocol: true, require_tld: false, allow_underscores: true };
const POSTGRES = { ...PRIVATE, protocols: ['postgres', 'postgresql'] };
/** What is before the hosts, the hosts, and what is after them. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;
const FOR_WRITES = new Set(['read-write', 'primary']);
const HTTP = { ...PRIVATE, protocols: ['http', 'https'] };

const ISSUER = { ...HTTP, disallow_auth: true, allow_query_components: false, allow_fragments: false };

/** Options of `IsUrl` for each kind of URL. */
export const URLS = {
  redis: { ...PRIVATE, protocols: ['redis', 'rediss'] },
  http: HTTP,
};

/** Reads an integer in plain digits, so that its bounds are told of one below zero too. Unlike `Number()`, it does not accept `0x10`, `1e3` or ` 5`. */
export const AsInteger = () =>
  Transform(({ value }) => (/^(?:\d+|-[1-9]\d*)$/.test(String(value)) ? Number(value) : value));

/** Reads a number with one digit before the decimal point. */
export const AsDecimal = () =>
  Transform(({ value }) => (/^-?\d(?:\.\d+)?$/.test(String(value)) ? Number(value) : value));

/** Paths are appended to the URL. */
export const WithoutTrailingSlash = () =>
  Transform(({ value }) => (typeof value === 'string' ? value.replace(/\/+$/, '') : value));

/** @param what completes the sentence "NAME must …" */
const must = (what: string | (() => string), accepts: (value: unknown) => boolean) =>
  ValidateBy({
    name: String(what),
    validator: {
      validate: accepts,
      defaultMessage: (args) => `${args?.property} must ${typeof what === 'string' ? what : what()}`,
    },
  });

/** Whether all of several values, separated by commas, are accepted. */
const every = (accepts: (one: string) => boolean) => (value: unknown) =>
  String(value)
    .split(',')
    .every((one) => accepts(one));

export const EndsIn = (suffix: string) =>
  must(`end in ${suffix}`, (value) => typeof value === 'string' && value.endsWith(suffix));

/** Names out of a list, separated by commas, none of them twice. */
export const AreListed = (names: () => readonly string[]) =>
  must(
    () => `be some of ${names().join(', ')}, separated by commas, none of them twice`,
    (value) => {
      const all = String(value).split(',');
      return new Set(all).size === all.length && all.every((one) => names().includes(one));
    },
  );

/** A URL of a PostgreSQL server, or of several hosts of which one can be written. */
export const DatabaseUrl = () =>
  must(
    'be a postgresql:// URL, whose hosts are separated by commas, and whose target_session_attrs, if there are several, is read-write or primary',
    (value) => isDatabaseUrl(String(value)),
  );

/** URLs of PostgreSQL servers, separated by commas. */
export const DatabaseUrls = () =>
  must(
    'be URLs of PostgreSQL servers, separated by commas',
    every((one) => isURL(one, POSTGRES)),
  );

/** Origins (RFC 6454), separated by commas. */
export const Origins = () =>
  must(
    'be origins such as https://shop.example, separated by commas',
    every((one) => URL.parse(one)?.origin === one),
  );

/** An issuer (OpenID Connect Core 1.0, 2): a URL without a query or a fragment. */
export const IsIssuer = () =>
  must(
    'be the http or https URL of an identity provider, without a query or a fragment; OIDC_AUDIENCE and OIDC_CLIENT_ID need it',
    (value) =>
      typeof value === 'string' && value.length <= 1_000 && isURL(value, ISSUER) && URL.canParse(value),
  );

export const IsAudience = () =>
  must(
    'be one or several audiences, separated by commas; OIDC_ISSUER and OIDC_CLIENT_ID need it',
    (value) => value !== undefined && every((one) => one.trim() !== '' && one === one.trim())(value),
  );

/** What a page that signs in sets itself in its request (RFC 6749, 4.1.1; RFC 7636, 4.3). */
const OF_THE_PAGE = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'response_type',
  'state',
]);

/** Parameters of an authorization request, as they stand in its address. */
export const IsSignInQuery = () =>
  must(
    'be parameters of an authorization request such as scope=openid&audience=…, none of them one that the page sets itself',
    (value) => {
      const names = [...new URLSearchParams(String(value)).keys()];
      return names.length > 0 && !names.some((name) => OF_THE_PAGE.has(name) || name === '');
    },
  );

/** The issuer and the audience need each other, and a client needs both. */
export const isOidcUsed = (all: { OIDC_ISSUER?: string; OIDC_AUDIENCE?: string; OIDC_CLIENT_ID?: string }) =>
  [all.OIDC_ISSUER, all.OIDC_AUDIENCE, all.OIDC_CLIENT_ID].some((value) => value !== undefined);

/**
 * The URLs of the single hosts that one names, as libpq's do: `postgresql://user@host1:5432,host2/database`.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */
export function hostUrlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(url) ?? ['', url];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}

/** Whether it leads to that one of its hosts that can be written, and not simply to the only one. */
export function isForWrites(url: string): boolean {
  const urls = hostUrlsOf(url);
  return urls.length > 1 || FOR_WRITES.has(attributesOf(urls[0]!) ?? '');
}

/** Whether it is the URL of one PostgreSQL server, or of several hosts, none of which are asked for to be read only. */
export function isDatabaseUrl(url: string): boolean {
  const urls = hostUrlsOf(url);
  if (!urls.every((one) => isURL(one, POSTGRES))) return false;
  return urls.length === 1 || FOR_WRITES.has(attributesOf(urls[0]!) ?? 'read-write');
}

function attributesOf(url: string): string | undefined {
  return URL.parse(url)?.searchParams.get('target_session_attrs') ?? undefined;
}
