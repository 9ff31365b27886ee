import type { Feature } from './description.ts';
import type { Field } from './fields.ts';
import { pascal } from './words.ts';

const each = <T>(all: readonly T[], write: (item: T) => string): string => all.map(write).join('\n');
const list = (...all: (string | false | undefined)[]): string => all.filter(Boolean).join(', ');
const quoted = (text: string): string => `'${text}'`;

/** The pieces of files that depend on fields; those of the example are replaced, whatever their white space. */
export function piecesOf(feature: Feature): Record<string, string> {
  return {
    ...tablePieces(feature),
    ...dtoPieces(feature),
    ...routePieces(feature),
    ...testPieces(feature),
    ...requestPieces(feature),
  };
}

function tablePieces({ table, fields, indexes, targets }: Feature) {
  const column = ({ columnName, sql, optional, check, target }: Field) => {
    const parts = [columnName, sql, optional ? '' : 'NOT NULL'];
    if (check) parts.push(`CONSTRAINT ${table}_${columnName}_check CHECK (${check})`);
    if (target) parts.push(`CONSTRAINT ${table}_${columnName}_fkey REFERENCES ${target.table}`);
    if (target?.isAdded) parts.push('ON DELETE CASCADE');
    return parts.filter(Boolean).join(' ');
  };
  const property = ({ name, columnName, sql, column: more, optional, type, target }: Field) => {
    const options = list(columnName !== name && `name: '${columnName}'`, more, optional && 'nullable: true');
    const sqlType = quoted(sql.replace(/\(.*/, ''));
    const key = list(`name: '${table}_${columnName}_fkey'`, target?.isAdded && "onDelete: 'CASCADE'");
    return `@Column(${options ? `{ type: ${sqlType}, ${options} }` : sqlType})
      ${target ? `@ForeignKey(() => ${target.Name}, { ${key} })` : ''}
      ${name}!: ${type}${optional ? ' | null' : ''};\n`;
  };
  const added = targets.filter(({ isAdded }) => isAdded);
  const enumerations = fields.filter(({ words }) => words);
  const checked = fields.filter(({ check }) => check);
  return {
    columns: fields.map(column).join(',\n        '),
    indexes: each(
      indexes,
      ({ name, columns }) => `await runner.query('CREATE INDEX ${name} ON ${table} (${list(...columns)})');`,
    ),
    imports: [
      "import { IdColumn } from 'petstore/platform';",
      ...added.map(({ Name, from }) => `import { ${Name} } from '${from}';`),
    ].join('\n'),
    enumerations: each(
      enumerations,
      ({ type, words }) =>
        `export enum ${type} { ${each(words!, (word) => `${pascal(word)} = '${word}',`)} }\n`,
    ),
    rules:
      each(indexes, ({ name, properties }) => `@Index('${name}', [${list(...properties.map(quoted))}])`) +
      each(checked, ({ columnName, check }) => `\n@Check('${table}_${columnName}_check', \`${check}\`)`),
    properties: each(fields, property),
  };
}

function dtoPieces({ words, fields, sent, filter, state }: Feature) {
  const property = ({ decorator, constant, name, optional, type }: Field, nothing = '') =>
    `@${decorator}(${constant})\n${name}${optional ? '?' : '!'}: ${type}${optional ? nothing : ''};\n`;
  const constant = ({ description, values: [example], options, optional, constant: name }: Field) =>
    `const ${name} = { ${list(`description: '${description}'`, `example: ${example}`, options, optional && 'optional: true')} };`;
  const [first, ...next] = state?.words ?? [];
  const moves = `\`${first}\` goes to ${next.map((word) => `\`${word}\``).join(' or ')}. Final.`;
  return {
    constants: each(fields, constant),
    answered: each(fields, (field) => property(field, ' | null')),
    sent: each(sent, (field) => property(field)),
    moved: state
      ? `@EnumField({ ...STATUS, description: '${moves}', example: '${next[0]}', optional: true })
        status?: ${state.type};`
      : '',
    filtered: filter
      ? `@${filter.filter}({ ...${filter.constant}, description: 'Only ${words} with this ${filter.spoken}.', optional: true })
        ${filter.name}?: ${filter.type};`
      : '',
  };
}

function routePieces(feature: Feature) {
  const { Names, Name, table, code, fields, sent, owned, targets, filter, state } = feature;
  const first = state && `${state.type}.${pascal(state.words![0]!)}`;
  const references = fields.filter(({ target }) => target);
  const missing = targets.map((target) => `\`${target.code}\` (400)`);
  const refused = targets.map((target) => `${target.code}: 400`);
  const value = (field: Field) =>
    field === state ? `status: ${first}` : field.name + (field.optional ? `: ${field.name} ?? null` : '');
  return {
    thrown: missing.length > 0 ? `/** @throws ApiError ${list(...missing)} */` : '',
    thrownByChange: list(`\`${code}_not_found\``, state && `\`${code}_final\``, ...missing) + ' */',
    missing: each(
      references,
      ({ constant, columnName, target }) =>
        `const ${constant}_MISSING = violation(${Name}, '${table}_${columnName}_fkey', '${target!.code}', 400);`,
    ),
    refusing:
      references.length > 0
        ? `.refusing(${list(...references.map(({ constant }) => `${constant}_MISSING`))})`
        : '',
    caught: references.map(({ constant }) => `.catch(${constant}_MISSING)`).join(''),
    listed: `${filter ? `{ ${filter.name}, ...page }: List${Names}Query` : 'page: PageQuery'}): Promise<Page<`,
    found: `{ ${list(owned && 'accountId', filter?.name)} }, page`,
    sentFields: `{ ${list(...sent.map(({ name }) => name))} }: New`,
    added: `{ ${list(owned && 'accountId', ...fields.map(value))} }`,
    query: `query: ${filter ? `List${Names}Query` : 'PageQuery'}`,
    refused: refused.length > 0 ? `errors: { ${list(...refused)} },` : '',
    refusedChange: list(`${code}_not_found: 404`, state && `${code}_final: 409`, ...refused),
  };
}

function testPieces({ fields, sent, targets, needed, filter, state }: Feature) {
  const value = ({ name, target, values }: Field, which: 0 | 1) =>
    `${name}: ${target ? `${target.request}.id` : values[which]}`;
  const made = (name: string) => (targets.some(({ request }) => request === name) ? name : `const ${name}`);
  const [first, ...next] = state?.words ?? [];
  return {
    references: each(
      fields.filter(({ target }) => target),
      ({ name, target }) => `expectError(await create({ ${name}: 0 }), 400, '${target!.code}');`,
    ),
    removed: each(
      fields.filter(({ optional }) => optional),
      ({ name }) => `expect((await change(body.id, { ${name}: null })).body).not.toHaveProperty('${name}');`,
    ),
    declared: each(targets, ({ request }) => `let ${request}: { id: number };`),
    setUp: each([...needed], ([name, text]) => `${made(name)} = await add(${argumentsOf(text)});`),
    newValues: `({ ${list(...sent.map((field) => value(field, 0)))} })`,
    otherValues: `({ ${list(...sent.map((field) => value(field, 1)))} })`,
    initialState: state ? `, status: '${first}'` : '',
    filteredBy: `filtered by ${filter?.spoken}`,
    same: `?${filter?.name}=\${body.${filter?.name}}`,
    otherFilter: `?${filter?.name}=${filter?.target ? '0' : filter?.values[1].replaceAll("'", '')}`,
    noLonger: `no longer ${first}`,
    next: `const next = [${list(...next.map(quoted))}];`,
    first: `.${pascal(first ?? '')}`,
  };
}

/** The path and the body of a POST in a `.http` file, as JavaScript. */
function argumentsOf(request: string): string {
  const [, path, json] = /^POST {{base}}(\S+)\n[^]*?\n\n([^]+)$/m.exec(request)!;
  const body = json!
    .replaceAll(/\{\{(\w+)\.response\.body\.id\}\}/g, '$1.id')
    .replaceAll(/"([^"]*)\{\{\$timestamp\}\}([^"]*)"/g, '`$1${randomUUID()}$2`');
  return `'/v1${path}', ${body}`;
}

function requestPieces({ sent, needed, filter, state }: Feature) {
  const json = ({ target, values }: Field, which: 0 | 1) =>
    target ? `{{${target.request}.response.body.id}}` : values[which].replaceAll("'", '"');
  const body = (fields: Field[], which: 0 | 1) =>
    `{ ${list(...fields.map((field) => `"${field.name}": ${json(field, which)}`))} }`;
  const changed = state ?? sent.find(({ target }) => !target) ?? sent[0]!;
  return {
    needed: [...needed.values()].join('\n\n'),
    sentBody: body(sent, 0),
    changeBody: body([changed], 1),
    search: filter ? `?${filter.name}=${json(filter, 0).replaceAll('"', '')}` : '',
  };
}
