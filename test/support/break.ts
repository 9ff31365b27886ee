import fc, { type Arbitrary } from 'fast-check';
import type { Placed } from './contract.js';
import {
  bodyOf,
  bodySchema,
  isNullable,
  parameters,
  type Parts,
  resolve,
  type Schema,
  typeOf,
} from './generate.js';

/** One way in which a request is wrong, and the code that it is answered with. */
export interface Break {
  what: string;
  code: string;
  apply(parts: Parts): Parts;
}

const INVALID = 'validation_failed';
/** Texts that are not an integer in plain decimal digits, or not a 64-bit one. */
const NO_INTEGERS = [
  '007',
  '+5',
  '1e2',
  '0x10',
  '1.0',
  '1.5',
  ' 5',
  '5 ',
  '-0',
  '--1',
  '1_000',
  '٣',
  'NaN',
  'null',
  'true',
  '9223372036854775808',
  '-9223372036854775809',
  '9'.repeat(400),
  '1,2;',
  '1\0',
  "1'--",
  '５',
  '1n',
];
const OBJECTS = ['{}', '[]', '["x"]', '{"constructor":1}', '{"__proto__":null}', '{"then":{}}', '[[[1]]]'];
const NO_TEXT = [
  '"a\\u0000b"',
  '"\\ud800"',
  '"x\\udc00"',
  '"\\udc00\\ud800"',
  '1',
  'true',
  '1e400',
  ...OBJECTS,
];
const NO_JSON_INTEGER = [
  '"1"',
  '1.5',
  'true',
  '""',
  '9223372036854775808',
  '-9223372036854775809',
  '1e19',
  '1e400',
  '-1e400',
  `1${'0'.repeat(5e3)}`,
  ...OBJECTS,
];
const NO_ENUM = [
  '"x"',
  '"AVAILABLE"',
  '""',
  '" placed"',
  '"__proto__"',
  '"toString"',
  '0',
  'false',
  ...OBJECTS,
];
const NO_EMAIL = [
  '"x"',
  '"@"',
  '"a@b"',
  '"a b@example.com"',
  '"a:b@example.com"',
  '"a@example.com\\n"',
  '""',
  `"${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(4)}com"`,
];
const NO_TIME = [
  '"2030-02-30T00:00:00Z"',
  '"2030-01-01"',
  '"2030-01-01T00:00:00"',
  '"2030-13-01T00:00:00Z"',
  '"now"',
  '"2030-01-01T25:00:00Z"',
  '"2030-01-01T24:00:00Z"',
  '"+012030-01-01T00:00:00Z"',
  '1893456000',
  '"2030-01-01T00:00:00+25:00"',
  '"2030-01-01T00:00:00+00:60"',
  '"2030-01-01T00:00:60Z"',
  '"2030-01-01T00:00:00+5:00"',
  '"9999-12-31T23:59:59-01:00"',
  '"0000-01-01T00:00:00+01:00"',
];
const PAST = '"2001-01-01T00:00:00Z"';
const NO_BOOLEAN = ['"true"', '"false"', '0', '1', '""', ...OBJECTS];
const NO_UUID = ['"x"', '""', '"019aa5c2-6f80-7c3e-8f3a"', '"{019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70}"'];
const NO_LISTS = [',', '1,', ',1', '1,,2', '1, 2', '1;2', '[1]', '1,'.repeat(100) + '1'];
const NO_WORDS = ['x', 'AVAILABLE', ' ', 'available,sold', 'YWZ0ZXI6', '\0', '😀', '__proto__'];
const NO_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'application/json2', 'multipart/json'];
const NO_OBJECT = ['[]', '[{}]', 'null', '1', '"{}"', 'true', '18446744073709551616'];

/** Every way to break a request for an operation, each in only one place. */
export function breaks(one: Placed): Arbitrary<Break> {
  const told = (found: Break) => Object.assign(found, { [fc.toStringMethod]: () => found.what });
  return fc.oneof(...allBreaks(one)).map(told);
}

/** Whether an operation takes anything that can be wrong. */
export const isBreakable = (one: Placed) => allBreaks(one).length > 0;

function allBreaks(one: Placed): Arbitrary<Break>[] {
  return [...fieldBreaks(one), ...bodyBreaks(one), ...parameterBreaks(one)];
}

function fieldBreaks(one: Placed): Arbitrary<Break>[] {
  const { properties = {}, required = [] } = bodySchema(one) ?? {};
  const set = (name: string, json: string): Break => ({
    what: `${name}: ${json.slice(0, 60)}`,
    code: INVALID,
    apply: (parts) => ({
      ...parts,
      fields: [...parts.fields.filter(([other]) => other !== name), [name, json]],
    }),
  });
  const wrong = Object.entries(properties).map(([name, schema]) =>
    fc
      .constantFrom(...(isNullable(schema) ? [] : ['null']), ...noValues(resolve(schema)))
      .map((json) => set(name, json)),
  );
  if (required.length === 0) return wrong;
  const missing = fc.constantFrom(...required).map((name) => ({
    what: `no ${name}`,
    code: INVALID,
    apply: (parts: Parts) => ({ ...parts, fields: parts.fields.filter(([other]) => other !== name) }),
  }));
  return [...wrong, missing];
}

/** JSON texts that a schema does not allow. */
function noValues(schema: Schema): string[] {
  const { format, enum: values, minLength = 0, maxLength, pattern } = schema;
  const type = typeOf(schema);
  if (type === 'array') return noArrays(schema);
  if (values) return NO_ENUM.filter((json) => !values.includes(JSON.parse(json)));
  if (type === 'integer') return [...NO_JSON_INTEGER, ...beyond(schema)];
  if (type === 'boolean') return NO_BOOLEAN;
  if (format === 'email') return [...NO_EMAIL, ...NO_TEXT];
  if (format === 'uuid') return [...NO_UUID, ...NO_TEXT];
  if (format === 'date-time') return [...NO_TIME, ...NO_TEXT, ...(schema['x-future'] ? [PAST] : [])];
  const lengths = [...(minLength > 0 ? [minLength - 1] : []), maxLength! + 1];
  const texts = ['x', '😀']
    .flatMap((unit) => lengths.map((length) => unit.repeat(length)))
    .filter((text) => Buffer.byteLength(text) < 100_000);
  const refused = [' ', '\t\n', '\u00a0\u3000', '\ufeff'].filter(
    (text) => !new RegExp(pattern ?? '').test(text),
  );
  texts.push(...refused);
  return [...texts.map((text) => JSON.stringify(text)), ...NO_TEXT];
}

/** JSON texts that are not an array of a schema. */
function noArrays({ items, minItems = 0, maxItems, uniqueItems }: Schema): string[] {
  const values = resolve(items!).enum!.map((value) => JSON.stringify(value));
  return [
    '"x"',
    '{}',
    '1',
    `[${'['.repeat(50)}${']'.repeat(50)}]`,
    '[null]',
    '["__proto__"]',
    ...(minItems > 0 ? ['[]'] : []),
    ...(uniqueItems ? [`[${values[0]},${values[0]}]`] : []),
    ...(maxItems === undefined ? [] : [JSON.stringify(Array.from({ length: maxItems + 1 }, String))]),
  ];
}

/** The integers next to the bounds of a schema that has some. */
function beyond({ minimum, maximum }: Schema): string[] {
  return [
    ...(minimum === undefined ? [] : [String(minimum - 1)]),
    ...(maximum === undefined ? [] : [String(maximum + 1)]),
  ];
}

function bodyBreaks(one: Placed): Arbitrary<Break>[] {
  if (!one.operation.requestBody) return [];
  const body = (what: string, code: string, change: (text: string) => string | Buffer): Break => ({
    what,
    code,
    apply: (parts) => ({ ...parts, body: change(String(bodyOf(parts))) }),
  });
  // Nothing at all is a body where none is required.
  const isRequired = one.operation.requestBody.required !== false;
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

function parameterBreaks(one: Placed): Arbitrary<Break>[] {
  const paths = parameters(one, 'path').map(({ name, schema }) =>
    fc.constantFrom(...noSegments(name, schema)).map((value) => ({
      what: `${name} = ${value}`,
      code: INVALID,
      apply: (parts: Parts) => ({ ...parts, params: { ...parts.params, [name]: value } }),
    })),
  );
  const keys = parameters(one, 'header').map(({ name }) =>
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

/** Texts that a schema does not allow in a query. */
function noQueryValues(name: string, schema: Schema): string[] {
  const { type, enum: values, items } = schema;
  if (type === 'array') return ['', ...NO_LISTS, ...(items!.type === 'integer' ? NO_INTEGERS : [])];
  if (type === 'integer') return ['', ...NO_INTEGERS, ...beyond(schema), '100000000000000000000'];
  if (name === 'cursor' || values) return ['', ...NO_WORDS].filter((text) => !values?.includes(text));
  // A field refuses the same texts here as in a body, where these are JSON. A lone surrogate cannot be sent.
  const texts = noValues(schema).filter((json) => json.startsWith('"') && !json.includes('\\ud'));
  return texts.map((json) => JSON.parse(json) as string);
}

function queryBreak({ name, schema }: { name: string; schema: Schema }): Arbitrary<Break> {
  const bad = noQueryValues(name, schema).map((value): Parts['query'] => [[name, value]]);
  const twice: Parts['query'][] = ['', '[]', '[0]', '[x]'].map((bracket) => [
    [name + bracket, '1'],
    [name, '2'],
  ]);
  const bracketed: Parts['query'][] = [[[`${name}[]`, '1']], [[`${name}[a][b]`, '1']]];
  const code = (query: Parts['query']) =>
    name === 'cursor' && query.length === 1 && query[0]![0] === name ? 'invalid_cursor' : INVALID;
  return fc.constantFrom(...bad, ...twice, ...bracketed).map((query) => ({
    what: JSON.stringify(query),
    code: code(query),
    apply: (parts) => ({ ...parts, query: [...parts.query.filter(([other]) => other !== name), ...query] }),
  }));
}
