import { applyDecorators, type Type } from '@nestjs/common';
import { ApiSchema, type ApiSchemaOptions } from '@nestjs/swagger';
import { ApiError } from './api-error.js';
import type { DtoReader } from './dto-reader.js';
import { fieldsIn } from './field.js';

const CHANGE = Symbol('a body that changes something');

/** Names the schema of a body that changes something: any of its fields may be left out, but not all. */
export function ChangeSchema(name: string): ClassDecorator {
  return applyDecorators(
    // Further keywords go into the schema, although the type knows only some.
    ApiSchema({ name, minProperties: 1 } as ApiSchemaOptions),
    (type: object) => Reflect.defineMetadata(CHANGE, true, type),
  );
}

/** Has the reader of a class that is a change refuse one that changes nothing. */
export function requireChange(type: Type<object>, read: DtoReader | undefined): DtoReader | undefined {
  if (!read || !Reflect.hasMetadata(CHANGE, type)) return read;
  const names = fieldsIn(type).map(({ name }) => name);
  return (sent) => {
    const dto = read(sent);
    if (names.some((name) => Object.hasOwn(sent, name))) return dto;
    throw new ApiError('validation_failed', `At least one of ${names.join(', ')} is required.`);
  };
}
