import { globSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** A promise of docs/security.md, and the places of the tests that it names. */
export interface Promised {
  promise: string;
  /** `file:line` of each. */
  tests: string[];
  missing: string[];
}

const NAMED = /`([\w-]+\.test\.ts)` "([^"]+?)"/g;

const FILES = globSync('test/**/*.test.ts', { exclude: ['**/node_modules'] });

/** Each promise of docs/security.md, an item under a numbered heading, with the tests that hold it. */
export function promises(): Promised[] {
  const sections = readFileSync('docs/security.md', 'utf8').split(/^## /m);
  const items = sections.flatMap((one) => (/^\d/.test(one) ? one.split(/^- /m).slice(1) : []));
  return items.map((item) => {
    const [text = ''] = item.replace(/\n {2}/g, ' ').split('\n', 1);
    const found = Array.from(text.matchAll(NAMED), ([name, file, title]) => ({
      name,
      places: placesOf(file!, title!),
    }));
    const missing = found.filter(({ places }) => places.length === 0).map(({ name }) => name);
    if (found.length === 0) missing.push('a test');
    const promise = text.replaceAll(NAMED, '').replace(/[ ,]+$/, '');
    return { promise, tests: found.flatMap(({ places }) => places), missing };
  });
}

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
