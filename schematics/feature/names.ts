import { strings } from '@angular-devkit/core';
import type { Rule, Tree } from '@angular-devkit/schematics';
import pluralize from 'pluralize';
import { isIdentifier, refuse } from './specs.ts';
import { isReserved, withArticle } from './words.ts';

/** The names that a feature goes by, each in the spellings of the places that it stands in. */
export type Names = ReturnType<typeof spell>;

export const MODULES = 'src/features.ts';
// PostgreSQL cuts names after 63 bytes, and those of constraints are longer than their table's.
const WORDS = /^(?=.{2,40}$)[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/;

/** One and many of what is named, in kebab case: `categories` and `category` make the same feature. */
export function count(name: string, singular?: string): { one: string; many: string } {
  const one = singular ?? pluralize.singular(name);
  const many = singular === undefined ? pluralize.plural(name) : name;
  for (const word of [name, one]) {
    if (WORDS.test(word)) continue;
    refuse(`"${word}" is no name of a feature: take 2 to 40 small letters and digits, words joined by "-".`);
  }
  if (one === many) {
    refuse(`One and many "${many}" are the same word: add --singular and another one.`);
  }
  return { one, many };
}

export function spell(one: string, many: string, time: string) {
  return {
    Name: strings.classify(one),
    Names: strings.classify(many),
    name: strings.camelize(one),
    names: strings.camelize(many),
    file: one,
    files: many,
    code: strings.underscore(one),
    table: strings.underscore(many),
    word: one.replaceAll('-', ' '),
    words: many.replaceAll('-', ' '),
    aWord: withArticle(one.replaceAll('-', ' ')),
    time,
  };
}

/** The time of the new migration in milliseconds: now, or later, so that it comes after those that are there. */
export function timeOfMigration(tree: Tree): string {
  const times: number[] = [];
  tree.getDir('src').visit((path) => {
    const [, time] = /\/migrations\/(\d{13})-[^/]+\.ts$/.exec(path) ?? [];
    if (time) times.push(Number(time) + 1);
  });
  return String(Math.max(Date.now(), ...times));
}

/** Features and tables of the pet store. */
const OF_PRODUCT = new Set([
  'accounts',
  'api-keys',
  'auth',
  'categories',
  'messages',
  'orders',
  'pets',
  'store',
]);

/** Whether some feature declares an error code. */
export function declaresCode(tree: Tree, code: string): boolean {
  let isDeclared = false;
  tree.getDir('src').visit((path) => {
    isDeclared ||= path.endsWith('.errors.ts') && tree.readText(path).includes(`  ${code}:`);
  });
  return isDeclared;
}

export function refuseTaken(tree: Tree, { files, table, code, name, Names }: Names): void {
  const refuseFor = (why: string) => refuse(`"${files}" cannot be added: ${why}.`);
  if (tree.getDir(`src/${files}`).subfiles.length > 0) refuseFor(`src/${files} is there`);
  const lists = [MODULES, 'src/app.module.ts'].filter((path) => tree.exists(path));
  const imported = lists.map((path) => tree.readText(path)).join('\n');
  if (new RegExp(`\\b${Names}Module\\b`).test(imported)) refuseFor(`${Names}Module is there`);
  if (declaresCode(tree, `${code}_not_found`)) refuseFor(`the code ${code}_not_found is there`);
  tree.getDir('src').visit((path) => {
    if (!path.endsWith('.entity.ts')) return;
    if (tree.readText(path).includes(`@Entity('${table}'`))
      refuseFor(`the table ${table} is that of ${path.slice(1)}`);
  });
  if (tree.exists(`test/${files}.test.ts`)) refuseFor(`test/${files}.test.ts is there`);
  if (OF_PRODUCT.has(files)) refuseFor(`the pet store has ${files}`);
  if (['id', 'accountId'].includes(name)) refuseFor(`a feature has a column ${name}`);
  if (isReserved(table)) refuseFor(`"${table}" is a word of SQL`);
  if (!isIdentifier(name)) refuseFor(`"${name}" is a word of JavaScript`);
}

/** Refuses a feature whose class would have the name of one that its own files import, such as `Tag`. */
export function refuseHiding({ Name, files }: Names): Rule {
  return (tree) => {
    tree.visit((path) => {
      for (const [, imported] of tree.readText(path).matchAll(/^import .*\{(.+)\} from '(?!\.\/)/gm)) {
        if (!imported!.split(/[\s,]+/).includes(Name)) continue;
        refuse(`"${files}" cannot be added: its class would hide the ${Name} that ${path.slice(1)} imports.`);
      }
    });
  };
}
