import fc, { type Arbitrary } from 'fast-check';
import type { Placed } from '../../src/testing/document.js';
import { bodyOf, type Parts } from './generate.js';
import { bodySchema, isNullable, parameters, resolve, type Schema } from './schema.js';

/** One way to break a request, and the error code of the answer. */
export interface Break {
  what: string;
  code: string;
  /** The place of the fault, which the answer names: `address.city`, `items[2].price`. */
  place?: string;
  apply(parts: Parts): Parts;
}

/** A JSON text that a schema does not allow, and the place of the fault in it; without `inside`, the top. */
interface Wrong {
  json: string;
  inside?: string;
}

const INVALID = 'validation_failed';
/** Texts that are not plain decimal integers, or exceed 64 bits. */
const NO_INTEGERS = [
  ...['007', '+5', '1e2', '0x10', '1.0', '1.5', ' 5', '5 ', '-0', '--1', '1_000', '٣', 'NaN', 'null', '1\0'],
  ...['9223372036854775808', '-9223372036854775809', '9'.repeat(400), "1'--"],
];
const OBJECTS = ['{}', '[]', '["x"]', '{"constructor":1}', '{"__proto__":null}', '{"then":{}}', '[[[1]]]'];
const NO_TEXT = ['"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '1', 'true', '1e400', ...OBJECTS];
const NO_JSON_INTEGER = [
  ...['"1"', '1.5', 'true', '""', '9223372036854775808', '-9223372036854775809', '1e19', '1e400', '-1e400'],
  ...[`1${'0'.repeat(5e3)}`, ...OBJECTS],
];
const NO_ENUM = ['"x"', '"AVAILABLE"', '""', '" placed"', '"__proto__"', '"toString"', '0', ...OBJECTS];
const NO_EMAIL = [
  ...['"x"', '"@"', '"a@b"', '"a b@example.com"', '"a:b@example.com"', '"a@example.com\\n"', '""'],
  `"${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(4)}com"`,
];
const NO_TIME = [
  ...['"2030-02-30T00:00:00Z"', '"2030-01-01"', '"2030-01-01T00:00:00"', '"now"', '1893456000'],
  ...['"2030-01-01T24:00:00Z"', '"+012030-01-01T00:00:00Z"', '"2030-01-01T00:00:00+25:00"'],
  ...['"2030-01-01T00:00:60Z"', '"9999-12-31T23:59:59-01:00"', '"0000-01-01T00:00:00+01:00"'],
];
const NO_DAY = [
  ...['"2030-02-30"', '"2023-02-29"', '"1900-02-29"', '"2030-1-1"', '"2030-01-01T00:00:00Z"', '"0000-01-01"'],
  ...['"10000-01-01"', '"2030-00-10"', '"2030-01-01 "', '"2030-01-01\\n"', '""', '20300101'],
];
const NO_URL = [
  ...[
    ...['"x"', '"//example.com"', '"ftp://example.com"', '"javascript:alert(1)"', '"https://"'],
    '"https://a b"',
  ],
  ...['"https://example.com/ä"', '"https://u:p@example.com"', '"https://example.com/%zz"', '""'],
  ...['"https://example.com/\\n"', '"https://[::x]/"', '"https://example.com:99999/"'],
];
const NO_AMOUNT = [
  ...['"1,5"', '"1."', '".5"', '"+1"', '" 1"', '"1e2"', '"0x10"', '"01"', '"NaN"', '"--1"', '""', '"1\\n"'],
];
const NO_NUMBER = [
  ...['1e400', '-1e400', '1e-400', '1e9999', `1${'0'.repeat(5e3)}`, `0.${'0'.repeat(5e3)}1`, '"1"', 'true'],
];
/** Deeply nested values, which no code may walk. */
const DEEP = ['['.repeat(1e3) + ']'.repeat(1e3), `${'{"a":'.repeat(1e3)}1${'}'.repeat(1e3)}`];
const PAST = '"2001-01-01T00:00:00Z"';
const NO_BOOLEAN = ['"true"', '"false"', '0', '1', '""', ...OBJECTS];
const NO_UUID = ['"x"', '""', '"019aa5c2-6f80-7c3e-8f3a"', '"{019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70}"'];
const NO_LISTS = [',', '1,', ',1', '1,,2', '1, 2', '1;2', '[1]', '1,'.repeat(100) + '1'];
const NO_WORDS = ['x', 'AVAILABLE', ' ', 'available,sold', 'YWZ0ZXI6', '\0', '😀', '__proto__'];
const NO_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'application/json2', 'multipart/json'];
const NO_OBJECT = ['[]', '[{}]', 'null', '1', '"{}"', 'true', '18446744073709551616'];

/** Every way to break a request for an operation, one fault at a time. */
export function breaks(one: Placed): Arbitrary<Break> {
  const told = (found: Break) => Object.assign(found, { [fc.toStringMethod]: () => found.what });
  return fc.oneof(...allBreaks(one)).map(told);
}

export const isBreakable = (one: Placed) => allBreaks(one).length > 0;

function allBreaks(one: Placed): Arbitrary<Break>[] {
  return [...fieldBreaks(one), ...bodyBreaks(one), ...parameterBreaks(one)];
}

function fieldBreaks(one: Placed): Arbitrary<Break>[] {
  const { properties = {}, required = [] } = bodySchema(one) ?? {};
  const set = (name: string, { json, inside = '' }: Wrong): Break => ({
    what: `${name}${inside}: ${json.slice(0, 60)}`,
    code: INVALID,
    place: name + inside,
    apply: (parts) => ({
      ...parts,
      fields: [...parts.fields.filter(([other]) => other !== name), [name, json]],
    }),
  });
  const wrong = Object.entries(properties).map(([name, schema]) =>
    fc.constantFrom(...wrongFor(schema)).map((one) => set(name, one)),
  );
  if (required.length === 0) return wrong;
  const missing = fc.constantFrom(...required).map((name) => ({
    what: `no ${name}`,
    code: INVALID,
    place: name,
    apply: (parts: Parts) => ({ ...parts, fields: parts.fields.filter(([other]) => other !== name) }),
  }));
  return [...wrong, missing];
}

/** Values that a schema does not allow: values of another type, and values with a fault somewhere inside. */
function wrongFor(schema: Schema): Wrong[] {
  const one = resolve(schema);
  const inside = one.properties
    ? wrongObjects(one, schema)
    : one.additionalProperties === true
      ? wrongJson(one)
      : one.type === 'array'
        ? wrongLists(one)
        : [];
  const top = [...noValues(one), ...DEEP, ...(isNullable(schema) ? [] : ['null'])];
  return [...top.map((json) => ({ json })), ...inside];
}

const within = (wrong: Wrong[], place: string, wrap: (json: string) => string): Wrong[] =>
  wrong.map(({ json, inside = '' }) => ({ json: wrap(json), inside: place + inside }));
const objectOf = (members: [string, string][]) =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;

function wrongObjects({ properties = {}, required = [] }: Schema, { example }: Schema): Wrong[] {
  const right = Object.entries((example ?? {}) as Record<string, unknown>);
  const rightOnes = right.map(([name, value]): [string, string] => [name, JSON.stringify(value)]);
  const without = (name: string) => rightOnes.filter(([other]) => other !== name);
  return [
    ...required.map((name) => ({ json: objectOf(without(name)), inside: `.${name}` })),
    ...Object.entries(properties).flatMap(([name, schema]) => {
      const wrong = wrongFor({ example: Object.fromEntries(right)[name], ...schema });
      return within(wrong, `.${name}`, (json) => objectOf([...without(name), [name, json]]));
    }),
  ];
}

function wrongLists({ items, minItems = 0, maxItems, uniqueItems, example }: Schema): Wrong[] {
  const [item] = (example ?? resolve(items!).enum ?? []) as unknown[];
  if (item === undefined) return [];
  const many = (length: number) => `[${Array.from({ length }, () => JSON.stringify(item)).join()}]`;
  const before = Math.max(0, Math.min(maxItems! - 1, 1));
  const wrap = (json: string) =>
    `[${[...Array.from({ length: before }, () => JSON.stringify(item)), json].join()}]`;
  return [
    ...[many(maxItems! + 1), many(5_000)].flatMap((json) => (json.length < 100_000 ? { json } : [])),
    ...(minItems > 0 ? [{ json: many(minItems - 1) }] : []),
    ...(uniqueItems ? [{ json: many(2) }] : []),
    ...within(wrongFor({ example: item, ...items! }), `[${before}]`, wrap),
  ];
}

/** Objects that are too large or too deep, or hold values that cannot be stored. */
function wrongJson({ 'x-max-bytes': bytes, 'x-max-depth': depth }: Schema): Wrong[] {
  const deep = '{"a":'.repeat(depth! + 1) + '1' + '}'.repeat(depth! + 1);
  const wrong = [
    ...['"\\u0000"', '"\\ud800"', '{"\\u0000":1}', '{"__proto__":{}}', '{"constructor":{"prototype":1}}'],
  ];
  const nested = [...wrong, '1e400'].map((json) => `{"a":[${json}]}`);
  return [`{"a":"${'x'.repeat(bytes!)}"}`, deep, ...nested].map((json) => ({ json }));
}

/** JSON texts that a schema does not allow, apart from faults inside them. */
function noValues(schema: Schema): string[] {
  const { type, format, enum: values, minLength = 0, maxLength, pattern } = schema;
  if (values) return NO_ENUM.filter((json) => !values.includes(JSON.parse(json)));
  if (type === 'array') return ['1', 'true', '"a,b"', '""', '{}', '{"length":1}', '{"0":1,"length":1}'];
  if (type === 'object') return ['1', 'true', '"{}"', '""', '[]', '[{}]'];
  if (type === 'integer') return [...NO_JSON_INTEGER, ...beyond(schema)];
  if (type === 'boolean') return NO_BOOLEAN;
  if (format === 'decimal') return noDecimals(schema);
  if (format === 'email') return [...NO_EMAIL, ...NO_TEXT];
  if (format === 'uuid') return [...NO_UUID, ...NO_TEXT];
  if (format === 'date') return [...NO_DAY, ...NO_TEXT];
  if (format === 'uri') return [...NO_URL, ...NO_TEXT];
  if (format === 'date-time') return [...NO_TIME, ...NO_TEXT, ...(schema['x-future'] ? [PAST] : [])];
  const lengths = [...(minLength > 0 ? [minLength - 1] : []), maxLength! + 1];
  const texts = ['x', '😀']
    .flatMap((unit) => lengths.map((length) => unit.repeat(length)))
    .filter((text) => Buffer.byteLength(text) < 100_000);
  const blank = [' ', '\t\n', '\u00a0\u3000', '\ufeff', '', '\n', '\u0660'];
  texts.push(...blank.filter((text) => !new RegExp(pattern ?? '').test(text)));
  return [...texts.map((text) => JSON.stringify(text)), ...NO_TEXT];
}

/** Amounts beyond a schema's bounds, amounts with one decimal too many, and texts that are no amounts. */
function noDecimals({
  type,
  'x-minimum': min,
  'x-maximum': max,
  'x-decimals': decimals = 0,
}: Schema): string[] {
  const [least, most] = [min!, max!].map((text) => BigInt(text.split('.')[0]!));
  const numbers = [`${most! + 1n}`, `${least! - 1n}`, `${most! - 1n}.${'0'.repeat(decimals)}1`];
  if (type === 'number') return [...numbers, ...NO_NUMBER, ...OBJECTS];
  return [...numbers.map((text) => `"${text}"`), ...NO_AMOUNT, ...NO_TEXT];
}

/** The nearest integers beyond the bounds of a schema, if it has any. */
function beyond({ minimum, maximum }: Schema): string[] {
  return [
    ...(minimum === undefined ? [] : [String(minimum - 1)]),
    ...(maximum === undefined ? [] : [String(maximum + 1)]),
  ];
}

function bodyBreaks(one: Placed): Arbitrary<Break>[] {
  const { requestBody } = one.operation;
  if (!requestBody || !bodySchema(one)) return [];
  const body = (what: string, code: string, change: (text: string) => string | Buffer): Break => ({
    what,
    code,
    apply: (parts) => ({ ...parts, body: change(String(bodyOf(parts))) }),
  });
  // An empty body is valid if none is required.
  const isRequired = requestBody.required !== false;
  const cut = fc.double({ min: isRequired ? 0 : 0.9, max: 1, maxExcluded: true, noNaN: true });
  const trim = (text: string) => text.trimEnd();
  return [
    cut.map((at) =>
      body(`cut at ${at}`, 'invalid_json', (text) => trim(text).slice(0, Math.floor(trim(text).length * at))),
    ),
    fc
      .constantFrom('}', ',', 'x', '\0', '{}', '\u00a0')
      .map((tail) => body(`followed by ${tail}`, 'invalid_json', (text) => text + tail)),
    fc
      .constantFrom(0xff, 0xc0, 0xed, 0x80)
      .map((byte) =>
        body(`with the byte ${byte}`, 'invalid_json', (text) =>
          Buffer.concat([Buffer.from(text.replace('{', '{"~":"')), Buffer.from([byte]), Buffer.from('"}')]),
        ),
      ),
    fc.constantFrom(...NO_OBJECT).map((json) => body(`the body ${json}`, INVALID, () => json)),
    fc.constantFrom(...NO_TYPES).map((type) => ({
      what: type,
      code: 'invalid_content_type',
      apply: (parts: Parts) => ({ ...parts, headers: { ...parts.headers, 'Content-Type': type } }),
    })),
  ];
}

/** Headers that are ignored if invalid (RFC 9110, 13.1.2 and 14.2; HTML, 9.2.4). */
const UNCHECKED = new Set(['If-None-Match', 'Last-Event-ID', 'Range']);

function parameterBreaks(one: Placed): Arbitrary<Break>[] {
  const paths = parameters(one, 'path').map(({ name, schema }) =>
    fc.constantFrom(...noSegments(name, schema)).map((value) => ({
      what: `${name} = ${value}`,
      code: INVALID,
      apply: (parts: Parts) => ({ ...parts, params: { ...parts.params, [name]: value } }),
    })),
  );
  const checked = parameters(one, 'header').filter(({ name }) => !UNCHECKED.has(name));
  const keys = checked.map(({ name }) =>
    fc.constantFrom('a b', 'é', '', 'x'.repeat(256)).map((value) => ({
      what: `${name}: ${value}`,
      code: INVALID,
      apply: (parts: Parts) => ({ ...parts, headers: { ...parts.headers, [name]: value } }),
    })),
  );
  return [...paths, ...keys, ...parameters(one, 'query').map(queryBreak)];
}

/** Texts that a schema does not allow as a segment of a path. */
function noSegments(name: string, schema: Schema): string[] {
  if (schema.type === 'integer' || schema.format === 'uuid')
    return ['x', 'undefined', '1%00', '0-0-0', ...NO_INTEGERS];
  return noQueryValues(name, schema).filter((value) => value !== '');
}

function noQueryValues(name: string, schema: Schema): string[] {
  const { type, enum: values, items } = schema;
  if (type === 'array') return ['', ...NO_LISTS, ...(items!.type === 'integer' ? NO_INTEGERS : [])];
  if (type === 'boolean') return ['', '0', '1', 'TRUE', 'True', 'yes', ' true', 'null', 'true,false', 'on'];
  if (type === 'integer') return ['', ...NO_INTEGERS, ...beyond(schema), '100000000000000000000'];
  if (name === 'cursor' || values) return ['', ...NO_WORDS].filter((text) => !values?.includes(text));
  // A parameter refuses the same texts as a field of a JSON body. A URL cannot hold a lone surrogate.
  const texts = noValues(schema).filter((json) => json.startsWith('"') && !json.includes('\\ud'));
  return texts.map((json) => JSON.parse(json) as string);
}

function queryBreak({ name, schema }: { name: string; schema: Schema }): Arbitrary<Break> {
  const bad = noQueryValues(name, schema).map((value): Parts['query'] => [[name, value]]);
  const first = ['', '[]', '[0]', '[x]'].map((bracket): [string, string] => [name + bracket, '1']);
  const twice = first.map((one): Parts['query'] => [one, [name, '2']]);
  const bracketed: Parts['query'][] = [[[`${name}[]`, '1']], [[`${name}[a][b]`, '1']]];
  const code = (query: Parts['query']) =>
    name === 'cursor' && query.length === 1 && query[0]![0] === name ? 'invalid_cursor' : INVALID;
  return fc.constantFrom(...bad, ...twice, ...bracketed).map((query) => ({
    what: JSON.stringify(query),
    code: code(query),
    apply: (parts) => ({ ...parts, query: [...parts.query.filter(([other]) => other !== name), ...query] }),
  }));
}
