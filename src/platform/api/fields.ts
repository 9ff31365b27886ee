import { getSchemaPath } from '@nestjs/swagger';
import { isUUID } from 'class-validator';
import { OperatorError } from '../process/index.js';
import {
  field,
  type FieldDecorator,
  type FieldOptions,
  type KindWithText,
  param,
  UNREADABLE,
} from './dto.js';
import {
  decimalText,
  isDay,
  isEmailAddress,
  isPlainText,
  isWebAddress,
  lengthInCodePoints,
  NOT_BLANK,
  parseTime,
  PLAIN,
  unitsOf,
} from './formats.js';

/** Text, stored exactly as sent. Lengths are in Unicode code points, as in JSON Schema. */
export function TextField(
  options: FieldOptions & { min?: number; max: number; blank?: boolean; secret?: boolean },
) {
  const { min = 1, max, blank = true, secret } = options;
  const pattern = blank ? PLAIN : NOT_BLANK;
  const accepts = (value: unknown) => {
    if (!isPlainText(value)) return false;
    const length = lengthInCodePoints(value);
    return length >= min && length <= max && (blank || value.trim() !== '');
  };
  const must = `text of ${min} to ${max} characters${blank ? '' : ', not only white space'}, without NUL or lone surrogates`;
  const format = secret && { format: 'password' };
  const schema = { type: 'string', minLength: min, maxLength: max, pattern, ...format };
  return field(options, { schema, must, accepts });
}

/**
 * Text that matches a pattern. The pattern must be anchored at both ends: some languages search for a pattern, others match
 * the whole text. Write `[0-9]` for a digit, not `\d`, and use no look-around.
 * @param options `must` completes the sentence "name must be …"
 */
export function PatternField(options: FieldOptions & { pattern: RegExp; max: number; must: string }) {
  const { pattern, max, must } = options;
  const { source, flags } = pattern;
  if (!/^\^[^]*\$$/.test(source) || flags) throw new TypeError(`${pattern} must be ^…$, without flags`);
  return field(options, {
    schema: { type: 'string', pattern: source, maxLength: max },
    must,
    accepts: (value) => isPlainText(value) && lengthInCodePoints(value) <= max && pattern.test(value),
  });
}

/** An absolute http or https URL (RFC 3986), kept as sent. */
export function UrlField(options: FieldOptions & { max?: number }) {
  const { max = 2048 } = options;
  return field(options, {
    schema: { type: 'string', format: 'uri', maxLength: max },
    must: `a URL that begins with https:// or http://, of at most ${max} characters`,
    accepts: (value) => typeof value === 'string' && value.length <= max && isWebAddress(value),
  });
}

/** An email address of at most 254 ASCII characters: the format `email` of JSON Schema (RFC 5321). */
export function EmailField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'string', format: 'email', maxLength: 254 },
    must: 'an email address of at most 254 ASCII characters',
    accepts: isEmailAddress,
  });
}

/** A UUID (RFC 9562). */
export function UuidField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'string', format: 'uuid' },
    must: 'a UUID',
    accepts: (value) => isUUID(value, 'loose'),
    write: (uuid) => `"${uuid as string}"`,
  });
}

/** The values of an enumeration with their meanings. */
type Meanings = Readonly<Record<string, string>>;

/** Whether an entry looks like a member of a TypeScript enumeration, such as `Glad` with the value `glad` or `GLAD`. */
const isMember = ([name, value]: [string, string]) =>
  /^[A-Z]\w*$/.test(name) && /^(?:[a-z\d][\w-]*|[A-Z\d_]{2,})$/.test(value);

/**
 * One value of a string enumeration, which the OpenAPI document describes value by value.
 * @param options `values` maps each value to its meaning, or is a function, called at each use, as values may be added
 * @throws OperatorError for a TypeScript enumeration, which maps names to values, not values to meanings
 */
export function EnumField(options: FieldOptions & { name: string; values: Meanings | (() => Meanings) }) {
  const { name, values } = options;
  const meanings = typeof values === 'function' ? values : () => values;
  if (typeof values === 'object' && Object.entries(values).every(isMember))
    throw new OperatorError(`${name}: its values need meanings, as in { [${name}.Value]: 'What it means.' }`);
  return field(options, {
    schema: { $ref: getSchemaPath(name) },
    enumeration: { name, meanings },
    get must() {
      return `one of ${Object.keys(meanings()).join(', ')}`;
    },
    accepts: (value) => typeof value === 'string' && Object.hasOwn(meanings(), value),
  });
}

const BOOLEAN: KindWithText = {
  schema: { type: 'boolean' },
  must: 'true or false',
  accepts: (value) => typeof value === 'boolean',
  inText: { read: (text) => (text === 'true' ? true : text === 'false' ? false : UNREADABLE) },
};

/** True or false in a body. */
export const BooleanField = (options: FieldOptions) => field(options, BOOLEAN);

/** True or false in a path or query. */
export const BooleanParam = (options: FieldOptions) => param(options, BOOLEAN);

const INT64_TEXT = /^(?:0|-?[1-9]\d{0,18})$/;
const isInInt64 = (value: bigint) => BigInt.asIntN(64, value) === value;

/** Whether a text is an int64 in plain decimal digits: no `+`, leading zero, exponent, hex or white space. */
export function isInt64Text(text: unknown): text is string {
  return typeof text === 'string' && INT64_TEXT.test(text) && (text.length < 19 || isInInt64(BigInt(text)));
}

/** The decimal text of a JSON integer in the range of an int64, else undefined. */
export function int64FromJson(value: unknown): string | undefined {
  if (typeof value === 'bigint') return isInInt64(value) ? value.toString() : undefined;
  // `+ 0` turns -0, which JSON can express, into 0.
  return Number.isSafeInteger(value) ? String((value as number) + 0) : undefined;
}

const INT64: KindWithText = {
  schema: { type: 'integer', format: 'int64' },
  must: 'a 64-bit integer',
  accepts: isInt64Text,
  read: (value) => int64FromJson(value) ?? UNREADABLE,
  write: (digits) => digits as string,
  inText: { must: 'a 64-bit integer in plain decimal digits', read: (text) => text },
};

/** An int64 as a JSON integer. The service holds a decimal string, so that no digit is lost. */
export const Int64Field = (options: FieldOptions) => field(options, INT64);

/** An int64 in a path or query: plain decimal digits. */
export const Int64Param = (options: FieldOptions) => param(options, INT64);

interface Range {
  min: number;
  max: number;
}

/** An integer from `min` to `max`, which every JSON parser holds exactly. For ids, use `Int64Field`. */
export const IntegerField = (options: FieldOptions & Range) => field(options, integer(options));

/** An integer in a path or query, from `min` to `max`, in plain decimal digits. */
export const IntegerParam = (options: FieldOptions & Range) => param(options, integer(options));

function integer({ min, max }: Range): KindWithText {
  const must = `an integer from ${min} to ${max}`;
  return {
    schema: { type: 'integer', minimum: min, maximum: max },
    must,
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
    inText: {
      must: `${must} in plain decimal digits`,
      read: (text) => (isInt64Text(text) ? Number(text) : UNREADABLE),
    },
  };
}

interface Amounts {
  min?: string;
  max?: string;
  decimals?: number;
}

/**
 * An amount of money, or any exact decimal number, sent as text to avoid rounding by clients. The service holds the text with
 * all decimals, such as `12.50`, like a column `numeric(12,2)`.
 * @param options by default, `min` is 0, and `max` the largest `numeric(12,2)`
 */
export function MoneyField(options: FieldOptions & Amounts): FieldDecorator {
  const { decimals = 2, min = '0', max = '9999999999.99' } = options;
  const [least, most] = [unitsOf(min, decimals), unitsOf(max, decimals)];
  if (least === undefined || most === undefined)
    throw new TypeError(`${min} and ${max} must be numbers with at most ${decimals} decimals`);
  const unitsIn = (text: string) => {
    const units = unitsOf(text, decimals);
    return units !== undefined && units >= least && units <= most ? units : undefined;
  };
  const fraction = decimals > 0 ? `(?:[.][0-9]{1,${decimals}})?` : '';
  const pattern = `^${least < 0n ? '-?' : ''}(?:0|[1-9][0-9]*)${fraction}$`;
  const plain = new RegExp(pattern);
  const exact = { format: 'decimal', 'x-minimum': min, 'x-maximum': max, 'x-decimals': decimals };
  const range = `from ${decimalText(least, decimals)} to ${decimalText(most, decimals)}`;
  return field(options, {
    schema: { type: 'string', pattern, ...exact },
    must: `text with a number ${range}, with at most ${decimals} decimals`,
    accepts: (value) => typeof value === 'string' && unitsIn(value) !== undefined,
    read: (value) => {
      const units = typeof value === 'string' && plain.test(value) ? unitsIn(value) : undefined;
      return units === undefined ? UNREADABLE : decimalText(units, decimals);
    },
    write: (digits) => `"${digits as string}"`,
  });
}

/** A calendar day in the years 1 to 9999, as text such as `2030-01-31`: in JSON, in the service and for a column `date`. */
export function DateField(options: FieldOptions) {
  const schema = { type: 'string', format: 'date' };
  return field(options, { schema, must: 'a day such as 2030-01-31', accepts: isDay });
}

/**
 * A point in time (RFC 3339, with an offset). The service holds a Date: digits beyond milliseconds are cut off.
 * @param options `future` refuses past times; do not use it for a field of an answer
 */
export function TimestampField(options: FieldOptions & { future?: boolean }) {
  const { future = false } = options;
  return field(options, {
    schema: { type: 'string', format: 'date-time', ...(future ? { 'x-future': true } : {}) },
    must: `a time${future ? ' in the future' : ''} such as 2030-01-31T12:00:00Z`,
    // An offset can move a time into a year that RFC 3339 cannot express. An invalid date has the year NaN.
    accepts: (value) => {
      const year = value instanceof Date ? value.getUTCFullYear() : NaN;
      return year >= 0 && year <= 9999 && (!future || (value as Date).getTime() > Date.now());
    },
    read: (value) => (typeof value === 'string' ? parseTime(value) : undefined) ?? UNREADABLE,
    // A time inside `jsonb` is text already.
    write: (time) => (typeof time === 'string' ? JSON.stringify(time) : `"${(time as Date).toISOString()}"`),
  });
}
