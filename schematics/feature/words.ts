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
