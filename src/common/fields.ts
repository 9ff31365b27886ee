import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { isEmail, isISO8601, ValidateBy, ValidateIf } from 'class-validator';
import { int64FromJson, isInt64Text } from './int64.js';
import { isPlainText, lengthInCodePoints } from './text.js';

/** What every field of a DTO says of itself. A field is required unless `optional`; then it is left out, never null. */
export interface FieldOptions {
  description: string;
  example?: unknown;
  optional?: boolean;
}

interface Rule {
  schema: ApiPropertyOptions;
  /** What a valid value is, to complete the sentence "name must be …". */
  must: string;
  accepts: (value: unknown) => boolean;
  /** Runs before `accepts`, on the value as it was sent. */
  read?: (value: unknown) => unknown;
}

/** One decorator for a field: its rule for class-validator, its reading for class-transformer, its OpenAPI schema. */
export function field(options: FieldOptions, { schema, must, accepts, read }: Rule): PropertyDecorator {
  const { description, example, optional = false } = options;
  const message = ({ property, value }: { property: string; value: unknown }) =>
    value === undefined ? `${property} is required` : `${property} must be ${must}`;
  return applyDecorators(
    ApiProperty({ description, example, required: !optional, ...schema } as ApiPropertyOptions),
    ValidateBy({
      name: must,
      validator: { validate: accepts, defaultMessage: (args) => message(args as never) },
    }),
    ...(optional ? [ValidateIf((_dto, value) => value !== undefined)] : []),
    ...(read ? [Transform(({ value }) => (value === undefined ? undefined : read(value)))] : []),
  );
}

/** What `read` gives for a value that it cannot read, so that no rule accepts it. */
const UNREADABLE = Symbol('unreadable');

/** Text that comes back exactly as it was sent. Lengths are in Unicode code points, as in JSON Schema. */
export function TextField(
  options: FieldOptions & { min?: number; max: number; blank?: boolean; secret?: boolean },
) {
  const { min = 1, max, blank = true, secret } = options;
  const accepts = (value: unknown) => {
    if (!isPlainText(value)) return false;
    const length = lengthInCodePoints(value);
    return length >= min && length <= max && (blank || /\S/.test(value));
  };
  const must = `text of ${min} to ${max} characters${blank ? '' : ', not only white space'}, without NUL or lone surrogates`;
  const schema: ApiPropertyOptions = { type: 'string', minLength: min, maxLength: max };
  if (!blank) schema.pattern = '\\S';
  if (secret) schema.format = 'password';
  return field(options, { schema, must, accepts });
}

/** An email address of at most 254 characters (RFC 5321), without a colon, which HTTP Basic cannot carry (RFC 7617). */
export function EmailField(options: FieldOptions) {
  const accepts = (value: unknown) =>
    isPlainText(value) && value.length <= 254 && !value.includes(':') && isEmail(value);
  return field(options, {
    schema: { type: 'string', format: 'email', maxLength: 254 },
    must: 'an email address',
    accepts,
  });
}

/** An int64 as a JSON integer; a decimal string inside the service, so that no digit is lost. */
export function Int64Field(options: FieldOptions) {
  return field(options, {
    schema: { type: 'integer', format: 'int64' },
    must: 'an integer of 64 bits',
    accepts: isInt64Text,
    read: (value) => int64FromJson(value) ?? UNREADABLE,
  });
}

/** An int64 in a path or query: plain decimal digits. */
export function Int64Param(options: FieldOptions) {
  return field(options, {
    schema: { type: 'integer', format: 'int64' },
    must: 'an integer of 64 bits in plain decimal digits',
    accepts: isInt64Text,
  });
}

/** Comma-separated int64 ids in a query, 1 to `max` of them. */
export function Int64ListParam(options: FieldOptions & { max: number }) {
  return field(options, {
    schema: {
      type: 'array',
      items: { type: 'integer', format: 'int64' },
      minItems: 1,
      maxItems: options.max,
    },
    must: `1 to ${options.max} comma-separated integers of 64 bits in plain decimal digits`,
    accepts: (value) => Array.isArray(value) && value.length <= options.max && value.every(isInt64Text),
    read: (value) => (typeof value === 'string' ? value.split(',') : UNREADABLE),
  });
}

/** A small integer in a query: plain decimal digits, `min` to `max`. */
export function IntegerParam(options: FieldOptions & { min: number; max: number; default: number }) {
  const { min, max } = options;
  return field(
    { ...options, optional: true },
    {
      schema: { type: 'integer', minimum: min, maximum: max, default: options.default },
      must: `an integer from ${min} to ${max} in plain decimal digits`,
      accepts: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
      // Besides what was sent, this sees the default, which is a number already.
      read: (value) => (typeof value === 'number' ? value : isInt64Text(value) ? Number(value) : UNREADABLE),
    },
  );
}

/** A UUID (RFC 9562). */
export function UuidField(options: FieldOptions) {
  const accepts = (value: unknown) =>
    typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);
  return field(options, { schema: { type: 'string', format: 'uuid' }, must: 'a UUID', accepts });
}

/** One value of a string enumeration, which the OpenAPI document names and describes value by value. */
export function EnumField(options: FieldOptions & { name: string; values: Record<string, string> }) {
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

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** A point in time (RFC 3339, with its offset); a Date inside the service. */
export function TimestampField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'string', format: 'date-time' },
    must: 'a time such as 2030-01-31T12:00:00Z',
    accepts: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
    read: (value) =>
      typeof value === 'string' && RFC_3339.test(value) && isISO8601(value, { strict: true })
        ? new Date(value)
        : UNREADABLE,
  });
}
