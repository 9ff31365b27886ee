import type { Page, PageQuery } from '../common/paging.js';

/** Writes rows to the standard output: a table for people, or JSON for programs. */
export function write(rows: object | object[], asJson: boolean | undefined): void {
  console.log(asJson ? JSON.stringify(rows, null, 2) : table([rows].flat()));
}

/** Every row of a list, page by page. */
export async function everyPage<Row extends { id: string }>(
  list: (page: PageQuery) => Promise<Page<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = await list({ limit: 100 }); ; page = await list({ limit: 100, cursor: rows.at(-1)!.id })) {
    rows.push(...page.items);
    if (!page.next) return rows;
  }
}

function table(rows: object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return 'None.';
  const lines = rows.map((row) => names.map((name) => cell(row[name as keyof typeof row])));
  const all = [names, ...lines];
  const widths = names.map((_name, column) => Math.max(...all.map((line) => line[column]!.length)));
  const written = all.map((line) => line.map((text, column) => text.padEnd(widths[column]!)).join('  '));
  return written.map((line) => line.trimEnd()).join('\n');
}

/** A name can hold anything, also what a terminal would obey: it is written as in JSON, where that is escaped. */
function cell(value: unknown): string {
  if (value === undefined) return '';
  return JSON.stringify(value)
    .replace(/^"(.*)"$/, '$1')
    .replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
