import { Faults, field, type FieldDecorator, type FieldOptions, UNREADABLE } from './field.js';
import { int64FromJson, isPlainText, numberText } from './formats.js';

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
    accepts: (value) => typeof value === 'object' && value !== null && !(value instanceof Faults),
    read: (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? read(value) : UNREADABLE,
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
  const isPolluting =
    name === 'constructor' &&
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'prototype');
  return isPolluting ? 'not have a property named constructor with a prototype' : undefined;
}
