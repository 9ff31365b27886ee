import { applyDecorators } from '@nestjs/common';
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
export const UNREADABLE = Symbol('unreadable');
