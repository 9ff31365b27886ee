import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import {
  type Enumeration,
  Faults,
  field,
  type Field,
  type FieldDecorator,
  type FieldOptions,
  fieldsIn,
  type JsonSchema,
  objectReader,
  objectWriter,
  UNREADABLE,
} from './dto.js';
import { int64FromJson } from './fields.js';
import { isPlainText, numberText } from './formats.js';

const isAccepted = (value: unknown) =>
  typeof value === 'object' && value !== null && !(value instanceof Faults);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * An object with the fields and rules of another DTO class: `address.city must be …`. Other properties are ignored. The
 * default example is composed of the examples of the fields.
 */
export function ObjectField(options: FieldOptions & { of: Type<object> }): FieldDecorator {
  const { of, example = exampleOf(of) } = options;
  if (fieldsIn(of).length === 0) throw new TypeError(`${of.name} has no fields`);
  const read = objectReader(of);
  const readInside = (sent: object) => {
    const dto = read(sent);
    return dto instanceof Faults ? new Faults(dto.under('.')) : dto;
  };
  return field(
    { ...options, example },
    {
      schema: { $ref: getSchemaPath(of) },
      model: of,
      must: 'an object',
      nested: true,
      accepts: isAccepted,
      read: (value) => (isObject(value) ? readInside(value) : UNREADABLE),
      write: objectWriter(of) as (value: unknown) => string,
    },
  );
}

function exampleOf(type: Type): object | undefined {
  const examples = fieldsIn(type).map(([name, { options, kind, isOptional, isNested }]) => {
    const { meanings } = (!isOptional && !isNested && kind.enumeration) || {};
    return [name, options.example ?? (meanings && Object.keys(meanings())[0])] as const;
  });
  const given = examples.filter(([, example]) => example !== undefined);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

/**
 * A list in a body, of `min` (default 0) to `max` items. A longer list is refused before its items are read.
 * @param options `of` describes an item: another field, or a DTO class. `unique` refuses duplicates
 */
export function ListField(
  options: FieldOptions & {
    of: FieldDecorator | Type<object>;
    min?: number;
    max: number | (() => number);
    unique?: boolean;
  },
): FieldDecorator {
  const { min = 0, max, unique = false } = options;
  const maxItems = typeof max === 'function' ? max : () => max;
  const item = itemOf(options.of);
  const hasLength = (value: unknown): value is unknown[] =>
    Array.isArray(value) && value.length >= min && value.length <= maxItems();
  const ofItem = item.options.example;
  const { example = ofItem === undefined ? undefined : [ofItem] } = options;
  const bounds = { ...(min > 0 && { minItems: min }), ...(unique && { uniqueItems: true }) };
  return field(
    { ...options, example },
    {
      schema: () => ({ type: 'array', items: schemaOf(item), ...bounds, maxItems: maxItems() }),
      model: item.kind.model,
      enumeration: enumerationOf(item),
      get must() {
        return `a list of ${min} to ${maxItems()} items`;
      },
      nested: true,
      accepts: isAccepted,
      read: (value) => (hasLength(value) ? readItems(item, value, unique) : UNREADABLE),
      write: (list) => `[${(list as unknown[]).map((value) => item.write(value)).join(',')}]`,
    },
  );
}

/**
 * 1 to `max` comma-separated values in a query.
 * @param options `of` describes a value: a `…Param`, or a field of texts without commas
 */
export function ListParam(options: FieldOptions & { of: FieldDecorator; max: number }): FieldDecorator {
  const { max, of } = options;
  const read = (text: string) => {
    const parts = text.split(',', max + 1);
    return parts.length <= max ? readItems(of.field, parts) : UNREADABLE;
  };
  return field(options, {
    schema: () => ({ type: 'array', items: schemaOf(of.field), minItems: 1, maxItems: max }),
    enumeration: enumerationOf(of.field),
    must: `1 to ${max} values, separated by commas`,
    accepts: Array.isArray,
    read: (value) => (typeof value === 'string' ? read(value) : UNREADABLE),
  });
}

/** The field that describes the items of a list. */
function itemOf(of: FieldDecorator | Type<object>): Field {
  const { field: item } = 'field' in of ? of : ObjectField({ description: '', of });
  const { optional, nullable } = item.options;
  if (optional || nullable) throw new TypeError('An item is neither optional nor nullable');
  return item;
}

/** After this many bad items, a list is not read further. */
const MAX_BAD_ITEMS = 10;
const DUPLICATE = new Faults([' must not have an item twice']);

/** Reads the items of a list, or says what is wrong with the first bad items. */
function readItems(item: Field, sent: readonly unknown[], unique = false): unknown[] | Faults {
  const values: unknown[] = [];
  const faults: string[][] = [];
  for (let i = 0; i < sent.length && faults.length < MAX_BAD_ITEMS; i++) {
    const value = item.readSent(sent[i], sent, i);
    if (item.accepts(value)) values.push(value);
    else faults.push(item.reasons(`[${i}]`, value));
  }
  if (faults.length > 0) return new Faults(faults.flat());
  // Compares the items as JSON, because equal times are different `Date` objects.
  const isDuplicate = unique && new Set(values.map((value) => item.write(value))).size < values.length;
  return isDuplicate ? DUPLICATE : values;
}

/** The schema of an item with its description; a class or an enumeration has a description of its own. */
function schemaOf({ options: { description }, schema }: Field): JsonSchema {
  return schema.type && description ? { description, ...schema } : schema;
}

function enumerationOf({ options: { description }, kind: { enumeration } }: Field): Enumeration | undefined {
  return enumeration && { description, ...enumeration };
}

/**
 * A JSON object of any content, for a column `jsonb`: at most `maxBytes` bytes of UTF-8 when written in an answer, with at
 * most `maxDepth` levels of objects and lists, itself included. 64-bit integers keep every digit: an integer that JavaScript
 * would round is an object of `JSON.rawJSON`, whose `rawJSON` holds the digits. Other numbers are doubles. Refuses text that
 * PostgreSQL cannot hold, numbers beyond a double, and names that enable prototype pollution: `__proto__`, and a
 * `constructor` with a `prototype`.
 */
export function JsonField(options: FieldOptions & { maxBytes: number; maxDepth: number }): FieldDecorator {
  const { maxBytes, maxDepth } = options;
  const read = (value: object) => {
    const copy = storable(value, maxDepth);
    return copy !== UNREADABLE && Buffer.byteLength(JSON.stringify(copy)) <= maxBytes ? copy : UNREADABLE;
  };
  return field(options, {
    schema: {
      ...{ type: 'object', additionalProperties: true, propertyNames: { not: { const: '__proto__' } } },
      ...{ 'x-max-bytes': maxBytes, 'x-max-depth': maxDepth },
    },
    must: `an object of at most ${maxBytes} bytes of JSON and ${maxDepth} levels, with numbers that a double can hold, texts without NUL or lone surrogates, no property __proto__ or constructor.prototype`,
    nested: true,
    accepts: isAccepted,
    read: (value) => (isObject(value) ? read(value) : UNREADABLE),
  });
}

/** A copy of a JSON value that `jsonb` can hold; UNREADABLE for any other value. */
function storable(value: unknown, depth: number, ...place: [object?, (string | number)?]): unknown {
  if (typeof value === 'string') return isPlainText(value) ? value : UNREADABLE;
  if (typeof value === 'number' || typeof value === 'bigint') return storableNumber(value, ...place);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return UNREADABLE;
  const isList = Array.isArray(value);
  const copies: [name: string, copy: unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const copy = isList || isSafeName(name, item) ? storable(item, depth - 1, value, name) : UNREADABLE;
    if (copy === UNREADABLE) return UNREADABLE;
    copies.push([name, copy]);
  }
  return isList ? copies.map(([, copy]) => copy) : Object.fromEntries(copies);
}

function storableNumber(value: number | bigint, ...place: [object?, (string | number)?]): unknown {
  if (typeof value === 'bigint') {
    const digits = int64FromJson(value);
    return digits === undefined ? Number(value) : JSON.rawJSON(digits);
  }
  // NaN stands for a fraction that would round to an integer.
  const number = Number.isNaN(value) ? Number(numberText(value, ...place)) : value;
  return Number.isFinite(number) ? number : UNREADABLE;
}

function isSafeName(name: string, value: unknown): boolean {
  const isPolluting = name === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype');
  return isPlainText(name) && name !== '__proto__' && !isPolluting;
}
