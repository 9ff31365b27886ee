import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const CONFIG = new URL('../src/config.ts', import.meta.url);
const PAGE = new URL('configuration.md', import.meta.url);

/** A group of variables in `src/config.ts`: a comment, and the lines below it. */
const GROUP = /^  \/\/ (.+)\n((?:  \S.*\n)+)/gm;
/** A variable: its comment, its checks, its name and its default. */
const VARIABLE = /\/\*\* (.+) \*\/\n  (.+) ([A-Z_]+)\??(?:: [^=;]+)?(?: = (.+))?;/g;
const HEADINGS = ['Name', 'Default', 'Values', 'Meaning'];

/** The tables of all variables, by the names of their groups. */
export function configurationTables(): Map<string, string> {
  const groups = [...readFileSync(CONFIG, 'utf8').matchAll(GROUP)];
  return new Map(
    groups.map(([, group, lines]) => {
      const rows = [...lines!.matchAll(VARIABLE)].map(([, meaning, checks, name, initial]) => [
        `\`${name}\``,
        initial ? initial.replace(/^'(.*)'$/, '`$1`').replaceAll('_', '') : 'none',
        valuesOf(checks!),
        meaning!,
      ]);
      return [group!, tableOf([HEADINGS, ...rows])];
    }),
  );
}

/** What a variable may be: a range, or some words. */
function valuesOf(checks: string): string {
  const [, words] = /@IsIn\(\[(.+)\]\)/.exec(checks) ?? [];
  if (words) return words.replaceAll("'", '`');
  const [, min, max] = /@Min\((\d+)\) @Max\(([\d_]+)\)/.exec(checks) ?? [];
  return max ? `${min} to ${Number(max.replaceAll('_', '')).toLocaleString('en')}` : '';
}

/** A table in Markdown, as Prettier writes it. */
function tableOf(rows: string[][]): string {
  const widths = HEADINGS.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | '));
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join(' | '));
  return lines.map((line) => `| ${line} |\n`).join('');
}

/** The page with the table of each group below its heading; the text stays. @throws Error for a variable outside the groups */
export function withTables(page: string): string {
  const tables = configurationTables();
  const written = [...tables.values()].join('');
  const names = Array.from(
    readFileSync(CONFIG, 'utf8').matchAll(/^  @.* ([A-Z_]{4,})\b/gm),
    ([, name]) => name!,
  );
  const missing = names.filter((name) => !written.includes(`\`${name}\``));
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')}: each group is one block of lines without a gap`);
  return page.replaceAll(
    /^## (.+)\n([^#]*?)(?:^\|.*\n)+/gm,
    (_, group: string, text: string) => `## ${group}\n${text}${tables.get(group) ?? ''}`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href)
  writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8')));
