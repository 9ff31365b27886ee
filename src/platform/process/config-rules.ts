import { Transform } from 'class-transformer';
import { isURL, ValidateBy } from 'class-validator';

/** Hosts in a private network have no top-level domain; names of Docker Compose services may contain underscores. */
const PRIVATE = { require_protocol: true, require_tld: false, allow_underscores: true };
const HTTP = { ...PRIVATE, protocols: ['http', 'https'] };

const ISSUER = { ...HTTP, disallow_auth: true, allow_query_components: false, allow_fragments: false };

/** Options of `IsUrl` for each kind of URL. */
export const URLS = {
  redis: { ...PRIVATE, protocols: ['redis', 'rediss'] },
  http: HTTP,
  /** Addresses that clients see: a password in them would appear in every `Link`. */
  address: { ...HTTP, disallow_auth: true },
};

/** Converts text that matches `form` to a number, for later rules. Unlike `Number()`, leaves `0x10`, `1e3` and ` 5` as text. */
const asNumber = (form: RegExp) => () =>
  Transform(({ value }) => (form.test(String(value)) ? Number(value) : value));

/** Reads an integer; even a negative one, so that its error message names the bounds. */
export const AsInteger = asNumber(/^(?:\d+|-[1-9]\d*)$/);
/** Reads a number with one digit before the decimal point. */
export const AsDecimal = asNumber(/^-?\d(?:\.\d+)?$/);

/** Removes trailing slashes, because paths are appended to the URL. */
export const WithoutTrailingSlash = () =>
  Transform(({ value }) => (typeof value === 'string' ? value.replace(/\/+$/, '') : value));

/** A rule of a variable. @param what completes the sentence "NAME must …" */
const must = (what: string | (() => string), accepts: (value: unknown) => boolean) =>
  ValidateBy({
    name: String(what),
    validator: {
      validate: accepts,
      defaultMessage: (args) => `${args?.property} must ${typeof what === 'string' ? what : what()}`,
    },
  });

/** Whether each of the values, separated by commas, is accepted. */
const every = (accepts: (item: string) => boolean) => (value: unknown) =>
  String(value)
    .split(',')
    .every((item) => accepts(item));

export const EndsIn = (suffix: string) =>
  must(`end in ${suffix}`, (value) => typeof value === 'string' && value.endsWith(suffix));

/** Names from a list, separated by commas, without duplicates. */
export const AreListed = (names: () => readonly string[]) =>
  must(
    () => `be some of ${names().join(', ')}, separated by commas, without duplicates`,
    (value) => {
      const all = String(value).split(',');
      return new Set(all).size === all.length && all.every((name) => names().includes(name));
    },
  );

/** The rule for a database URL. The message quotes no part of the URL, which may contain the password. */
const DATABASE_URL =
  'a postgresql:// URL with one host (for failover, see docs/scaling.md), and with # % / ? in its user and password written as %23 %25 %2F %3F';

/** The URL of a PostgreSQL server. */
export const DatabaseUrl = () => must(`be ${DATABASE_URL}`, (value) => isDatabaseUrl(String(value)));

/** URLs of PostgreSQL servers, separated by commas. */
export const DatabaseUrls = () =>
  must(`be ${DATABASE_URL}, or several such URLs, separated by commas`, every(isDatabaseUrl));

/** Origins (RFC 6454), separated by commas. */
export const Origins = () =>
  must(
    'be origins such as https://shop.example, separated by commas',
    every((origin) => URL.parse(origin)?.origin === origin),
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
    'be one or more audiences, separated by commas; OIDC_ISSUER and OIDC_CLIENT_ID need it',
    (value) => value !== undefined && every((name) => name !== '' && name === name.trim())(value),
  );

/** The name of a claim, a dotted path, or a JSON Pointer (RFC 6901). */
export const IsClaim = () =>
  must(
    'be the name of a claim, a path such as realm_access.roles, or a JSON Pointer such as /resource_access/my.client/roles',
    (value) => /^(?!\/)|^(?:\/(?:[^~/]|~[01])+)+$/.test(String(value)),
  );

/** Parameters of an authorization request, as a query string. */
export const IsSignInQuery = () =>
  must('be parameters of an authorization request such as scope=openid&audience=…', (value) => {
    const names = [...new URLSearchParams(String(value)).keys()];
    return names.length > 0 && !names.includes('');
  });

/** Whether OpenID Connect is configured. The issuer and the audience require each other; a client id requires both. */
export const isOidcUsed = (all: { OIDC_ISSUER?: string; OIDC_AUDIENCE?: string; OIDC_CLIENT_ID?: string }) =>
  [all.OIDC_ISSUER, all.OIDC_AUDIENCE, all.OIDC_CLIENT_ID].some((value) => value !== undefined);

/** User and password, one host, a path and a query. */
const DATABASE_URL_PARTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?[^@/?#,]*(?:\/[^@?#]*)?(?:\?[^#]*)?$/;

function isDatabaseUrl(url: string): boolean {
  try {
    decodeURIComponent(url);
  } catch {
    return false;
  }
  // `pg` accepts a user without a host: the host is then in the query, or the default.
  return DATABASE_URL_PARTS.test(url) && URL.canParse(url.replace('@/', '@host/'));
}
