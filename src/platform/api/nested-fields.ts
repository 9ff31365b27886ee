import type { Type } from '@nestjs/common';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { objectReader } from './dto-reader.js';
import {
  type Declared,
  Faults,
  field,
  type FieldDecorator,
  type FieldOptions,
  fieldsIn,
  UNREADABLE,
} from './field.js';
import { TextField } from './fields.js';
import { MOST_NAMED, readItem, readItems } from './items.js';
import { listSchema, plainSchema } from './nested-schemas.js';
import { objectWriter } from './object-writer.js';

const isAccepted = (value: unknown) =>
  typeof value === 'object' && value !== null && !(value instanceof Faults);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * An object with the fields of another DTO class, whose rules hold inside it: `address.city must be …`. What that class
 * has no field for is ignored. Its example is put together from those of its fields, if none is given.
 */
export function ObjectField(options: FieldOptions & { of: Type<object> }): FieldDecorator {
  const { of } = options;
  const read = objectReader(of);
  if (!read) throw new TypeError(`${of.name} has no fields`);
  const fields = fieldsIn(of);
  const readInside = (sent: object) => {
    const dto = read(sent);
    return dto instanceof Faults ? new Faults(dto.reasons.map((reason) => `.${reason}`)) : dto;
  };
  const { example = exampleOf(of) } = options;
  return field(
    { ...options, example },
    {
      schema: { type: () => of },
      models: [of],
      must: 'an object',
      nested: true,
      accepts: isAccepted,
      read: (value) => (isObject(value) ? readInside(value) : UNREADABLE),
      write: objectWriter(fields) as (value: unknown) => string,
    },
  );
}

/**
 * A list in a body, of `min` (0 when left out) to `max` items. A longer one is refused before any item is looked at.
 * @param options `of` is what its items are: another field, or a DTO class. `unique` refuses the same value twice, for
 * values that are no objects. In a query, `ListParam`
 */
export function ListField(
  options: FieldOptions & { of: FieldDecorator | Type<object>; min?: number; max: number; unique?: boolean },
): FieldDecorator {
  const { min = 0, max, unique = false } = options;
  const item = itemOf(options.of);
  const hasLength = (value: unknown): value is unknown[] =>
    Array.isArray(value) && value.length >= min && value.length <= max;
  const { example = given(item) === undefined ? undefined : [given(item)] } = options;
  return field(
    { ...options, example },
    {
      schema: listSchema(item, {
        ...(min > 0 && { minItems: min }),
        maxItems: max,
        ...(unique && { uniqueItems: true }),
      }),
      models: item.rule.models,
      must: `a list of ${min} to ${max} items`,
      nested: true,
      accepts: isAccepted,
      read: (value) => (hasLength(value) ? readItems(item, value, unique) : UNREADABLE),
      write: (list) => `[${(list as unknown[]).map((one) => item.write(one)).join(',')}]`,
    },
  );
}

/** Names that every object has, so that one from a client would hide them. */
const RESERVED = [...Object.getOwnPropertyNames(Object.prototype), 'prototype'];
const ANY_NAME = TextField({ description: 'Name of the property.', max: 50, blank: false });

/**
 * An object with whatever properties the client likes, at most `max`, each with a value of one kind.
 * @param options `of` is what its values are; `keys` is what their names are, texts of 1 to 50 characters when left out
 */
export function MapField(
  options: FieldOptions & { of: FieldDecorator | Type<object>; keys?: FieldDecorator; max: number },
): FieldDecorator {
  const { max, keys: { declared: key } = ANY_NAME } = options;
  const item = itemOf(options.of);
  return field(options, {
    schema: {
      type: 'object',
      additionalProperties: plainSchema(item),
      maxProperties: max,
      propertyNames: { ...plainSchema(key), not: { enum: RESERVED } },
    } as ApiPropertyOptions,
    models: item.rule.models,
    must: `an object of at most ${max} properties`,
    nested: true,
    accepts: isAccepted,
    read: (value) =>
      isObject(value) && Object.keys(value).length <= max ? readMap(key, item, value) : UNREADABLE,
    write: (map) => {
      const members = Object.entries(map as object);
      return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${item.write(value)}`).join(',')}}`;
    },
  });
}

function readMap(key: Declared, item: Declared, sent: object): object {
  const values: Record<string, unknown> = {};
  const faults: string[][] = [];
  for (const name of Object.keys(sent)) {
    if (faults.length === MOST_NAMED) break;
    const wrong = whyNotKey(key, name);
    const { value, reasons } = wrong
      ? { reasons: [wrong] }
      : readItem(item, sent, name, `[${JSON.stringify(name)}]`);
    if (reasons.length === 0) values[name] = value;
    else faults.push(reasons);
  }
  return faults.length > 0 ? new Faults(faults.flat()) : values;
}

function whyNotKey(key: Declared, name: string): string | undefined {
  if (RESERVED.includes(name)) return ` must not have a property named ${name}`;
  return key.accepts(name) ? undefined : ` has a property whose name must be ${key.must}`;
}

/** What a list or map is of. It has no items to leave out. */
function itemOf(of: FieldDecorator | Type<object>): Declared {
  const { declared } = 'declared' in of ? of : ObjectField({ description: '', of });
  const { optional, nullable } = declared.options;
  if (optional || nullable) throw new TypeError('An item is neither optional nor nullable');
  return declared;
}

const given = ({ options: { example } }: Declared): unknown => example;

function exampleOf(type: Type): object | undefined {
  const examples = fieldsIn(type).map(({ name, declared }) => [name, given(declared)] as const);
  const known = examples.filter(([, example]) => example !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}
