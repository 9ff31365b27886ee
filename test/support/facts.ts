import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Choice, Facts } from '../../src/testing/facts.js';

/** The facts of all features, in `test/*.facts.ts` of the working directory. */
export async function loadFacts(): Promise<Required<Facts>> {
  const files = globSync('test/*.facts.ts').map((file) => pathToFileURL(resolve(file)).href);
  const loaded = await Promise.all(files.map((file) => import(file) as Promise<{ facts: Facts }>));
  const all = loaded.map(({ facts }) => facts);
  return {
    choices: Object.assign({}, ...all.map(({ choices }) => choices)) as Record<string, Choice[]>,
    alone: Object.assign({}, ...all.map(({ alone }) => alone)) as Record<string, string[]>,
    tables: Object.assign({}, ...all.map(({ tables }) => tables)) as Record<string, string>,
    rows: (from, to) => all.flatMap(({ rows }) => rows?.(from, to) ?? []),
  };
}
