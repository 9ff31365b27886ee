import { Transform } from 'class-transformer';
import { Matches, ValidateBy } from 'class-validator';
import { isDatabaseUrl, isServerUrl, PRIVATE } from './database-url.js';

const HTTP = { ...PRIVATE, protocols: ['http', 'https'] };

/** Options of `IsUrl` for each kind of URL. */
export const URLS = {
  redis: { ...PRIVATE, protocols: ['redis', 'rediss'] },
  http: HTTP,
  webhook: { ...HTTP, disallow_auth: true },
};

/** Reads an integer in plain digits. Unlike `Number()`, it does not accept `0x10`, `1e3` or ` 5`. */
export const AsInteger = () =>
  Transform(({ value }) => (/^\d+$/.test(String(value)) ? Number(value) : value));

/** Reads a number with one digit before the decimal point. */
export const AsDecimal = () =>
  Transform(({ value }) => (/^\d(?:\.\d+)?$/.test(String(value)) ? Number(value) : value));

/** Paths are appended to the URL. */
export const WithoutTrailingSlash = () =>
  Transform(({ value }) => (typeof value === 'string' ? value.replace(/\/+$/, '') : value));

export const EndsIn = (suffix: string) =>
  ValidateBy({
    name: 'endsIn',
    validator: {
      validate: (value) => typeof value === 'string' && value.endsWith(suffix),
      defaultMessage: (args) => `${args?.property} must end in ${suffix}`,
    },
  });

/** Names out of a list, separated by commas, none of them twice. */
export const AreListed = (names: readonly string[]) =>
  ValidateBy({
    name: 'areListed',
    validator: {
      validate: (value) => {
        const all = String(value).split(',');
        return new Set(all).size === all.length && all.every((one) => names.includes(one));
      },
      defaultMessage: (args) =>
        `${args?.property} must be some of ${names.join(', ')}, separated by commas, none of them twice`,
    },
  });

/** A URL of a PostgreSQL server, or of several hosts of which one can be written. */
export const DatabaseUrl = () =>
  ValidateBy({
    name: 'databaseUrl',
    validator: {
      validate: (value) => isDatabaseUrl(String(value)),
      defaultMessage: (args) =>
        `${args?.property} must be a postgresql:// URL, whose hosts are separated by commas, and whose target_session_attrs, if there are several, is read-write or primary`,
    },
  });

/** URLs of PostgreSQL servers, separated by commas. */
export const DatabaseUrls = () =>
  ValidateBy({
    name: 'databaseUrls',
    validator: {
      validate: (value) =>
        String(value)
          .split(',')
          .every((one) => isServerUrl(one)),
      defaultMessage: (args) => `${args?.property} must be URLs of PostgreSQL servers, separated by commas`,
    },
  });

/** Origins (RFC 6454), separated by commas. */
export const Origins = () =>
  ValidateBy({
    name: 'origins',
    validator: {
      validate: (value) =>
        String(value)
          .split(',')
          .every((one) => URL.parse(one)?.origin === one),
      defaultMessage: (args) =>
        `${args?.property} must be origins such as https://shop.example, separated by commas`,
    },
  });

const WEBHOOK_SECRET = 'whsec_(?:[A-Za-z\\d+/]{4}){8,}(?:[A-Za-z\\d+/]{3}=|[A-Za-z\\d+/]{2}==)?';

/** Secrets as the Standard Webhooks specification defines them, separated by commas. */
export const WebhookSecrets = () =>
  Matches(new RegExp(`^${WEBHOOK_SECRET}(?:,${WEBHOOK_SECRET})*$`), {
    message:
      '$property, which MESSAGES_WEBHOOK_URL needs, must be whsec_ and at least 24 bytes as base64, or several of that, separated by commas',
  });

/** Each of the two needs the other. */
export const isWebhookUsed = (both: { MESSAGES_WEBHOOK_URL?: string; MESSAGES_WEBHOOK_SECRET?: string }) =>
  both.MESSAGES_WEBHOOK_URL !== undefined || both.MESSAGES_WEBHOOK_SECRET !== undefined;
