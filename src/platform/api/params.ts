import { field, type FieldDecorator, type FieldOptions, UNREADABLE } from './field.js';
import { isInt64Text } from './int64.js';
import { readItems } from './items.js';
import { plainSchema } from './nested-schemas.js';

/** An int64 in a path or query: plain decimal digits. */
export function Int64Param(options: FieldOptions) {
  return field(options, {
    schema: { type: 'integer', format: 'int64' },
    must: 'a 64-bit integer in plain decimal digits',
    accepts: isInt64Text,
  });
}

/**
 * Comma-separated values in a query, 1 to `max` of them.
 * @param options `of` is what each is: a field whose value is a text without commas, or a parameter
 */
export function ListParam(options: FieldOptions & { of: FieldDecorator; max: number }) {
  const { max, of } = options;
  const read = (text: string) => {
    const parts = text.split(',', max + 1);
    return parts.length <= max ? readItems(of.declared, parts) : UNREADABLE;
  };
  return field(options, {
    schema: { type: 'array', items: plainSchema(of.declared), minItems: 1, maxItems: max },
    must: `1 to ${max} values, separated by commas`,
    accepts: (value) => Array.isArray(value),
    read: (value) => (typeof value === 'string' ? read(value) : UNREADABLE),
  });
}

/** True or false in a query. */
export function BooleanParam(options: FieldOptions) {
  return field(options, {
    schema: { type: 'boolean' },
    must: 'true or false',
    accepts: (value) => typeof value === 'boolean',
    read: (value) => (value === 'true' ? true : value === 'false' ? false : UNREADABLE),
  });
}

/** A small integer in a query: plain decimal digits, `min` to `max`. */
export function IntegerParam(options: FieldOptions & { min: number; max: number }) {
  const { min, max } = options;
  return field(
    { ...options, optional: true },
    {
      schema: { type: 'integer', minimum: min, maximum: max },
      must: `an integer from ${min} to ${max} in plain decimal digits`,
      accepts: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
      read: (value) => (isInt64Text(value) ? Number(value) : UNREADABLE),
    },
  );
}
