import { Script } from 'node:vm';
import { refuse } from './program.ts';

/** The names of a feature, in the spelling of each place. */
export type Names = ReturnType<typeof namesOf>;

// PostgreSQL cuts names after 63 bytes, and names of constraints are longer than those of tables.
const NAME = /^(?=.{2,40}$)[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*$/;

/** @param many the plural in kebab case, such as `medical-histories` */
export function namesOf(many: string, singular = singularOf(many)) {
  for (const word of [many, singular])
    if (!NAME.test(word))
      refuse(
        `"${word}" cannot name a feature: use 2 to 40 lower-case letters and digits, words joined by "-".`,
      );
  if (singular === many) refuse(`"${many}" is not a regular plural: add --singular with the singular.`);
  const names = {
    ...{ Name: pascal(singular), Names: pascal(many), name: camel(singular), names: camel(many) },
    ...{ file: singular, files: many, code: snake(singular), table: snake(many) },
    ...{ word: spoken(singular), words: spoken(many), aWord: withArticle(spoken(singular)) },
  };
  for (const word of [names.name, names.table])
    if (isReserved(word))
      refuse(`"${word}" cannot name a feature: it is a word of SQL, JavaScript or the platform.`);
  return names;
}

function singularOf(many: string): string {
  if (many.endsWith('ies')) return `${many.slice(0, -3)}y`;
  return many.replace(/(?<=ss|x|ch|sh)es$|(?<!s)s$/, '');
}

/** Reserved words of PostgreSQL, and existing properties of rows, lists and modules. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column ' +
    'concurrently constraint create cross current_catalog current_date current_role current_schema current_time ' +
    'current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze ' +
    'from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit ' +
    'localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references ' +
    'returning right select session_user similar some symmetric system_user table tablesample then to trailing true ' +
    'union unique user using variadic verbose when where window with ' +
    'cmax cmin ctid tableoid xmax xmin id accountId cursor page sort await undefined'
  ).split(' '),
);

/** Whether a name is unusable for a field, variable or table. */
export function isReserved(name: string): boolean {
  if (RESERVED.has(name) || RESERVED.has(snake(name)) || name in {}) return true;
  try {
    return !new Script(`'use strict'; let ${camel(name)};`);
  } catch {
    return true;
  }
}

/** `PetId` for `pet-id`, `pet_id` and `petId`. */
export const pascal = (name: string): string =>
  name.replace(/(?:^|[._-]+)(\w)/g, (_, first: string) => first.toUpperCase());
const camel = (name: string): string => name.replace(/[_-](\w)/g, (_, first: string) => first.toUpperCase());
export const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
export const spoken = (name: string): string => snake(name).replaceAll('_', ' ');
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const withArticle = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
