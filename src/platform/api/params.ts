import { field, type FieldOptions, UNREADABLE } from './field.js';
import { isInt64Text } from './int64.js';

/** An int64 in a path or query: plain decimal digits. */
export function Int64Param(options: FieldOptions) {
  return field(options, {
    schema: { type: 'integer', format: 'int64' },
    must: 'a 64-bit integer in plain decimal digits',
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
    must: `1 to ${options.max} comma-separated 64-bit integers in plain decimal digits`,
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
      read: (value) => (isInt64Text(value) ? Number(value) : UNREADABLE),
    },
  );
}
