import type { Type } from '@nestjs/common';
import { PickType } from '@nestjs/swagger';
import { field, fieldsIn, hasOnlyFields } from './field.js';

/** The fields of a class, each of which may be left out, and be null where it is optional there. */
type Change<T> = { [Name in keyof T]?: undefined extends T[Name] ? T[Name] | null : T[Name] };

/**
 * The DTO class of a change (PATCH) to what another class creates, as Nest's `PartialType` is: what is left out stays as
 * it is; null clears an optional field.
 * @throws TypeError for a class with more than fields, which takes `PartialType`
 */
export function ChangeType<T extends object>(type: Type<T>): Type<Change<T>> {
  if (!hasOnlyFields(type)) throw new TypeError(`${type.name} has rules that are no fields`);
  const Changed = PickType(type, []);
  for (const { name, declared } of fieldsIn(type)) {
    const options = { ...declared.options, optional: true, nullable: declared.isOptional };
    field(options, declared.rule)(Changed.prototype, name);
  }
  return Changed;
}
