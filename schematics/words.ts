import { Script } from 'node:vm';
import pluralize from 'pluralize';
import { refuse } from './program.ts';

/** A name in the spelling of each place: `medical-histories`, `medical_histories`, `medicalHistories` and so on. */
type Spellings = Record<'kebab' | 'snake' | 'camel' | 'pascal' | 'words', string>;

/** The names of a feature and of one of its rows. */
export type Names = Record<'many' | 'one', Spellings>;

// PostgreSQL cuts names after 63 bytes, and index names are 25 bytes longer than table names.
const NAME = /^(?=.{2,36}$)[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*$/;

/**
 * @param many the plural in kebab case, such as `medical-histories`
 * @throws Refusal that says which word cannot be a name
 */
export function namesOf(many: string, singular = pluralize.singular(many)): Names {
  for (const word of [many, singular])
    if (!NAME.test(word))
      refuse(
        `"${word}" cannot name a feature: use 2 to 36 lower-case letters and digits, words joined by "-".`,
      );
  if (singular === many)
    refuse(`"${many}" has no singular of its own: add one, such as --singular ${many}-item.`);
  const names = { many: spellingsOf(many), one: spellingsOf(singular) };
  if (isReserved(names.many) || names.one.pascal in BUILT_IN)
    refuse(`"${many}" cannot name a feature: SQL, JavaScript or the service needs this word.`);
  return names;
}

function spellingsOf(kebab: string): Spellings {
  const words = kebab.replaceAll('-', ' ');
  const pascal = kebab.replaceAll(/(?:^|-)(\w)/g, (_, first: string) => first.toUpperCase());
  const camel = pascal.charAt(0).toLowerCase() + pascal.slice(1);
  return { kebab, snake: kebab.replaceAll('-', '_'), camel, pascal, words };
}

/** The globals of JavaScript itself; those of Node are left out, as a feature's class may hide them. */
const BUILT_IN = new Script('globalThis').runInNewContext() as object;

/** Reserved words of PostgreSQL, a table of TypeORM, and names that services use themselves. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column ' +
    'concurrently constraint create cross current_catalog current_date current_role current_schema current_time ' +
    'current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze ' +
    'from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit ' +
    'localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references ' +
    'returning right select session_user similar some symmetric system_user table tablesample then to trailing true ' +
    'union unique user using variadic verbose when where window with migrations transactions'
  ).split(' '),
);

/** Whether a name cannot be that of a table or a parameter. */
function isReserved({ snake, camel }: Spellings): boolean {
  if (RESERVED.has(snake)) return true;
  try {
    return !new Script(`'use strict'; let ${camel};`);
  } catch {
    return true;
  }
}
