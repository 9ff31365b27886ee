import type { Inventory, Target } from './inventory.ts';
import { refuse } from './program.ts';
import { capitalized, isReserved, type Names, pascal, snake, spoken } from './words.ts';

/** A kind of field in each file of a feature, as TypeScript or SQL. */
interface Kind {
  /** The type of the column in SQL, and further options of `@Column`. */
  sql: string;
  column?: string;
  check?: string;
  /** The type in the service; a string when left out. */
  type?: string;
  decorator: string;
  /** Options of the decorator, besides description and example. */
  options?: string;
  /** Two values; the first is the example. */
  values: [string, string];
  filter?: string;
  words?: string[];
  target?: Target;
}

export interface Field extends Kind {
  name: string;
  spoken: string;
  columnName: string;
  constant: string;
  description: string;
  optional: boolean;
  type: string;
}

/** All kinds; `$` in a check stands for the column, `type` is the name of an enumeration. */
const KINDS: Record<string, (args: string, name: string, type: string, inventory: Inventory) => Kind> = {
  text: (args, name) => {
    const max = integers(args, [255], 1, 10_000)[0]!;
    const words = /name$/i.test(name) ? ['Ada', 'Bo'] : [capitalized(spoken(name)), `Other ${spoken(name)}`];
    const [first, second] = words.map((word) => `'${word.slice(0, max)}'`);
    return {
      ...{ sql: 'text', check: `char_length($) BETWEEN 1 AND ${max}`, values: [first!, second!] },
      ...{ decorator: 'TextField', options: `max: ${max}, blank: false` },
    };
  },
  email: () => ({
    ...{ sql: 'text', check: 'char_length($) <= 254', decorator: 'EmailField' },
    values: ["'grace@example.com'", "'ada@example.com'"],
  }),
  url: () => ({
    ...{ sql: 'text', check: 'char_length($) <= 2048', decorator: 'UrlField' },
    values: ["'https://example.com/luna'", "'http://example.com'"],
  }),
  integer: (args) => {
    const [min, max] = integers(args, [0, 1_000_000], -(2 ** 31), 2 ** 31 - 1);
    return {
      ...{ sql: 'integer', check: `$ BETWEEN ${min} AND ${max}`, type: 'number', decorator: 'IntegerField' },
      ...{ options: `min: ${min}, max: ${max}`, values: [`${min}`, `${max}`] },
    };
  },
  boolean: () => ({ sql: 'boolean', type: 'boolean', decorator: 'BooleanField', values: ['true', 'false'] }),
  date: () => ({ sql: 'date', decorator: 'DateField', values: ["'2030-01-31'", "'2024-02-29'"] }),
  time: () => ({
    ...{ sql: 'timestamptz(3)', column: 'precision: 3', type: 'Date', decorator: 'TimestampField' },
    values: ["'2030-01-31T12:00:00.000Z'", "'2024-02-29T12:00:00.000Z'"],
  }),
  money: () => ({
    ...{ sql: 'numeric(12,2)', column: 'precision: 12, scale: 2', check: '$ >= 0' },
    ...{ decorator: 'MoneyField', values: ["'12.50'", "'0.99'"] },
  }),
  uuid: () => ({
    ...{ sql: 'uuid', decorator: 'UuidField' },
    values: ["'019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70'", "'019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f71'"],
  }),
  enum: (args, _name, type) => {
    const words = args.split(',');
    const members = new Set(words.map(pascal));
    if (
      words.some((word) => !/^[a-z][a-z0-9_-]{0,62}$/.test(word)) ||
      members.size < Math.max(2, words.length)
    )
      refuse(`enum(${args}) needs two or more distinct words: enum(planned,checked_in).`);
    const meanings = words.map((word) => `[${type}.${pascal(word)}]: 'It is ${spoken(word)}.'`);
    return {
      ...{ sql: 'text', check: `$ IN ('${words.join("', '")}')`, type, words, filter: 'EnumField' },
      ...{ decorator: 'EnumField', options: `name: '${type}', values: { ${meanings.join(', ')} }` },
      values: [`'${words[0]}'`, `'${words.at(-1)}'`],
    };
  },
  ref: (args, _name, _type, inventory) => ({
    ...{ sql: 'bigint', decorator: 'Int64Field', values: ['1', '1'], filter: 'Int64Param' },
    target: inventory.target(args),
  }),
};

const FORM = /^([a-z][A-Za-z0-9]{0,29})(\??):([a-z]+)(?:(?<=:(?:text|integer|enum|ref))\(([^()]*)\))?$/;

/** @param list such as `petId:ref(pets),date:date,note?:text(1000)`, separated by commas or spaces */
export function fieldsOf(list: string, names: Names, inventory: Inventory): Field[] {
  const fields = (list.match(/[^\s,(]+(?:\([^)]*\))?|[^\s,]/g) ?? []).map((field) =>
    fieldOf(field, names, inventory),
  );
  const columns = fields.map(({ columnName }) => columnName);
  const twice = fields.find(({ columnName }, i) => columns.indexOf(columnName) < i);
  if (twice) refuse(`The field ${twice.name} is given twice.`);
  return fields.length > 0 ? fields : refuse('A feature has at least one field.');
}

function fieldOf(text: string, { Name, word, table }: Names, inventory: Inventory): Field {
  const [, name, optional, kind, args = ''] = FORM.exec(text) ?? [];
  if (!name || !kind)
    refuse(`"${text}" is not a field: write name:kind, such as price:money or note?:text(1000).`);
  if (isReserved(name))
    refuse(`"${name}" cannot name a field: it is a word of SQL, JavaScript or the platform.`);
  if (!Object.hasOwn(KINDS, kind))
    refuse(`${kind} is not a kind of field: use ${Object.keys(KINDS).join(', ')}.`);
  const columnName = snake(name);
  if (`${table}_account_id_${columnName}_id_idx`.length > 63)
    refuse(`${name} is too long: PostgreSQL cuts names after 63 bytes.`);
  const kindFacts = KINDS[kind]!(args.replaceAll(' ', ''), name, Name + pascal(name), inventory);
  const made = { type: 'string', ...kindFacts, name, columnName, optional: optional === '?' };
  const check = made.check?.replace('$', () => columnName);
  const description = describe(made, word);
  return { ...made, check, spoken: spoken(name), constant: columnName.toUpperCase(), description };
}

function describe({ name, target, decorator }: Kind & { name: string }, word: string): string {
  const [, verb] = /^([a-z]+)At$/.exec(name) ?? [];
  if (verb) return `When the ${word} ${verb.endsWith('s') ? '' : 'was '}${verb}.`;
  if (target) return `Identifier of the ${target.word} of the ${word}.`;
  return `${capitalized(spoken(name))} of the ${word}${decorator === 'TextField' ? ', stored as sent' : ''}.`;
}

function integers(text: string, initial: number[], min: number, max: number): number[] {
  const all = text ? text.split(',').map(Number) : initial;
  const isGood = all.every((n, i) => Number.isInteger(n) && n >= (all[i - 1] ?? min) && n <= max);
  if (isGood && all.length === initial.length) return all;
  const what = initial.length > 1 ? 'a least and a greatest integer' : 'an integer';
  return refuse(`(${text}) must be ${what} from ${min} to ${max}.`);
}
