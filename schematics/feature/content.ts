import { constantOf, importsOf, innerDecorators, type Made, outerDecorators } from './made.ts';
import { columnsOf, indexesOf } from './table.ts';
import type { Names } from './names.ts';
import { beforeOf, exclusionOf, type Rules, uniqueOf } from './rules.ts';
import { withArticle, words } from './words.ts';

/** What the templates of a feature put in. */
export function contentOf(
  names: Names,
  fields: readonly Made[],
  rules: Rules,
  { owned, crud, put }: { owned: boolean; crud: boolean; put: boolean },
) {
  const { Name, Names: many, table } = names;
  const all = fields.map((one) => ({ ...one, spoken: words(one.name) }));
  const columns = fields.filter(({ join }) => !join);
  const joins = all.filter(({ join }) => join);
  const filters = all.filter(({ isFilter }) => isFilter);
  const references = all.filter(({ target }) => target !== undefined);
  const targets = [...new Map(references.map(({ target }) => [target!.table, target!])).values()];
  const indexes = indexesOf(table, columns, owned);
  const checked = all.filter(({ check }) => check !== undefined);
  const refersTo = targets.filter(({ table: one }) => columns.some(({ target }) => target?.table === one));
  const query = filters.length > 0 ? [`List${many}Query`] : [];
  const dtos = [...(crud ? [`${Name}ChangeDto`] : []), ...query, `New${Name}Dto`];
  return {
    ...names,
    withArticle,
    ...{
      owned,
      crud,
      put,
      idType: put ? 'uuid' : 'bigint',
      fields: all,
      filters,
      references,
      joins,
      refersTo,
      targets,
      indexes,
      checked,
      optional: all.filter((one) => one.optional),
    },
    ...entityContent(table, rules, owned, {
      PrimaryColumn: put,
      Check: checked.length > 0 || rules.overlap !== undefined,
      ForeignKey: owned || refersTo.length > 0,
      Index: indexes.length > 0,
    }),
    columns: columnsOf(table, columns, rules, owned),
    entityTypes: fields.flatMap(({ entity }) => entity ?? []),
    dtoTypes: fields.flatMap(({ dto }) => dto ?? []).map((text) => `${text}\n`),
    enums: fields.flatMap(({ entity = '' }) => /^export enum (\w+)/.exec(entity)?.[1] ?? []),
    constants: fields.map((one) => constantOf(one, names)),
    constantNames: fields.map(({ constant }) => constant),
    ...dtoContent(fields, crud, put),
    ...platformImports(filters.length > 0, rules.constraints.length > 0, joins.length > 0, owned, crud, put),
    whose: owned ? `your ${names.words}` : names.words,
    serviceDtos: dtos.toSorted(),
    controllerDtos: [...dtos, `${Name}Dto`, `${Name}Params`].toSorted(),
    ...serviceContent(fields, filters, rules, owned),
    ...testContent(names, fields, rules, owned),
  };
}

/** The constants and the classes of objects of a large feature are in a file of their own. */
function dtoContent(fields: readonly Made[], crud: boolean, put: boolean) {
  const classes = fields.flatMap(({ dto = '' }) => /export class (\w+)/.exec(dto)?.[1] ?? []);
  const isLarge = fields.length > 6 || classes.length > 1;
  const outer = [...outerDecorators(fields, put), ...(crud ? ['ChangeSchema', 'ChangeType'] : [])];
  const inner = innerDecorators(fields);
  return {
    isLarge,
    dtoNames: classes,
    fieldImports: importsOf(isLarge ? outer : [...outer, ...inner]),
    innerImports: inner.length > 0 ? importsOf(inner) : '',
  };
}

function entityContent(
  table: string,
  { uniques, overlap }: Rules,
  owned: boolean,
  used: Record<string, boolean>,
) {
  const all = {
    ...used,
    Column: true,
    Entity: true,
    Exclusion: overlap !== undefined,
    Unique: uniques.length > 0,
  };
  const names = Object.entries(all).filter(([, isUsed]) => isUsed);
  const keys = uniques.map((one) => {
    const properties = [one.name, ...(owned ? ['accountId'] : [])].map((name) => `'${name}'`);
    return `@Unique('${uniqueOf(table, one, owned)}', [${properties.join(', ')}])`;
  });
  const days = overlap
    ? [
        `@Check('${overlap.check}', \`${beforeOf(overlap)}\`)`,
        `@Exclusion('${overlap.exclusion}', \`${exclusionOf(overlap)}\`)`,
      ]
    : [];
  return {
    typeorm: names
      .map(([name]) => name)
      .toSorted()
      .join(', '),
    rules: [...keys, ...days].map((line) => `${line}\n`).join(''),
  };
}

/** What the service and the controller import from the platform. */
function platformImports(
  hasFilters: boolean,
  hasRules: boolean,
  hasJoins: boolean,
  owned: boolean,
  crud: boolean,
  put: boolean,
) {
  const service = [
    owned && 'AccountClosing',
    crud && 'ApiError',
    'FastRepository',
    'InjectFastRepository',
    'type Page',
    !hasFilters && 'type PageQuery',
    put && 'type Put',
    (crud || hasJoins) && 'Transactions',
    hasRules && 'violation',
  ];
  const controller = [
    owned && 'AccountId',
    'Idempotent',
    'Operation',
    'type Page',
    !hasFilters && 'PageQuery',
    'Reply',
    'type ReplyHeaders',
    'Stability',
    'Tag',
  ];
  return { serviceImports: service.filter(Boolean), controllerImports: controller.filter(Boolean) };
}

function serviceContent(
  fields: readonly Made[],
  filters: readonly Made[],
  { constraints, codes: own }: Rules,
  owned: boolean,
) {
  const statuses = new Map(own.map(({ code, status }) => [code, status]));
  const codes = new Map(constraints.map(({ code, status }) => [code, status ?? statuses.get(code)!]));
  const values = fields
    .filter(({ join }) => !join)
    .map(({ name, local, pattern, optional }) => (optional ? `${name}: ${local} ?? null` : pattern));
  return {
    account: owned ? 'accountId: string, ' : '',
    accountParameter: owned ? '@AccountId() accountId: string, ' : '',
    accountArgument: owned ? 'accountId, ' : '',
    where: owned ? 'id, accountId' : 'id',
    filterNames: filters.map(({ pattern }) => pattern).join(', '),
    fieldNames: fields.map(({ pattern }) => pattern).join(', '),
    allValues: fields
      .filter(({ join }) => !join)
      .map(({ name, optional }) => `${name}: body.${name}${optional ? ' ?? null' : ''}`)
      .join(', '),
    ownValues: values.join(', '),
    values: [...(owned ? ['accountId'] : []), ...values].join(', '),
    constraints: constraints.map(
      ({ constant, name, code, status }) =>
        `const ${constant} = violation('${name}', '${code}'${status === undefined ? '' : `, ${status}`});\n`,
    ),
    violations: constraints.map(({ constant }) => `.catch(${constant})`).join(''),
    thrown: [...codes].map(([code, status]) => `\`${code}\`${status === 400 ? ' (400)' : ''}`).join(', '),
    ownErrors: [...codes].map(([code, status]) => `${code}: ${status}`).join(', '),
  };
}

function testContent(
  { Name, code }: Names,
  fields: readonly Made[],
  { uniques, overlap }: Rules,
  owned: boolean,
) {
  const isVaried = uniques.length > 0 || overlap !== undefined;
  const days = new Set([overlap?.from, overlap?.until]);
  const constant = code.toUpperCase();
  const literal = (which: 'example' | 'other') => [
    ...fields
      .filter((one) => !days.has(one))
      .map((one) => `${one.name}: ${one.isUnique ? numbered(one[which]) : one[which]}`),
    ...(overlap ? ['...days()'] : []),
  ];
  return {
    asKey: owned ? ', as = key' : '',
    withKey: owned ? 'key: as' : 'key',
    ...{ uniques: uniques.map((one) => ({ ...one, spoken: words(one.name) })), overlap, isVaried },
    given: ['example', 'other'].map((which) => literal(which as 'example' | 'other').join(', ')),
    givenNames: isVaried ? [`new${Name}`, `other${Name}`] : [constant, `OTHER_${constant}`],
    one: isVaried ? `new${Name}()` : constant,
    other: isVaried ? `other${Name}()` : `OTHER_${constant}`,
    wrongs: fields.map(({ name, wrong }) => `['${name}', ${wrong}]`).join(', '),
  };
}

/** A text that is another one each time. */
function numbered(literal: string): string {
  const [name, domain] = literal.slice(1, -1).split('@');
  return `\`${name}${domain ? '' : ' '}\${++count}${domain ? `@${domain}` : ''}\``;
}
