import { Script } from 'node:vm';
import { SchematicsException } from '@angular-devkit/schematics';

/** A field as the command line has it: `price:money`, `note?:text(1000)`, `tags:list(text)`. */
export interface Spec {
  name: string;
  optional: boolean;
  kind: string;
  /** What stands in brackets after the kind. */
  args: string;
}

const FORM = /^([a-z][A-Za-z0-9]{0,29})(\??):([a-z]+)(?:\(([^]*)\))?$/;
/** Names that the feature has already, or that PostgreSQL takes for words of SQL. */
const TAKEN = new Set(
  (
    'id accountId page limit cursor order sort constructor prototype all analyse analyze and any array as asc ' +
    'asymmetric authorization binary both case cast check collate collation column concurrently constraint create cross ' +
    'default deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having ' +
    'ilike in initially inner intersect into is isnull join lateral leading left like localtime localtimestamp natural ' +
    'not notnull null offset on only or outer overlaps placing primary references returning right select similar some ' +
    'symmetric table tablesample then to trailing true union unique user using variadic verbose when where window with'
  ).split(' '),
);

/** The fields that a text lists, separated by white space or commas. */
export function parseFields(text: string): Spec[] {
  const specs = split(text).map(parseField);
  const names = specs.map(({ name }) => name.toLowerCase());
  const twice = specs.find(({ name }, i) => names.indexOf(name.toLowerCase()) < i);
  if (twice) refuse(`The field ${twice.name} is there twice.`);
  if (specs.length === 0) refuse('A feature has at least one field.');
  return specs;
}

function parseField(text: string): Spec {
  const [, name, optional, kind, args = ''] = FORM.exec(text) ?? [];
  if (!name || !kind)
    refuse(`"${text}" is no field: write name:kind, such as price:money or note?:text(1000).`);
  if (TAKEN.has(name) || TAKEN.has(name.toLowerCase()) || !isIdentifier(name))
    refuse(
      `A field cannot be named ${name}, a word of SQL, JavaScript or the platform. Call it ${name}Day, or the like.`,
    );
  return { name, optional: optional === '?', kind, args };
}

/** The parts of a text between white space and commas, but for those within brackets. */
export function split(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (depth === 0 && /[\s,]/.test(character)) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.filter((part) => part !== '');
}

export function refuse(message: string): never {
  throw new SchematicsException(message);
}

/** Whether a word can name a variable. */
export function isIdentifier(word: string): boolean {
  try {
    return Boolean(new Script(`'use strict'; let ${word};`));
  } catch {
    return false;
  }
}
