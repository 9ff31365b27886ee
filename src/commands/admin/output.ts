import type { Type } from '@nestjs/common';
import { fieldsIn, isInt64Text } from '../../platform/api/index.js';
import type { AuditRecord } from '../../platform/safeguards/index.js';

/** The fields of a row, with values as JSON. */
export type Fields = Record<string, string>;

type Pages = Iterable<Fields[]> | AsyncIterable<Fields[]>;

/** The fields of an item by its DTO class, as in an answer of the API. */
export function fieldsOf(type: Type, item: object): Fields {
  const values = item as Record<string, unknown>;
  const given = fieldsIn(type).filter(([name]) => values[name] !== undefined && values[name] !== null);
  return Object.fromEntries(given.map(([name, field]) => [name, field.write(values[name])]));
}

export function toObject(row: Fields): string {
  const fields = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  return `{ ${fields.join(', ')} }`;
}

export async function* asJson(pages: Pages): AsyncGenerator<string> {
  let before = '[';
  for await (const page of pages)
    for (const row of page) {
      yield before + toObject(row);
      before = ',';
    }
  yield before === '[' ? '[]' : ']';
}

/** The lines of a table. A column is as wide as its widest text so far. */
export async function* asTable(names: string[], pages: Pages): AsyncGenerator<string> {
  const widths = names.map(() => 0);
  let head = [names];
  for await (const page of pages) {
    if (page.length === 0) continue;
    const lines = [...head, ...page.map((row) => names.map((name) => cell(row[name])))];
    for (const line of lines)
      for (const [i, text] of line.entries()) widths[i] = Math.max(widths[i]!, text.length);
    const pad = (text: string, i: number) => text.padEnd(widths[i]!);
    yield lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
    head = [];
  }
  if (head.length > 0) yield 'None.';
}

/** Escaped as in JSON: a name may hold terminal escape sequences. */
function cell(json = ''): string {
  return json
    .replace(/^"(.*)"$/, '$1')
    .replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** Fields to print as numbers, if they are; a request id is a text, even of digits alone. */
const IDS = new Set(['accountId', 'keyId', 'subjectId']);

/** Records as lines of JSON, without null values. Ids keep all digits. */
export async function* auditLines(records: AsyncIterable<AuditRecord>): AsyncGenerator<string> {
  for await (const { id: _id, createdAt: at, ...rest } of records) {
    const given = Object.entries({ at, ...rest }).filter(([, value]) => value !== null);
    const fields = given.map(([name, value]) => {
      const isId = IDS.has(name) && typeof value === 'string' && isInt64Text(value);
      return `"${name}":${isId ? value : JSON.stringify(value)}`;
    });
    yield `{${fields.join(',')}}`;
  }
}
