import { strings } from '@angular-devkit/core';
import pluralize from 'pluralize';

/** A name in camel case, as it is spoken. */
export const words = (name: string): string => strings.dasherize(name).replaceAll('-', ' ');

export const withArticle = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;

export function quoted(value: string): string {
  return `'${value}'`;
}

/** Two texts that could stand in a field. */
export function textsFor(name: string): string[] {
  if (/name$/i.test(name)) return ['Ada', 'Bo'];
  const word = words(pluralize.singular(name));
  return [strings.capitalize(withArticle(word)), `Another ${word}`];
}

/** Words that PostgreSQL takes for columns only in quotes. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column ' +
    'concurrently constraint create cross current_catalog current_date current_role current_schema current_time ' +
    'current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze ' +
    'from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit ' +
    'localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references ' +
    'returning right select session_user similar some symmetric system_user table tablesample then to trailing true ' +
    'union unique user using variadic verbose when where window with'
  ).split(' '),
);

export const isReserved = (name: string): boolean => RESERVED.has(name);

/** A name as SQL writes it. */
export const inSql = (name: string): string => (isReserved(name) ? `"${name}"` : name);
