import type { Type } from '@nestjs/common';
import { fieldsIn } from './field.js';
import { objectWriter } from './object-writer.js';
import { Page } from './paging.js';

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

/** The same for pages, and for lists. A page that several requests share, and none has touched, is written once. */
export function listSerializer(type: Type): Serializer<Page<{ id: string }> | readonly object[]> {
  const write = objectWriter(fieldsIn(type));
  const writeAll = (items: readonly object[]) => new JsonText(`[${items.map(write).join(',')}]`);
  const written = new WeakMap<readonly unknown[], JsonText>();
  return (list) => {
    if (!(list instanceof Page)) return writeAll(list);
    const rows = list.untouched;
    if (!rows) return writeAll(list.items);
    let json = written.get(rows);
    if (!json) written.set(rows, (json = writeAll(list.readAll())));
    return json;
  };
}
