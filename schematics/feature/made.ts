import { strings } from '@angular-devkit/core';
import { kindOf } from './all-kinds.ts';
import { describe, type Kind } from './kinds.ts';
import pluralize from 'pluralize';
import type { Names } from './names.ts';
import type { Target } from './targets.ts';
import { isIdentifier, parseFields, refuse, type Spec, split, TAKEN } from './specs.ts';
import { inSql, quoted, words } from './words.ts';

/** A field of a feature, with all that its files say of it. */
export type Made = Spec &
  Kind & {
    constant: string;
    columnName: string;
    /** The column's name as SQL writes it. */
    columnSql: string;
    columnOptions: string;
    /** The variable that holds it in the service, and how it gets there from an object. */
    local: string;
    pattern: string;
    isFilter: boolean;
    target?: Target;
    /** What has which of the rows that it lists. */
    join?: Join;
  };

/** The table of what has which, in the names of its places. */
export interface Join {
  Name: string;
  file: string;
  table: string;
  /** What it refers to: the feature's row, and the other one. */
  own: Side;
  other: Side;
}

interface Side {
  property: string;
  column: string;
}

/** So many that each file stays within the limits of the linter. */
const MOST = 18;
/** What lists have parameters for already. */
const OF_LISTS = new Set(['limit', 'cursor', 'sort', 'order']);
/** Variables of the service's methods. */
const LOCALS = new Set(['page', 'body', 'changes']);
/** The examples in `*.http` end with the time. */
const SHORTEST = 20;
/** Bytes of a name of PostgreSQL. */
const LONGEST = 63;

/**
 * @param by what the list can be filtered by; the first enumeration, if left out
 * @throws SchematicsException that says what is wrong with a field or a filter
 */
export function makeFields(
  names: Names,
  text: string,
  by: string | undefined,
  targetOf: (name: string) => Target,
): Made[] {
  const specs = parseFields(text, TAKEN).map(takeUnique);
  if (specs.length > MOST) refuse(`A feature has at most ${MOST} fields here.`);
  const filter =
    by === undefined
      ? specs.find(({ kind, name }) => kind === 'enum' && !OF_LISTS.has(name))?.name
      : filterIn(specs, by);
  return specs.map((spec) => {
    const columnName = strings.underscore(spec.name);
    if (`${names.table}_${columnName}_check`.length > LONGEST)
      refuse(`${spec.name} is too long: PostgreSQL cuts names after ${LONGEST} bytes.`);
    const about = `${words(spec.name)} of the ${names.word}`;
    const kind = kindOf(spec, { Name: names.Name, column: inSql(columnName), words: about });
    const isFilter = spec.name === filter;
    if (isFilter && !kind.filter)
      refuse(`There is no filter by ${spec.name}: take an enum, ref, boolean or date.`);
    const refersTo = kind.refersTo ?? kind.joins;
    const target = refersTo === undefined ? undefined : targetOf(refersTo);
    const join = kind.joins === undefined ? undefined : joinOf(names, spec.name);
    const options = columnOptions(spec, kind, columnName);
    const local = isIdentifier(spec.name) && !LOCALS.has(spec.name) ? spec.name : `${spec.name}Value`;
    return {
      ...{ ...spec, ...kind, columnName, columnOptions: options, isFilter, target, join, local },
      ...{ columnSql: inSql(columnName), constant: columnName.toUpperCase() },
      pattern: local === spec.name ? local : `${spec.name}: ${local}`,
    };
  });
}

function joinOf({ Name, name, file, code }: Names, field: string): Join {
  const word = strings.dasherize(pluralize.singular(field.replace(/Ids?$/, '')));
  const table = `${code}_${strings.underscore(pluralize.plural(word))}`;
  const side = (one: string) => ({
    property: `${strings.camelize(one)}Id`,
    column: `${strings.underscore(one)}_id`,
  });
  const join = {
    ...{ Name: Name + strings.classify(word), file: `${file}-${word}`, table },
    ...{ own: side(name), other: side(word) },
  };
  if (word === file) refuse(`${field}: a list of references needs another name than its feature.`);
  if ([join.own, join.other].some(({ column }) => `${table}_${column}_fkey`.length > LONGEST))
    refuse(`${field} is too long: PostgreSQL cuts names after ${LONGEST} bytes.`);
  return join;
}

/** Takes `unique` from between the brackets of a text. */
function takeUnique(spec: Spec): Spec {
  const parts = split(spec.args);
  if (!['text', 'email'].includes(spec.kind) || !parts.includes('unique')) return spec;
  if (spec.optional) refuse(`${spec.name}: what is unique is not optional here.`);
  const args = parts.filter((part) => part !== 'unique').join();
  if (spec.kind === 'text' && args !== '' && Number(args) < SHORTEST)
    refuse(
      `${spec.name}: what is unique has ${SHORTEST} characters or more here, so that examples can differ.`,
    );
  return { ...spec, args, isUnique: true };
}

function filterIn(specs: readonly Spec[], by: string): string | undefined {
  const [filter, ...more] = split(by);
  if (more.length > 0) refuse('A feature starts with one filter: each combination of more takes an index.');
  if (filter !== undefined && OF_LISTS.has(filter))
    refuse(`There is no filter by ${filter}: every list has a parameter of that name.`);
  if (filter !== undefined && !specs.some(({ name }) => name === filter))
    refuse(`There is no field ${filter} to filter by.`);
  return filter;
}

/** What stands in the brackets of `@Column`. */
function columnOptions(
  { name, optional }: Spec,
  { column: { type, ...rest } }: Kind,
  columnName: string,
): string {
  const all = {
    ...(columnName === name ? {} : { name: columnName }),
    ...rest,
    ...(optional ? { nullable: true } : {}),
  };
  const options = Object.entries(all).map(
    ([key, value]) => `${key}: ${typeof value === 'string' ? quoted(value) : String(value)}`,
  );
  if (type === 'timestamptz') return `{ type: 'timestamptz', ${options.join(', ')} }`;
  return options.length > 0 ? `'${String(type)}', { ${options.join(', ')} }` : `'${String(type)}'`;
}

/** The decorators that the constants and the classes of objects use. */
export const innerDecorators = (fields: readonly Made[]): string[] =>
  fields.flatMap(({ inner = [] }) => inner);

/** The decorators of the DTO classes themselves. */
export function outerDecorators(fields: readonly Made[], put: boolean): string[] {
  const filters = fields.filter(({ isFilter }) => isFilter).map(({ filter }) => filter!);
  const paging = filters.length > 0 ? ['PageQuery'] : [];
  const ofIds = put ? ['UuidField'] : ['Int64Field', 'Int64Param'];
  return [...ofIds, ...fields.map(({ decorator }) => decorator), ...filters, ...paging];
}

/** The line that imports from the platform. */
export function importsOf(used: readonly string[]): string {
  return `import { ${[...new Set(used)].toSorted().join(', ')} } from 'petstore/platform';`;
}

/** The constant that the DTO classes share for a field. */
export function constantOf(made: Made, { word }: Names): string {
  const { constant, name, kind, decorator, optional } = made;
  const about = kind === 'ref' ? `Identifier of the ${made.target!.word}` : strings.capitalize(words(name));
  const end = made.join ? ', in ascending order.' : decorator === 'TextField' ? ', stored as sent.' : '.';
  return `const ${constant} = { ${describe(made, `${about} of the ${word}${end}`, optional)} };`;
}
