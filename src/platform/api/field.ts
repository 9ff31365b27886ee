import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';

/** Options of every DTO field. A field is required unless `optional`; an optional one may be left out, but not null. */
export interface FieldOptions {
  description: string;
  example?: unknown;
  optional?: boolean;
}

interface Rule {
  schema: ApiPropertyOptions;
  /** What a valid value is, completing the sentence "name must be …". */
  must: string;
  accepts: (value: unknown) => boolean;
  /** Runs before `accepts`, on the value as sent. */
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

/** The fields of a DTO class in order, inherited ones first. */
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
 * One decorator for a field: its rule for class-validator, how class-transformer reads it, how an answer writes it, and
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

/** What `read` returns for a value that it cannot read, so that no rule accepts it. */
export const UNREADABLE = Symbol('unreadable');
