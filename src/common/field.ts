import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';

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
  /** Writes a value as JSON in an answer. */
  write?: (value: unknown) => string;
}

/** How one field of an answer is written. */
export interface FieldWriter {
  name: string;
  write: (value: unknown) => string;
}

const WRITERS = Symbol('writers');

/** The fields of a DTO class in their order, those that it inherits first. */
export function writersOf(type: Type): FieldWriter[] {
  return (Reflect.getMetadata(WRITERS, type.prototype) as FieldWriter[] | undefined) ?? [];
}

function Written(write: (value: unknown) => string): PropertyDecorator {
  return (target, name) => {
    const inherited = writersOf(target.constructor as Type);
    Reflect.defineMetadata(WRITERS, [...inherited, { name: String(name), write }], target);
  };
}

/**
 * One decorator for a field: its rule for class-validator, its reading for class-transformer, its writing in an answer,
 * its OpenAPI schema.
 */
export function field(options: FieldOptions, rule: Rule): PropertyDecorator {
  const { schema, must, accepts, read, write = JSON.stringify } = rule;
  const { description, example, optional = false } = options;
  const message = ({ property, value }: { property: string; value: unknown }) =>
    value === undefined ? `${property} is required` : `${property} must be ${must}`;
  return applyDecorators(
    ApiProperty({ description, example, required: !optional, ...schema } as ApiPropertyOptions),
    ValidateBy({
      name: must,
      validator: { validate: accepts, defaultMessage: (args) => message(args as never) },
    }),
    Written(write),
    ...(optional ? [ValidateIf((_dto, value) => value !== undefined)] : []),
    ...(read ? [Transform(({ value }) => (value === undefined ? undefined : read(value)))] : []),
  );
}

/** What `read` gives for a value that it cannot read, so that no rule accepts it. */
export const UNREADABLE = Symbol('unreadable');
