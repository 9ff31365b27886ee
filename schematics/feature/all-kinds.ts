import { strings } from '@angular-devkit/core';
import pluralize from 'pluralize';
import { describe, type Kind, type Make, type Place, SINGLE } from './kinds.ts';
import { parseFields, refuse, type Spec } from './specs.ts';
import { words } from './words.ts';

/** @throws SchematicsException where there is no such kind */
export function kindOf(spec: Spec, place: Place): Kind {
  const make = Object.hasOwn(ALL, spec.kind) ? ALL[spec.kind] : undefined;
  return make
    ? make(spec.args, place, spec)
    : refuse(`${spec.kind} is no kind of field: take ${Object.keys(ALL).join(', ')}.`);
}

/** Of what list and map are made of, these have an array type whose values TypeORM leaves as they are. */
const IN_ARRAYS = new Set(['text', 'integer', 'uuid']);

function listOf(args: string, place: Place, spec: Spec): Kind {
  const of = inside(args, place, spec);
  if (of.refersTo !== undefined) return manyOf(of, place, spec);
  const isArray = IN_ARRAYS.has(of.sql);
  const column = isArray
    ? { sql: `${of.sql}[]`, column: { ...of.column, array: true }, type: `${of.type}[]` }
    : json(place, `${of.type}[]`, 'array');
  const length = isArray ? `cardinality(${place.column})` : `jsonb_array_length(${place.column})`;
  return {
    ...column,
    ...{ check: `${length} <= 20`, decorator: 'ListField', options: `of: ${fieldOf(of, place)}, max: 20` },
    ...{ example: `[${of.example}]`, other: `[${of.other}, ${of.example}]`, wrong: `[${of.wrong}]` },
    ...{ entity: of.entity, dto: of.dto, inner: innerOf(of), dtoType: `${of.dtoType ?? of.type}[]` },
  };
}

/** The ids of rows of another table; what has which is a table of its own. */
function manyOf({ refersTo, ...of }: Kind, place: Place, { name, optional }: Spec): Kind {
  if (optional) refuse(`${name}: a list of references is not optional, but may be empty.`);
  return {
    ...{ ...of, joins: refersTo, inner: ['Int64Field'], filter: undefined, type: 'string[]' },
    ...{ decorator: 'ListField', options: `of: ${fieldOf(of, place)}, max: 20, unique: true` },
    ...{ example: '[1]', other: '[]', wrong: "['x']" },
  };
}

function objectOf(args: string, place: Place, { name }: Spec): Kind {
  const type = place.Name + strings.classify(pluralize.singular(name));
  const specs = parseFields(args);
  const parts = specs.map((spec) => ({
    ...spec,
    of: kindOf(spec, { ...place, words: `${spec.name} in the ${place.words}` }),
  }));
  const wrong = parts.find(
    ({ kind, of }) => kind === 'time' || (of.entity ?? of.dto ?? of.refersTo ?? of.joins),
  );
  if (wrong) refuse(`${wrong.name}: an object has no ${wrong.kind} inside it.`);
  const fields = parts.map(
    ({ name: part, optional, of }) =>
      `@${of.decorator}({ ${describe(of, `${strings.capitalize(words(part))}.`, optional)} })\n` +
      `${part}${optional ? '?' : '!'}: ${of.type};`,
  );
  const literal = (pick: (of: Kind) => string) =>
    `{ ${parts.map(({ name: part, of }) => `${part}: ${pick(of)}`).join(', ')} }`;
  return {
    ...json(place, type, 'object'),
    ...{ decorator: 'ObjectField', options: `of: ${type}Dto`, inner: parts.flatMap(({ of }) => innerOf(of)) },
    ...{
      example: literal((of) => of.example),
      other: literal((of) => of.other),
      wrong: literal((of) => of.wrong),
    },
    dtoType: `${type}Dto`,
    entity: `export interface ${type} { ${parts.map(({ name: part, optional, of }) => `${part}${optional ? '?' : ''}: ${of.type};`).join(' ')} }`,
    dto: `@ApiSchema({ name: '${type}' })\nexport class ${type}Dto {\n${fields.join('\n\n')}\n}`,
  };
}

const json = ({ column }: Place, type: string, kind: string) => ({
  ...{ sql: 'jsonb', column: { type: 'jsonb' }, type, check: `jsonb_typeof(${column}) = '${kind}'` },
});

const innerOf = ({ dto, decorator, inner = [] }: Kind) => (dto ? inner : [decorator, ...inner]);

/** What `args` says the items are; text, where it says nothing. */
function inside(args: string, place: Place, { name, kind }: Spec): Kind {
  const [, of = 'text', inner = ''] =
    /^([a-z]+)(?:\(([^]*)\))?$/.exec(args) ??
    (args === '' ? [] : refuse(`${kind}(${args}) is no kind of field.`));
  if (['list', 'map', 'time', ...(kind === 'list' ? [] : ['ref'])].includes(of))
    refuse(`A ${kind} is not of the kind ${of}.`);
  return kindOf({ name, optional: false, kind: of, args: inner }, place);
}

const fieldOf = (of: Kind, { words: about }: Place) =>
  of.dto ? of.options.replace('of: ', '') : `${of.decorator}({ ${describe(of, `One of the ${about}.`)} })`;

function mapOf(args: string, place: Place, spec: Spec): Kind {
  const of = inside(args, place, spec);
  return {
    ...json(place, `Record<string, ${of.type}>`, 'object'),
    ...{ decorator: 'MapField', options: `of: ${fieldOf(of, place)}, max: 20`, inner: innerOf(of) },
    ...{ dtoType: `Record<string, ${of.dtoType ?? of.type}>` },
    ...{ example: `{ first: ${of.example} }`, other: '{}', wrong: `{ first: ${of.wrong} }` },
    ...{ entity: of.entity, dto: of.dto },
  };
}

const ALL: Record<string, Make> = { ...SINGLE, list: listOf, map: mapOf, object: objectOf };
