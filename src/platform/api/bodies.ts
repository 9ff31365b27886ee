import { ApiError } from './api-error.js';

/** The request body of an operation that takes more than a small JSON object. */
export interface Takes {
  /**
   * Media types such as `image/png`, `image/*`, `application/json` or `multipart/form-data`. The method gets a JSON body as its
   * DTO class, a form from Nest's interceptors, and any other body as a `Buffer`, by `@Body()`.
   */
  readonly types: readonly string[];
  /** Maximum size in bytes, before and after decompression: up to 32 MiB. */
  readonly maxBytes: number;
}

/** The answer of an operation that gives more than JSON. */
export interface Gives {
  /** Media types such as `text/csv` or `image/*`; an answer in JSON has the class of `returns`. */
  readonly types: readonly string[];
}

export const JSON_TYPE = 'application/json';
export const EVENTS_TYPE = 'text/event-stream';
export const FORM_TYPE = 'multipart/form-data';

/** The request body of operations that declare no other. */
export const SMALL_JSON: Takes = { types: [JSON_TYPE], maxBytes: 102_400 };

export const isRaw = (type: string): boolean => type !== JSON_TYPE && type !== FORM_TYPE;

// The pattern has no two adjacent `\s*`, which would take quadratic time on a long run of white space.
const JSON_UTF8 = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*(?:;\s*)?)?)?$/i;

/** The type in `types` that a `Content-Type` matches; undefined if none does. */
export function typeOf({ types }: Takes, contentType = ''): string | undefined {
  const sent = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (sent === JSON_TYPE && !JSON_UTF8.test(contentType)) return undefined;
  return types.find((type) => type === sent || (type.endsWith('/*') && sent.startsWith(type.slice(0, -1))));
}

/** Messages of body errors, which name the accepted types or the maximum size. */
export const BODY_REFUSALS = {
  invalid_content_type: ({ types }: Takes) =>
    `The request needs the header Content-Type: ${types.join(' or ')}.`,
  payload_too_large: ({ maxBytes }: Takes) => `The request body is larger than ${sizeText(maxBytes)}.`,
};

export function refuseBody(code: keyof typeof BODY_REFUSALS, takes: Takes): ApiError {
  return new ApiError(code, BODY_REFUSALS[code](takes));
}

const UNITS = ['bytes', 'kB', 'MB'];

/** A readable size: `100 kB`. A unit is 1,024 smaller units if `bytes` is a multiple of 1,024, else 1,000. */
export function sizeText(bytes: number): string {
  const step = bytes % 1_024 === 0 ? 1_024 : 1_000;
  let [value, unit] = [bytes, 0];
  while (value >= step && unit < UNITS.length - 1) [value, unit] = [value / step, unit + 1];
  return `${Number(value.toPrecision(3))} ${UNITS[unit]}`;
}
