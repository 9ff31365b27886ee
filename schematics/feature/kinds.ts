import { strings } from '@angular-devkit/core';
import pluralize from 'pluralize';
import { refuse, type Spec, split } from './specs.ts';
import { quoted, textsFor } from './words.ts';

/** What a kind of field is in each file of a feature. Texts are TypeScript or SQL as it is written there. */
export interface Kind {
  /** The column in SQL, and in TypeORM. */
  sql: string;
  column: Record<string, unknown>;
  /** A condition that its values meet. */
  check?: string;
  /** The type inside the service, and that of a DTO if it is another. */
  type: string;
  dtoType?: string;
  decorator: string;
  /** The options of the decorator, but for the description and the example. */
  options: string;
  /** Two values that a client may send, the first being the example, and one that is refused. */
  example: string;
  other: string;
  wrong: string;
  /** What stands before the entity: an enumeration, or the shape of an object. */
  entity?: string;
  /** What stands before the DTO classes: the class of an object. */
  dto?: string;
  /** Decorators that `options` or `dto` use. */
  inner?: string[];
  /** The feature that it refers to. */
  refersTo?: string;
  /** The feature whose rows it lists, each of which many rows may list. */
  joins?: string;
  /** The decorator of a filter; none where there can be no filter. */
  filter?: string;
}

/** The field's place, by which its types are named. */
export interface Place {
  /** The feature's class. */
  Name: string;
  column: string;
  /** What precedes a description. */
  words: string;
}

export type Make = (args: string, place: Place, spec: Spec) => Kind;

const text = (max: number, [one, other]: string[] = ['Ada', 'Bo']): Kind => ({
  ...{ sql: 'text', column: { type: 'text' }, type: 'string', decorator: 'TextField' },
  options: `max: ${max}, blank: false`,
  ...{ example: quoted(one!.slice(0, max)), other: quoted(other!.slice(0, max)), wrong: "''" },
});

/** Kinds of a single value. */
export const SINGLE: Record<string, Make> = {
  text: (args, { column }, { name }) => {
    const max = integer(args, 255, 1, 10_000);
    return { ...text(max, textsFor(name)), check: `char_length(${column}) BETWEEN 1 AND ${max}` };
  },
  email: (_args, { column }) => ({
    ...{ ...text(254), decorator: 'EmailField', options: '', check: `char_length(${column}) <= 254` },
    ...{ example: "'grace@example.com'", other: "'ada@example.com'", wrong: "'x'" },
  }),
  url: (_args, { column }) => ({
    ...{ ...text(2048), decorator: 'UrlField', options: '', check: `char_length(${column}) <= 2048` },
    ...{ example: "'https://example.com/luna'", other: "'http://example.com'", wrong: "'example.com'" },
  }),
  integer: (args, { column }) => {
    const [low = '0', high = '1000000'] = split(args);
    const [min, max] = [
      integer(low, 0, -2_147_483_648, 2_147_483_647),
      integer(high, 0, Number(low), 2_147_483_647),
    ];
    return {
      ...{ sql: 'integer', column: { type: 'integer' }, check: `${column} BETWEEN ${min} AND ${max}` },
      ...{ type: 'number', decorator: 'IntegerField', options: `min: ${min}, max: ${max}` },
      ...{ example: String(Math.min(min + 1, max)), other: String(max), wrong: String(max + 1) },
    };
  },
  boolean: () => ({
    ...{
      sql: 'boolean',
      column: { type: 'boolean' },
      type: 'boolean',
      decorator: 'BooleanField',
      options: '',
    },
    ...{ example: 'true', other: 'false', wrong: "'true'", filter: 'BooleanParam' },
  }),
  date: () => ({
    ...{ sql: 'date', column: { type: 'date' }, type: 'string', decorator: 'DateField', options: '' },
    ...{ example: "'2030-01-31'", other: "'2024-02-29'", wrong: "'2030-02-30'", filter: 'DateField' },
  }),
  time: () => ({
    ...{ sql: 'timestamptz(3)', column: { type: 'timestamptz', precision: 3 }, type: 'Date' },
    ...{ decorator: 'TimestampField', options: '', example: "'2030-01-31T12:00:00.000Z'" },
    ...{ other: "'2024-02-29T12:00:00.000Z'", wrong: "'2030-02-30T12:00:00Z'" },
  }),
  money: (_args, { column }) => ({
    ...{
      sql: 'numeric(12,2)',
      column: { type: 'numeric', precision: 12, scale: 2 },
      check: `${column} >= 0`,
    },
    ...{ type: 'string', decorator: 'MoneyField', options: '' },
    ...{ example: "'12.50'", other: "'0.99'", wrong: "'1.234'" },
  }),
  uuid: () => ({
    ...{ sql: 'uuid', column: { type: 'uuid' }, type: 'string', decorator: 'UuidField', options: '' },
    ...{ example: "'019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70'", other: "'019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f71'" },
    wrong: "'x'",
  }),
  enum: (args, { Name, column }, { name }) => {
    const values = split(args);
    if (values.length === 0 || values.some((value) => !/^[a-z0-9][\w.-]{0,62}$/i.test(value)))
      refuse(`enum(${args}) needs words: enum(planned,checked_in).`);
    const twice = values.find((value, i) => values.findIndex((one) => memberOf(one) === memberOf(value)) < i);
    if (twice) refuse(`enum(${args}): two of the words make the same name, ${memberOf(twice)}.`);
    const type = Name + strings.classify(pluralize.singular(name));
    const members = values.map((value) => `${memberOf(value)} = ${quoted(value)},`);
    const described = values.map(
      (value) => `[${type}.${memberOf(value)}]: 'It is ${value.replaceAll(/[_.-]+/g, ' ').trim()}.',`,
    );
    return {
      ...{ sql: 'text', column: { type: 'text' }, type, decorator: 'EnumField', filter: 'EnumField' },
      check: `${column} IN (${values.map(quoted).join(', ')})`,
      options: `name: '${type}', values: { ${described.join(' ')} }`,
      ...{ example: quoted(values[0]!), other: quoted(values.at(-1)!), wrong: "'none of them'" },
      entity: `export enum ${type} { ${members.join(' ')} }`,
    };
  },
  json: (_args, { column }) => ({
    ...{ sql: 'jsonb', column: { type: 'jsonb' }, check: `jsonb_typeof(${column}) = 'object'` },
    ...{ type: 'Record<string, unknown>', decorator: 'JsonField', options: 'maxBytes: 10_000, maxDepth: 8' },
    ...{ example: "{ color: 'red', sizes: [1, null] }", other: '{}', wrong: "'{}'" },
  }),
  ref: (args) => ({
    ...{ sql: 'bigint', column: { type: 'bigint' }, type: 'string', decorator: 'Int64Field', options: '' },
    ...{ example: '1', other: '1', wrong: "'x'", refersTo: args, filter: 'Int64Param' },
  }),
};

/** The name of a word of an enumeration in TypeScript: `CheckedIn` for `checked_in`. */
function memberOf(value: string): string {
  const name = value
    .split(/[_.-]+/)
    .map(strings.capitalize)
    .join('');
  return /^\d/.test(name) ? `N${name}` : name;
}

/** The options of a field. */
export function describe(kind: Kind, description: string, optional = false): string {
  const parts = [`description: ${quoted(description)}`, `example: ${kind.example}`, kind.options];
  return [...parts, optional ? 'optional: true' : ''].filter((part) => part !== '').join(', ');
}

function integer(given: string, initial: number, min: number, max: number): number {
  const value = given === '' ? initial : Number(given);
  return Number.isInteger(value) && value >= min && value <= max
    ? value
    : refuse(`${given} must be an integer from ${min} to ${max}.`);
}
