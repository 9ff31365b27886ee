import { ApiError } from './api-error.js';

/** What stands in an example where JSON cannot: a text, or bytes. */
export type Content = string | Uint8Array;

/** A file of a form. */
export interface FormFile {
  readonly description: string;
  /** Its media type, and what is in it, in examples. */
  readonly type: string;
  readonly example: Content;
  /** Whether there may be several under this name. */
  readonly several?: boolean;
}

/** What an operation takes as its body, where that is more than a small object as JSON. */
export interface Takes {
  /**
   * Its media types, such as `image/png`, `image/*`, `application/json` or `multipart/form-data`. The method gets JSON as
   * its class has it, a form by the interceptors of Nest, and any other as a `Buffer`, by `@Body()`.
   */
  readonly types: readonly string[];
  /** Bytes that a body may have, also when it has been decompressed: up to 32 MiB. */
  readonly maxBytes: number;
  /** A body of the first type that is neither JSON nor a form, for the document and its samples. */
  readonly example?: Content;
  /** The files of a form, by the names of their fields. */
  readonly files?: Readonly<Record<string, FormFile>>;
}

/** What an operation answers, where that is not JSON alone. */
export interface Gives {
  /** Its media types, such as `text/csv` or `image/*`; JSON among them is what `returns` has. */
  readonly types: readonly string[];
  /** An answer of the first type that is not JSON, for the document: bytes for what is no text. */
  readonly example?: Content;
}

export const JSON_TYPE = 'application/json';
/** Server-sent events, which have no end. */
export const EVENTS_TYPE = 'text/event-stream';
export const FORM_TYPE = 'multipart/form-data';

/** What operations take that say nothing else. */
export const SMALL_JSON: Takes = { types: [JSON_TYPE], maxBytes: 102_400 };

export const isRaw = (type: string): boolean => type !== JSON_TYPE && type !== FORM_TYPE;

// No two runs of white space can match next to each other: that would take time quadratic in their length.
const JSON_UTF8 = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*(?:;\s*)?)?)?$/i;

/** Which of the types of an operation a body is of, by its `Content-Type`; undefined for none. */
export function typeOf({ types }: Takes, contentType = ''): string | undefined {
  const given = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (given === JSON_TYPE && !JSON_UTF8.test(contentType)) return undefined;
  return types.find((type) => type === given || (type.endsWith('/*') && given.startsWith(type.slice(0, -1))));
}

/** Refusals of bodies, whose messages name what the operation takes. */
export const BODY_REFUSALS = {
  invalid_content_type: ({ types }: Takes) =>
    `The request needs the header Content-Type: ${types.join(' or ')}.`,
  payload_too_large: ({ maxBytes }: Takes) => `The request body is larger than ${sizeText(maxBytes)}.`,
};

export function refuseBody(code: keyof typeof BODY_REFUSALS, takes: Takes): ApiError {
  return new ApiError(code, BODY_REFUSALS[code](takes));
}

const UNITS = ['bytes', 'kB', 'MB'];

/** A number of bytes for people: `100 kB`. It counts in steps of 1,024 where the number does, else of 1,000. */
export function sizeText(bytes: number): string {
  const step = bytes % 1_024 === 0 ? 1_024 : 1_000;
  let [value, unit] = [bytes, 0];
  while (value >= step && unit < UNITS.length - 1) [value, unit] = [value / step, unit + 1];
  return `${Number(value.toPrecision(3))} ${UNITS[unit]}`;
}
