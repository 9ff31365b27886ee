import type { Type } from '@nestjs/common';
import { type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import type { Declared } from './field.js';

/** What a schema is made of here. Swagger has names of its own for classes, enumerations and lists of them. */
interface Schema {
  type?: string | (() => Type);
  isArray?: boolean;
  enum?: string[];
  enumName?: string;
  enumSchema?: object;
}

/** The schema of a list in a body. One of objects or of an enumeration refers to their schema, as Swagger does it. */
export function listSchema(item: Declared, bounds: object): ApiPropertyOptions {
  const { schema } = item.rule;
  const { type, enumName, enumSchema, isArray } = schema as Schema;
  // Swagger would describe an enumeration by what the list is.
  const described = enumName && { enumSchema: { description: item.options.description, ...enumSchema } };
  const isNamed = !isArray && (typeof type === 'function' || described);
  const list = isNamed
    ? { ...schema, ...described, isArray: true }
    : { type: 'array', items: plainSchema(item) };
  return { ...list, ...bounds } as ApiPropertyOptions;
}

/** A schema as JSON Schema has it, for a place that Swagger does not look at. */
export function plainSchema({ options: { description }, rule }: Declared): object {
  const { type, isArray, enum: values, enumName, enumSchema, ...rest } = rule.schema as Schema;
  const flat = enumName === undefined ? { type } : { type: 'string', enum: values, ...enumSchema };
  const one = typeof type === 'function' ? { $ref: getSchemaPath(type()) } : flat;
  return { ...(description && { description }), ...rest, ...(isArray ? { type: 'array', items: one } : one) };
}
