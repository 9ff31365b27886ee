import { Script } from 'node:vm';
import { SchematicsException } from '@angular-devkit/schematics';

/** A field as the command line has it: `price:money`, `note?:text(1000)`, `tags:list(text)`. */
export interface Spec {
  name: string;
  optional: boolean;
  kind: string;
  /** What stands in brackets after the kind, but for `unique`. */
  args: string;
  /** Whether no two rows have the same. */
  isUnique?: boolean;
}

const FORM = /^([a-z][A-Za-z0-9]{0,29})(\??):([a-z]+)(?:\(([^]*)\))?$/;
const because = (why: string, names: readonly string[]) =>
  names.map((name) => [name.toLowerCase(), why] as const);
/** What no field of an object can be named. */
const NEVER = new Map(
  because('every object of JavaScript has it', Object.getOwnPropertyNames(Object.prototype)),
);
/** What no column can be named either. */
export const TAKEN: ReadonlyMap<string, string> = new Map([
  ...NEVER,
  ...because('a feature has a column of that name', ['id', 'accountId']),
  ...because('every table of PostgreSQL has it', ['ctid', 'cmin', 'cmax', 'tableoid', 'xmin', 'xmax']),
]);

/**
 * The fields that a text lists, separated by white space or commas.
 * @param taken the names that they cannot have, and why: in small letters
 */
export function parseFields(text: string, taken: ReadonlyMap<string, string> = NEVER): Spec[] {
  const specs = split(text).map((one) => parseField(one, taken));
  const names = specs.map(({ name }) => name.toLowerCase());
  const twice = specs.find(({ name }, i) => names.indexOf(name.toLowerCase()) < i);
  if (twice) refuse(`The field ${twice.name} is there twice.`);
  if (specs.length === 0) refuse('A feature has at least one field.');
  return specs;
}

function parseField(text: string, taken: ReadonlyMap<string, string>): Spec {
  const [, name, optional, kind, args = ''] = FORM.exec(text) ?? [];
  if (!name || !kind)
    refuse(`"${text}" is no field: write name:kind, such as price:money or note?:text(1000).`);
  const why = taken.get(name.toLowerCase());
  if (why) refuse(`A field cannot be named ${name}: ${why}.`);
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

/** Words that can name a variable of a script, but not of a module, or that the linter keeps for what they mean. */
const KEPT = new Set(['await', 'undefined', 'NaN', 'Infinity']);

/** Whether a word can name a variable. */
export function isIdentifier(word: string): boolean {
  if (KEPT.has(word)) return false;
  try {
    return Boolean(new Script(`'use strict'; let ${word};`));
  } catch {
    return false;
  }
}
