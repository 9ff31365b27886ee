import type { Type } from '@nestjs/common';
import { InvalidArgumentError } from 'commander';
import { fieldsIn, isInt64Text, type Page, type PageQuery } from '../../platform/api/index.js';

/** The fields of a row, each value as JSON. */
export type Fields = Record<string, string>;

/** An item as its DTO class defines it, as in an answer of the API. */
export function fieldsOf(type: Type, item: object): Fields {
  const values = item as Record<string, unknown>;
  const given = fieldsIn(type).filter(({ name }) => values[name] !== undefined && values[name] !== null);
  return Object.fromEntries(given.map(({ name, declared }) => [name, declared.write(values[name])]));
}

/** Writes every row of a list, as `write` does, its items as a DTO class defines them. */
export async function writeAll<Row extends { id: string }>(
  type: Type,
  list: (page: PageQuery) => Promise<Page<Row>>,
  asJson: boolean | undefined,
): Promise<void> {
  const rows = await everyPage(list);
  write(
    rows.map((row) => fieldsOf(type, row)),
    asJson,
  );
}

async function everyPage<Row extends { id: string }>(
  list: (page: PageQuery) => Promise<Page<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit: 100, cursor });
    rows.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return rows;
}

/** Writes one row or a list to standard output: a table for people, or JSON for programs. */
export function write(rows: Fields | Fields[], asJson: boolean | undefined): void {
  if (!asJson) console.log(table([rows].flat()));
  else console.log(Array.isArray(rows) ? `[${rows.map(toObject).join(',\n ')}]` : toObject(rows));
}

function toObject(row: Fields): string {
  const fields = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  return `{ ${fields.join(', ')} }`;
}

function table(rows: Fields[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return 'None.';
  const lines = rows.map((row) => names.map((name) => cell(row[name])));
  const all = [names, ...lines];
  const widths = names.map((_name, column) => Math.max(...all.map((line) => line[column]!.length)));
  const written = all.map((line) => line.map((text, column) => text.padEnd(widths[column]!)).join('  '));
  return written.map((line) => line.trimEnd()).join('\n');
}

/** An id as an argument. */
export function idOf(text: string): string {
  if (!isInt64Text(text)) throw new InvalidArgumentError('Must be a 64-bit integer.');
  return text;
}

/** A name can hold anything, even terminal escape sequences, so it stays escaped as in JSON. */
function cell(json = ''): string {
  return json
    .replace(/^"(.*)"$/, '$1')
    .replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
