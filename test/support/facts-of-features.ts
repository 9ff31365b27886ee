import { globSync } from 'node:fs';
import { type Facts, joined } from '../../src/testing/facts.js';
import { ROOT } from './npm.js';

/** What the features of this checkout say of themselves to the tests of every operation: `test/*.facts.ts`. */
export async function loadFacts(): Promise<Required<Facts>> {
  const files = globSync('test/*.facts.ts', { cwd: ROOT });
  const all = await Promise.all(
    files.map(async (file) => (await import(`../../${file.replace(/\.ts$/, '.js')}`)) as { facts: Facts }),
  );
  return joined(all.map(({ facts }) => facts));
}
