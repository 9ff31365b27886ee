import { Transform } from 'class-transformer';
import { Matches, isURL, ValidateBy } from 'class-validator';
import type { Config } from './config.js';

// Hosts in a private network have no top-level domain, and those of Docker Compose may contain an underscore.
const PRIVATE = { require_protocol: true, require_tld: false, allow_underscores: true };
export const DATABASE_URL = { ...PRIVATE, protocols: ['postgres', 'postgresql'] };
export const REDIS_URL = { ...PRIVATE, protocols: ['redis', 'rediss'] };
export const HTTP_URL = { ...PRIVATE, protocols: ['http', 'https'] };
export const WEBHOOK_URL = { ...HTTP_URL, disallow_auth: true };

/** Unlike `Number()`, takes plain digits only: `0x10`, `1e3` and ` 5` are not numbers here. */
export const Digits = () => Transform(({ value }) => (/^\d+$/.test(String(value)) ? Number(value) : value));

export const Decimal = () =>
  Transform(({ value }) => (/^\d(?:\.\d+)?$/.test(String(value)) ? Number(value) : value));

/** A URL that paths are appended to, so a trailing slash is removed. */
export const Address = () =>
  Transform(({ value }) => (typeof value === 'string' ? value.replace(/\/+$/, '') : value));

export const EndsIn = (suffix: string) =>
  ValidateBy({
    name: 'endsIn',
    validator: {
      validate: (value) => typeof value === 'string' && value.endsWith(suffix),
      defaultMessage: (args) => `${args?.property} must end in ${suffix}`,
    },
  });

/** URLs separated by commas. */
export const DatabaseUrls = () =>
  ValidateBy({
    name: 'databaseUrls',
    validator: {
      validate: (value) =>
        String(value)
          .split(',')
          .every((one) => isURL(one, DATABASE_URL)),
      defaultMessage: (args) => `${args?.property} must be URLs of PostgreSQL servers, separated by commas`,
    },
  });

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

/** A secret as the Standard Webhooks specification defines it. */
export const WebhookSecret = () =>
  Matches(/^whsec_(?:[A-Za-z\d+/]{4}){8,}(?:[A-Za-z\d+/]{3}=|[A-Za-z\d+/]{2}==)?$/, {
    message: '$property, which MESSAGES_WEBHOOK_URL needs, must be whsec_ and at least 24 bytes as base64',
  });

export const isWebhookUsed = ({ MESSAGES_WEBHOOK_URL: url, MESSAGES_WEBHOOK_SECRET: secret }: Config) =>
  url !== undefined || secret !== undefined;
