import type { Type } from '@nestjs/common';
import { type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import {
  Faults,
  field,
  type Field,
  type FieldDecorator,
  type FieldOptions,
  fieldsIn,
  objectReader,
  objectWriter,
  UNREADABLE,
} from './dto.js';
import { int64FromJson, TextField } from './fields.js';
import { isPlainText, numberText } from './formats.js';

const isAccepted = (value: unknown) =>
  typeof value === 'object' && value !== null && !(value instanceof Faults);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * An object with the fields of another DTO class, whose rules hold inside it: `address.city must be …`. What that class
 * has no field for is ignored. Its example is put together from those of its fields, if none is given.
 */
export function ObjectField(options: FieldOptions & { of: Type<object> }): FieldDecorator {
  const { of, example = exampleOf(of) } = options;
  if (fieldsIn(of).length === 0) throw new TypeError(`${of.name} has no fields`);
  const read = objectReader(of);
  const readInside = (sent: object) => {
    const dto = read(sent);
    return dto instanceof Faults ? new Faults(dto.from('.')) : dto;
  };
  return field(
    { ...options, example },
    {
      schema: { type: () => of },
      models: [of],
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
  const known = examples.filter(([, example]) => example !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/**
 * A list in a body, of `min` (0 when left out) to `max` items. A longer one is refused before any item is looked at.
 * @param options `of` is what its items are: another field, or a DTO class. `unique` refuses the same value twice. In a query, `ListParam`
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
  const most = typeof max === 'function' ? max : () => max;
  const item = itemOf(options.of);
  const hasLength = (value: unknown): value is unknown[] =>
    Array.isArray(value) && value.length >= min && value.length <= most();
  const shown = item.options.example;
  const { example = shown === undefined ? undefined : [shown] } = options;
  const bounds = {
    ...(min > 0 && { minItems: min }),
    maxItems: most(),
    ...(unique && { uniqueItems: true }),
  };
  return field(
    { ...options, example },
    {
      schema: { ...listSchema(item), ...bounds },
      models: item.kind.models,
      enumeration: item.kind.enumeration,
      late: () => ({ maxItems: most() }),
      get must() {
        return `a list of ${min} to ${most()} items`;
      },
      nested: true,
      accepts: isAccepted,
      read: (value) => (hasLength(value) ? readItems(item, value, unique) : UNREADABLE),
      write: (list) => `[${(list as unknown[]).map((one) => item.write(one)).join(',')}]`,
    },
  );
}

/**
 * Comma-separated values in a query, 1 to `max` of them.
 * @param options `of` is what each is: a field whose value is a text without commas, or a parameter
 */
export function ListParam(options: FieldOptions & { of: FieldDecorator; max: number }): FieldDecorator {
  const { max, of } = options;
  const read = (text: string) => {
    const parts = text.split(',', max + 1);
    return parts.length <= max ? readItems(of.field, parts) : UNREADABLE;
  };
  const items = () => ({ items: plainSchema(of.field) });
  return field(options, {
    schema: { type: 'array', ...items(), minItems: 1, maxItems: max },
    late: items,
    must: `1 to ${max} values, separated by commas`,
    accepts: Array.isArray,
    read: (value) => (typeof value === 'string' ? read(value) : UNREADABLE),
  });
}

/** Names that every object has, so that one from a client would hide them. */
const RESERVED = [...Object.getOwnPropertyNames(Object.prototype), 'prototype'];
const ANY_NAME = TextField({ description: 'Name of the property.', max: 50, blank: false });

/**
 * An object with whatever properties the client likes, at most `max`, each with a value of one kind.
 * @param options `of` is what its values are, which may be null if it is `nullable`; `keys` is what their names are, texts of 1 to 50 characters when left out
 */
export function MapField(
  options: FieldOptions & { of: FieldDecorator | Type<object>; keys?: FieldDecorator; max: number },
): FieldDecorator {
  const { max, keys: { field: key } = ANY_NAME } = options;
  const item = itemOf(options.of, true);
  const values = () => {
    const one = plainSchema(item);
    return { additionalProperties: item.options.nullable ? { anyOf: [one, { type: 'null' }] } : one };
  };
  return field(options, {
    late: values,
    schema: {
      type: 'object',
      ...values(),
      maxProperties: max,
      propertyNames: { ...plainSchema(key), not: { enum: RESERVED } },
    } as ApiPropertyOptions,
    models: item.kind.models,
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

/** What a list or map is of. It has no items to leave out. */
function itemOf(of: FieldDecorator | Type<object>, mayBeNull = false): Field {
  const { field: item } = 'field' in of ? of : ObjectField({ description: '', of });
  const { optional, nullable } = item.options;
  if (optional || (nullable && !mayBeNull))
    throw new TypeError('An item is not optional, and only the value of a map is nullable');
  return item;
}

/** So many bad items are named; what comes after them is not looked at. */
const MOST_NAMED = 10;
const TWICE = new Faults([' must not have an item twice']);

/** The items of a list, each read as its kind says, or what is wrong with the first bad ones. */
function readItems(item: Field, sent: readonly unknown[], unique = false): unknown[] | Faults {
  const values: unknown[] = [];
  const faults: string[][] = [];
  for (let i = 0; i < sent.length && faults.length < MOST_NAMED; i++) {
    const value = item.readSent(sent[i], sent, i);
    if (item.accepts(value)) values.push(value);
    else faults.push(item.reasons(`[${i}]`, value));
  }
  if (faults.length > 0) return new Faults(faults.flat());
  // As JSON, two that mean the same are the same, such as two times.
  return unique && new Set(values.map((one) => item.write(one))).size < values.length ? TWICE : values;
}

function readMap(key: Field, item: Field, sent: object): object {
  const values: Record<string, unknown> = {};
  const faults: string[][] = [];
  for (const [name, given] of Object.entries(sent)) {
    if (faults.length === MOST_NAMED) break;
    const wrong = whyNotKey(key, name);
    const value = wrong ? UNREADABLE : item.readSent(given, sent, name);
    if (wrong) faults.push([wrong]);
    else if (item.accepts(value)) values[name] = value;
    else faults.push(item.reasons(`[${JSON.stringify(name)}]`, value));
  }
  return faults.length > 0 ? new Faults(faults.flat()) : values;
}

function whyNotKey(key: Field, name: string): string | undefined {
  if (RESERVED.includes(name)) return ` must not have a property named ${name}`;
  return key.accepts(name) ? undefined : ` has a property whose name must be ${key.must}`;
}

/** What a schema is made of here. Swagger has names of its own for classes, enumerations and lists of them. */
interface Schema {
  type?: string | (() => Type);
  isArray?: boolean;
  enum?: string[];
  enumName?: string;
  enumSchema?: object;
}

/** The schema of a list in a body. One of objects or of an enumeration refers to their schema, as Swagger does it. */
function listSchema(item: Field): object {
  const schema = item.kind.schema as Schema;
  const { type, enumName, enumSchema, isArray } = schema;
  // Swagger would describe an enumeration by what the list is.
  const described = enumName && { enumSchema: { description: item.options.description, ...enumSchema } };
  if (isArray || (typeof type !== 'function' && !described))
    return { type: 'array', items: plainSchema(item) };
  return { ...schema, ...described, isArray: true };
}

/** A schema as JSON Schema has it, for a place that Swagger does not look at. */
function plainSchema({ options: { description }, kind }: Field): object {
  const { type, isArray, enum: _, enumName, enumSchema, ...rest } = kind.schema as Schema;
  const meanings = kind.enumeration?.meanings() ?? {};
  const values = { enum: Object.keys(meanings), ...enumSchema, 'x-enumDescriptions': meanings };
  const flat = enumName === undefined ? { type } : { type: 'string', ...values };
  const one = typeof type === 'function' ? { $ref: getSchemaPath(type()) } : flat;
  return { ...(description && { description }), ...rest, ...(isArray ? { type: 'array', items: one } : one) };
}

const KIND_OF_NAMES = 'text without NUL or lone surrogates';
/** So much of a name is told of a path. */
const LONGEST_NAME = 50;

/**
 * An object of JSON whose content is the client's: of at most `maxBytes` bytes of UTF-8 as an answer writes it, with objects
 * and lists at most `maxDepth` deep, itself included. Its column is `jsonb`. Inside it, anything may stand, null too. Integers
 * of 64 bits keep every digit: one that a number of JavaScript would round is what `JSON.rawJSON` makes, whose `rawJSON` has
 * the digits. Other numbers are doubles. Refused are text that PostgreSQL cannot hold, numbers
 * beyond a double, and names through which careless code would change all objects: `__proto__`, and a `constructor`
 * with a `prototype`. What stands where is told by its path, `settings["tags"][2] must be …`.
 */
export function JsonField(options: FieldOptions & { maxBytes: number; maxDepth: number }): FieldDecorator {
  const { maxBytes, maxDepth } = options;
  const read = (value: object) => {
    const copy = copyOf(value, '', maxDepth);
    if (copy instanceof Faults) return copy;
    return Buffer.byteLength(JSON.stringify(copy)) <= maxBytes ? copy : UNREADABLE;
  };
  return field(options, {
    schema: {
      ...{ type: 'object', additionalProperties: true, propertyNames: { not: { const: '__proto__' } } },
      ...{ 'x-max-bytes': maxBytes, 'x-max-depth': maxDepth },
    },
    must: `an object of at most ${maxBytes} bytes of JSON`,
    nested: true,
    accepts: isAccepted,
    read: (value) => (isObject(value) ? read(value) : UNREADABLE),
  });

  function copyOf(
    value: unknown,
    path: string,
    depth: number,
    ...place: [object?, (string | number)?]
  ): unknown {
    if (typeof value === 'string') return isPlainText(value) ? value : fault(path, `be ${KIND_OF_NAMES}`);
    if (typeof value === 'number' || typeof value === 'bigint')
      return numberOf(value, ...place) ?? fault(path, 'be a number that a double can hold');
    if (typeof value !== 'object' || value === null) return value;
    if (depth === 0) return fault(path, `not nest objects and lists deeper than ${maxDepth}`);
    const isList = Array.isArray(value);
    const copies: [name: string, copy: unknown][] = [];
    for (const [name, one] of Object.entries(value)) {
      const why = isList ? undefined : whyNotName(name, one);
      if (why) return fault(path, why);
      const copy = copyOf(one, `${path}[${isList ? name : shown(name)}]`, depth - 1, value, name);
      if (copy instanceof Faults) return copy;
      copies.push([name, copy]);
    }
    return isList ? copies.map(([, copy]) => copy) : Object.fromEntries(copies);
  }
}

const fault = (path: string, must: string) => new Faults([`${path} must ${must}`]);
const shown = (name: string) =>
  JSON.stringify(name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name);

function numberOf(value: number | bigint, ...place: [object?, (string | number)?]): unknown {
  if (typeof value === 'bigint') {
    const digits = int64FromJson(value);
    return digits === undefined ? Number(value) : JSON.rawJSON(digits);
  }
  // It was sent with more digits than would let it be an integer.
  const number = Number.isNaN(value) ? Number(numberText(value, ...place)) : value;
  return Number.isFinite(number) ? number : undefined;
}

function whyNotName(name: string, value: unknown): string | undefined {
  if (!isPlainText(name)) return `have names that are ${KIND_OF_NAMES}`;
  if (name === '__proto__') return 'not have a property named __proto__';
  const isPolluting = name === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype');
  return isPolluting ? 'not have a property named constructor with a prototype' : undefined;
}
