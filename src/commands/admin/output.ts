import type { Type } from '@nestjs/common';
import { fieldsIn, isInt64Text } from '../../platform/api/index.js';
import type { AuditRecord } from '../../platform/safeguards/index.js';

/** The fields of a row, each value as JSON. */
export type Fields = Record<string, string>;

type Pages = Iterable<Fields[]> | AsyncIterable<Fields[]>;

export function namesOf(type: Type): string[] {
  return fieldsIn(type).map(([name]) => name);
}

/** An item as its DTO class defines it, as in an answer of the API. */
export function fieldsOf(type: Type, item: object): Fields {
  const values = item as Record<string, unknown>;
  const given = fieldsIn(type).filter(([name]) => values[name] !== undefined && values[name] !== null);
  return Object.fromEntries(given.map(([name, field]) => [name, field.write(values[name])]));
}

export function toObject(row: Fields): string {
  const fields = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  return `{ ${fields.join(', ')} }`;
}

/** The lines of a list of JSON, for programs. */
export async function* asJson(pages: Pages): AsyncGenerator<string> {
  let before = '[';
  for await (const page of pages)
    for (const row of page) {
      yield before + toObject(row);
      before = ',';
    }
  yield before === '[' ? '[]' : ']';
}

/** The lines of a table, for people. A column is as wide as what it has held so far. */
export async function* asTable(names: string[], pages: Pages): AsyncGenerator<string> {
  const widths = names.map(() => 0);
  let head = [names];
  for await (const page of pages) {
    if (page.length === 0) continue;
    const lines = [...head, ...page.map((row) => names.map((name) => cell(row[name])))];
    for (const line of lines)
      for (const [i, text] of line.entries()) widths[i] = Math.max(widths[i]!, text.length);
    yield lines
      .map((line) =>
        line
          .map((text, i) => text.padEnd(widths[i]!))
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
    head = [];
  }
  if (head.length > 0) yield 'None.';
}

/** A name can hold anything, even terminal escape sequences, so it stays escaped as in JSON. */
function cell(json = ''): string {
  return json
    .replace(/^"(.*)"$/, '$1')
    .replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** What is a number where it is an id. A request's id is a text, also one of digits alone. */
const IDS = new Set(['accountId', 'keyId', 'subjectId']);

/** Records as lines of JSON, in which ids keep all their digits. What a record does not have is left out. */
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
