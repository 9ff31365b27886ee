import type { Type } from '@nestjs/common';
import { type Field, fieldsIn } from './field.js';

/** The body of an answer as it is sent. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Writes items as JSON. */
export type Serializer<Item> = (item: Item) => JsonText;

/**
 * Writes items as a DTO class defines them: its fields, each in the way of its kind, and nothing else of the item.
 * Fields without a value are left out. Integers keep all their digits.
 */
export function serializer(type: Type): Serializer<object> {
  const write = objectWriter(fieldsIn(type));
  return (item) => new JsonText(write(item));
}

/** The same for lists. A list that several requests share is written once. */
export function listSerializer(type: Type): Serializer<readonly object[]> {
  const write = objectWriter(fieldsIn(type));
  const written = new WeakMap<readonly object[], JsonText>();
  return (items) => {
    let json = written.get(items);
    if (!json) written.set(items, (json = new JsonText(`[${items.map(write).join(',')}]`)));
    return json;
  };
}

function objectWriter(fields: Field[]): (item: object) => string {
  const prefixed = fields.map(({ name, declared: { write } }) => ({
    name,
    prefix: `${JSON.stringify(name)}:`,
    write,
  }));
  return (item) => {
    let text = '';
    for (const { name, prefix, write } of prefixed) {
      const value = (item as Record<string, unknown>)[name];
      if (value === undefined || value === null) continue;
      text += (text === '' ? prefix : `,${prefix}`) + write(value);
    }
    return `{${text}}`;
  };
}
