import { globSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** A row of a table of docs/security.md, and the places of the tests that it names. */
export interface Promised {
  promise: string;
  /** `file:line` of each. */
  tests: string[];
  /** What it names, and is not there. */
  missing: string[];
}

/** Tables whose last column names tests. */
const HEADS = /^\| (?:Promise|Risk|Requirement) +\|/;
const NAMED = /`([\w-]+\.test\.ts)` "([^"]+?)(?: …)?"/g;
/** What is said not to be promised, or to be the operator's, has no test. */
const NOT_PROMISED = /\*\*Not met\*\*|Left to the operator/;

const FILES = globSync('test/**/*.test.ts', { exclude: ['**/node_modules'] });

/** Each promise of docs/security.md with the tests that hold it. */
export function promises(): Promised[] {
  const lines = readFileSync('docs/security.md', 'utf8').split('\n');
  let isInTable = false;
  return lines.flatMap((line) => {
    isInTable = HEADS.test(line) || (isInTable && line.startsWith('|'));
    if (!isInTable || HEADS.test(line) || line.startsWith('| -')) return [];
    const named = Array.from(line.matchAll(NAMED), ([, file, title]) => ({ file: file!, title: title! }));
    if (named.length === 0 && NOT_PROMISED.test(line)) return [];
    const found = named.map((one) => ({ ...one, places: placesOf(one.file, one.title) }));
    const missing = found
      .filter(({ places }) => places.length === 0)
      .map(({ file, title }) => `${file} "${title}"`);
    if (named.length === 0) missing.push('a test');
    return [{ promise: line.split('|')[1]!.trim(), tests: found.flatMap(({ places }) => places), missing }];
  });
}

/** Where the files of a name have a title, or a part of one. */
function placesOf(file: string, title: string): string[] {
  return FILES.filter((path) => path.endsWith(`/${file}`)).flatMap((path) => {
    const line = readFileSync(path, 'utf8')
      .split('\n')
      .findIndex((text) => text.includes(title));
    return line < 0 ? [] : [`${path}:${line + 1}`];
  });
}

// As `npm run promises`: the table, and status 1 where a promise has no test.
if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  const all = promises();
  console.log('| Promise | Test |\n| --- | --- |');
  for (const { promise, tests, missing } of all)
    console.log(`| ${promise} | ${[...tests, ...missing.map((one) => `**missing**: ${one}`)].join(', ')} |`);
  process.exitCode = all.some(({ missing }) => missing.length > 0) ? 1 : 0;
}
