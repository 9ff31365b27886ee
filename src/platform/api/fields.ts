import type { ApiPropertyOptions } from '@nestjs/swagger';
import { isUUID } from 'class-validator';
import { isDay, parseTime } from './calendar.js';
import { field, type FieldOptions, UNREADABLE } from './field.js';
import { int64FromJson, isInt64Text } from './int64.js';
import { isEmailAddress, isPlainText, isWebAddress, lengthInCodePoints, NOT_BLANK, PLAIN } from './text.js';

/** Text that comes back exactly as it was sent. Lengths are in Unicode code points, as in JSON Schema. */
export function TextField(
  options: FieldOptions & { min?: number; max: number; blank?: boolean; secret?: boolean },
) {
  const { min = 1, max, blank = true, secret } = options;
  const pattern = blank ? PLAIN : NOT_BLANK;
  const form = new RegExp(pattern);
  const accepts = (value: unknown) => {
    if (!isPlainText(value)) return false;
    const length = lengthInCodePoints(value);
    return length >= min && length <= max && (blank || form.test(value));
  };
  const must = `text of ${min} to ${max} characters${blank ? '' : ', not only white space'}, without NUL or lone surrogates`;
  const schema: ApiPropertyOptions = { type: 'string', minLength: min, maxLength: max, pattern };
  if (secret) schema.format = 'password';
  return field(options, { schema, must, accepts });
}

/**
 * Text in the form of a pattern. It is anchored at both ends, for a pattern is searched by some languages and matched by
 * others: write `[0-9]` for a digit, not `\d`, and no look-around.
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

/** An email address of at most 254 characters, all ASCII: what `email` means in JSON Schema (RFC 5321). */
export function EmailField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'string', format: 'email', maxLength: 254 },
    must: 'an email address',
    accepts: isEmailAddress,
  });
}

/** An int64 as a JSON integer; a decimal string inside the service, so that no digit is lost. */
export function Int64Field(options: FieldOptions) {
  return field(options, {
    schema: { type: 'integer', format: 'int64' },
    must: 'a 64-bit integer',
    accepts: isInt64Text,
    read: (value) => int64FromJson(value) ?? UNREADABLE,
    write: (digits) => digits as string,
  });
}

/** True or false. In a query, `BooleanParam`. */
export function BooleanField(options: FieldOptions) {
  const accepts = (value: unknown) => typeof value === 'boolean';
  return field(options, { schema: { type: 'boolean' }, must: 'true or false', accepts });
}

/** A UUID (RFC 9562). */
export function UuidField(options: FieldOptions) {
  const accepts = (value: unknown) => isUUID(value, 'loose');
  const write = (uuid: unknown) => `"${uuid as string}"`;
  return field(options, { schema: { type: 'string', format: 'uuid' }, must: 'a UUID', accepts, write });
}

/**
 * One value of a string enumeration, which the OpenAPI document names and describes value by value.
 */
export function EnumField(
  options: FieldOptions & { name: string; values: Readonly<Record<string, string>> },
) {
  const values = Object.keys(options.values);
  return field(options, {
    schema: {
      enum: values,
      enumName: options.name,
      enumSchema: { 'x-enumDescriptions': options.values },
    } as ApiPropertyOptions,
    must: `one of ${values.join(', ')}`,
    accepts: (value) => typeof value === 'string' && values.includes(value),
  });
}

/** An integer from `min` to `max`, which every JSON parser holds exactly. Ids take `Int64Field`. */
export function IntegerField(options: FieldOptions & { min: number; max: number }) {
  const { min, max } = options;
  return field(options, {
    schema: { type: 'integer', minimum: min, maximum: max },
    must: `an integer from ${min} to ${max}`,
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
  });
}

/** A day of the calendar, in the years 1 to 9999: text such as `2030-01-31`, in the service and in a column `date` too. */
export function DateField(options: FieldOptions) {
  const schema: ApiPropertyOptions = { type: 'string', format: 'date' };
  return field(options, { schema, must: 'a day such as 2030-01-31', accepts: isDay });
}

/**
 * A point in time (RFC 3339, with its offset); a Date inside the service. It is kept to the millisecond: further digits
 * are cut off.
 * @param options `future` refuses a time that has passed; it is not for fields of an answer
 */
export function TimestampField(options: FieldOptions & { future?: boolean }) {
  const { future = false } = options;
  return field(options, {
    schema: { type: 'string', format: 'date-time', ...(future ? { 'x-future': true } : {}) },
    must: `a time${future ? ' in the future' : ''} such as 2030-01-31T12:00:00Z`,
    // An offset can move a time into a year that RFC 3339 cannot express. NaN, an invalid date, is not in range either.
    accepts: (value) => {
      const year = value instanceof Date ? value.getUTCFullYear() : NaN;
      return year >= 0 && year <= 9999 && (!future || (value as Date).getTime() > Date.now());
    },
    read: (value) => (typeof value === 'string' ? parseTime(value) : undefined) ?? UNREADABLE,
    // One that was stored within `jsonb` is text already.
    write: (time) => (typeof time === 'string' ? JSON.stringify(time) : `"${(time as Date).toISOString()}"`),
  });
}
