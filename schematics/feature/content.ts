import { constantOf, importsOf, innerDecorators, type Made, outerDecorators } from './made.ts';
import { columnsOf, indexesOf } from './table.ts';
import type { Names } from './names.ts';
import { words } from './words.ts';

/** What the templates of a feature put in. */
export function contentOf(names: Names, fields: readonly Made[], owned: boolean, crud: boolean) {
  const { Name, Names: many, table } = names;
  const all = fields.map((one) => ({ ...one, spoken: words(one.name) }));
  const filters = all.filter(({ isFilter }) => isFilter);
  const references = all.filter(({ target }) => target !== undefined);
  const targets = [...new Map(references.map(({ target }) => [target!.table, target!])).values()];
  const indexes = indexesOf(table, fields, owned);
  const checked = all.filter(({ check }) => check !== undefined);
  const query = filters.length > 0 ? [`List${many}Query`] : [];
  const dtos = [...(crud ? [`${Name}ChangeDto`] : []), ...query, `New${Name}Dto`];
  return {
    ...names,
    ...{
      owned,
      crud,
      fields: all,
      filters,
      references,
      targets,
      indexes,
      checked,
      optional: all.filter((one) => one.optional),
    },
    ...entityContent(owned, indexes.length > 0, checked.length > 0, targets.length > 0),
    columns: columnsOf(table, fields, owned),
    entityTypes: fields.flatMap(({ entity }) => entity ?? []),
    dtoTypes: fields.flatMap(({ dto }) => dto ?? []).map((text) => `${text}\n`),
    enums: fields.flatMap(({ entity = '' }) => /^export enum (\w+)/.exec(entity)?.[1] ?? []),
    constants: fields.map((one) => constantOf(one, names)),
    constantNames: fields.map(({ constant }) => constant),
    ...dtoContent(fields, crud),
    ...platformImports(filters.length > 0, targets.length > 0, owned, crud),
    whose: owned ? `your ${names.words}` : names.words,
    serviceDtos: dtos.toSorted(),
    controllerDtos: [...dtos, `${Name}Dto`, `${Name}Params`].toSorted(),
    ...serviceContent(table, fields, filters, owned),
    ...testContent(names, fields, owned),
  };
}

/** The constants and the classes of objects of a large feature are in a file of their own. */
function dtoContent(fields: readonly Made[], crud: boolean) {
  const classes = fields.flatMap(({ dto = '' }) => /export class (\w+)/.exec(dto)?.[1] ?? []);
  const isLarge = fields.length > 6 || classes.length > 1;
  const outer = [...outerDecorators(fields), ...(crud ? ['ChangeSchema', 'ChangeType'] : [])];
  const inner = innerDecorators(fields);
  return {
    isLarge,
    dtoNames: classes,
    fieldImports: importsOf(isLarge ? outer : [...outer, ...inner]),
    innerImports: inner.length > 0 ? importsOf(inner) : '',
  };
}

function entityContent(owned: boolean, hasIndexes: boolean, hasChecks: boolean, hasTargets: boolean) {
  const decorators = [
    hasChecks && 'Check',
    'Column',
    'Entity',
    (owned || hasTargets) && 'ForeignKey',
    hasIndexes && 'Index',
  ];
  return { typeorm: decorators.filter(Boolean).join(', ') };
}

/** What the service and the controller import from the platform. */
function platformImports(hasFilters: boolean, hasTargets: boolean, owned: boolean, crud: boolean) {
  const service = [
    owned && 'AccountClosing',
    crud && 'ApiError',
    'FastRepository',
    'InjectFastRepository',
    'type Page',
    !hasFilters && 'type PageQuery',
    crud && 'Transactions',
    hasTargets && 'violation',
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

function serviceContent(table: string, fields: readonly Made[], filters: readonly Made[], owned: boolean) {
  const references = fields.filter(({ target }) => target);
  const codes = [...new Set(references.map(({ target }) => target!.code))];
  const values = fields.map(({ name, local, pattern, optional }) =>
    optional ? `${name}: ${local} ?? null` : pattern,
  );
  return {
    account: owned ? 'accountId: string, ' : '',
    accountParameter: owned ? '@AccountId() accountId: string, ' : '',
    accountArgument: owned ? 'accountId, ' : '',
    where: owned ? 'id, accountId' : 'id',
    filterNames: filters.map(({ pattern }) => pattern).join(', '),
    fieldNames: fields.map(({ pattern }) => pattern).join(', '),
    values: [...(owned ? ['accountId'] : []), ...values].join(', '),
    violations: references
      .map(
        ({ columnName, target }) =>
          `.catch(violation('${table}_${columnName}_fkey', '${target!.code}', 400))`,
      )
      .join(''),
    missing: codes.map((code) => `\`${code}\``).join(' or '),
    missingErrors: codes.map((code) => `${code}: 400`).join(', '),
  };
}

function testContent({ code }: Names, fields: readonly Made[], owned: boolean) {
  return {
    constant: code.toUpperCase(),
    asKey: owned ? ', as = key' : '',
    withKey: owned ? 'key: as' : 'key',
    literal: (which: 'example' | 'other') => fields.map((one) => `${one.name}: ${one[which]}`).join(', '),
    wrongs: fields.map(({ name, wrong }) => `['${name}', ${wrong}]`).join(', '),
  };
}
