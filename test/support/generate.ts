import fc, { type Arbitrary } from 'fast-check';
import { contentOf, pathFrom, type Placed } from '../../src/testing/document.js';
import { bodySchema, INT64, isNullable, parameters, resolve, type Schema } from './schema.js';
import { CHARACTER } from './character.js';

/** A request in parts, so that a test can break one part. Fields are JSON texts by name, with all digits. */
export interface Parts {
  one: Placed;
  method: string;
  params: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  fields: [name: string, json: string][];
  /** White space between the tokens of the body. */
  space: string;
  body?: string | Buffer;
}

const EDGES = [0n, 1n, 2n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, INT64.min, INT64.max];
/** Names with a meaning in JavaScript or in our code, but not in a request. */
const ODD_NAMES = ['__proto__', 'constructor', 'toString', 'then', 'length', 'id', '', '0', 'é', '[limit]'];
const SPACES = ['', ' ', '\n', '\t\r\n '];

/** Values of a schema: strings as they are, all others as JSON writes them. */
export function valueOf(given: Schema): Arbitrary<string> {
  const schema = resolve(given);
  const { type, format, enum: values, items, maxItems, minLength, maxLength, pattern } = schema;
  if (values) return fc.constantFrom(...values);
  if (type === 'array')
    return fc.array(valueOf(items!), { minLength: 1, maxLength: maxItems! }).map((all) => all.join(','));
  if (type === 'integer' && format === 'int64')
    return fc.oneof(fc.constantFrom(...EDGES), fc.bigInt(INT64)).map(String);
  if (type === 'integer') return fc.integer({ min: schema.minimum!, max: schema.maximum! }).map(String);
  if (type === 'boolean') return fc.constantFrom('true', 'false');
  if (format === 'uuid') return fc.uuid().chain((id) => fc.constantFrom(id, id.toUpperCase()));
  if (format === 'email') return fc.emailAddress();
  if (format === 'decimal') return decimal(schema);
  if (format === 'date') return day();
  const whole = { withFragments: true, withQueryParameters: true };
  if (format === 'uri') return fc.webUrl(whole).filter((url) => url.length <= maxLength!);
  // Only texts with a pattern of their own lack a minimum length.
  if (pattern && minLength === undefined) return fc.stringMatching(new RegExp(pattern));
  if (format === 'date-time')
    return time(schema['x-future'] ? Date.now() : Date.parse('0000-01-01T00:00:00Z'));
  return text(schema);
}

/** Any Unicode except NUL; lengths are in code points, up to the longest allowed. */
export function text({ minLength = 0, maxLength = 40, pattern }: Schema): Arbitrary<string> {
  // The longest message leaves room in a body for only one byte a character.
  const units = maxLength > 10_000 ? ['x'] : ['x', 'é', '漢', '😀', '\u{10ffff}', '"', '\u0001'];
  const free = fc
    .string({ unit: CHARACTER, minLength, maxLength: Math.min(maxLength, minLength + 40) })
    .map((value) => value.replaceAll('\0', '\u2028'));
  const longest = fc.constantFrom(...units).map((unit) => unit.repeat(maxLength));
  return fc
    .oneof({ weight: 8, arbitrary: free }, { weight: 1, arbitrary: longest })
    .filter((value) => !pattern || new RegExp(pattern, 'u').test(value));
}

/** A decimal number between the bounds of its schema, with up to the allowed number of decimals. */
function decimal({
  'x-minimum': min,
  'x-maximum': max,
  'x-decimals': decimals = 0,
}: Schema): Arbitrary<string> {
  const unit = 10n ** BigInt(decimals);
  const [least, most] = [min!, max!].map((text) => {
    const [whole, fraction = ''] = text.split('.');
    return BigInt(whole + fraction.padEnd(decimals, '0'));
  });
  const edges = fc.constantFrom(least!, most!);
  const units = fc.oneof(fc.bigInt(least!, most!), edges, fc.bigInt(least!, least! + unit));
  return fc.tuple(units, fc.boolean()).map(([all, isShort]) => {
    const digits = String(all < 0n ? -all : all).padStart(decimals + 1, '0');
    const point = digits.length - decimals;
    const text = `${digits.slice(0, point)}.${digits.slice(point)}`;
    return (all < 0n ? '-' : '') + (isShort ? text.replace(/\.?0*$/, '') : text);
  });
}

const DAY_MS = 86_400_000;

function day(): Arbitrary<string> {
  const [min, max] = ['0001-01-01', '9999-12-31'].map((text) => Date.parse(text) / DAY_MS);
  const edges = ['0001-01-01', '2000-02-29', '1900-02-28', '2024-02-29', '9999-12-31'];
  const days = fc.integer({ min: min!, max: max! });
  const any = days.map((n) => new Date(n * DAY_MS).toISOString().slice(0, 10));
  return fc.oneof(fc.constantFrom(...edges), any);
}

/** Any time from two days after `from` on, so that an offset keeps it later, and within the year 9999. */
function time(from: number): Arbitrary<string> {
  const offsets = ['Z', '+00:00', '-00:00', '+05:30', '-11:00', '+14:00', '+23:59', '-23:59'];
  const [min, max] = [new Date(from + 2 * DAY_MS), new Date('9999-12-30T23:59:59.999Z')];
  const date = fc.date({ min, max, noInvalidDate: true });
  return fc
    .tuple(date, fc.stringMatching(/^(?:\.\d{1,12})?$/), fc.constantFrom(...offsets))
    .map(([day, fraction, offset]) => day.toISOString().slice(0, 19) + fraction + offset);
}

/** JSON texts of the values of a schema, strings with and without escapes. */
export function jsonOf(schema: Schema): Arbitrary<string> {
  const value = jsonOfOne(resolve(schema));
  return isNullable(schema)
    ? fc.oneof({ weight: 1, arbitrary: fc.constant('null') }, { weight: 4, arbitrary: value })
    : value;
}

function jsonOfOne(schema: Schema): Arbitrary<string> {
  const { type, properties, additionalProperties } = schema;
  if (properties)
    return fieldsOf(schema).map(
      (fields) => `{${fields.map(([name, json]) => `${plain(name)}:${json}`).join()}}`,
    );
  if (additionalProperties === true) return anythingIn(schema);
  if (type === 'array') return listOf(schema);
  if (['integer', 'boolean', 'number'].includes(type as string)) return valueOf(schema);
  return fc.tuple(valueOf(schema), fc.constantFrom(plain, escaped)).map(([value, write]) => write(value));
}

function listOf({ items, minItems = 0, maxItems, uniqueItems }: Schema): Arbitrary<string> {
  const limits = { minLength: minItems, maxLength: Math.min(maxItems!, minItems + 8) };
  const all = uniqueItems
    ? fc.uniqueArray(jsonOf(items!), { ...limits, selector: (json) => JSON.parse(json) as unknown })
    : fc.array(jsonOf(items!), limits);
  return all.map((texts) => `[${texts.join()}]`);
}

/** The properties of an object in any order, mixed with unknown ones. */
function fieldsOf(schema: Schema): Arbitrary<[name: string, json: string][]> {
  const { properties = {}, required = [], minProperties = 0 } = schema;
  const fields = fc
    .record(mapValues(properties, jsonOf), { requiredKeys: required })
    .filter((given) => Object.keys(given).length >= minProperties);
  const isKnown = (name: string) => Object.hasOwn(properties, name);
  const extraName = fc.oneof(fc.constantFrom(...ODD_NAMES), fc.string()).filter((name) => !isKnown(name));
  const extra = fc.tuple(extraName, fc.oneof(fc.json(), fc.bigInt().map(String)));
  const all = fc.tuple(fields, fc.array(extra, { maxLength: 3 }));
  return all.chain(([known, more]) => shuffled([...Object.entries<string>(known), ...more]));
}

/** An object with any JSON inside, within the schema's bounds. */
export function anythingIn({ 'x-max-depth': depth, 'x-max-bytes': bytes }: Schema): Arbitrary<string> {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: depth! - 1 }).map((one) => JSON.stringify(one)),
    fc.bigInt(INT64).map(String),
  );
  return fc
    .uniqueArray(fc.tuple(fc.string(), value), { selector: ([name]) => name, maxLength: 5 })
    .map((all) => `{${all.map(([name, json]) => `${plain(name)}:${json}`).join()}}`)
    .filter((json) => !json.includes('"__proto__"') && Buffer.byteLength(json) <= bytes!);
}

const plain = (value: string) => JSON.stringify(value);

/** Every UTF-16 unit as `\u….`, except in a text so long that it would not fit into a body. */
function escaped(value: string): string {
  if (value.length > 10_000) return plain(value);
  const units = value.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${units.join('')}"`;
}

/** Requests for an operation that are valid by its document. */
export function validParts(one: Placed, cursor?: string): Arbitrary<Parts> {
  const schemasOf = (place: string) =>
    Object.fromEntries(parameters(one, place).map(({ name, schema }) => [name, schema]));
  const query = mapValues(schemasOf('query'), valueOf);
  if (cursor === undefined) delete query.cursor;
  else if (query.cursor) query.cursor = fc.constant(cursor);
  const requiredKeys = parameters(one, 'query').flatMap(({ name, required }) => (required ? [name] : []));
  const extra = fc.tuple(fc.constantFrom(...ODD_NAMES, 'x'), fc.string({ unit: CHARACTER }));
  const extraQuery = fc.array(extra, { maxLength: 2 });
  return fc
    .record({
      method: fc.constantFrom(one.method, one.method, one.method === 'GET' ? 'HEAD' : one.method),
      params: fc.record(mapValues(schemasOf('path'), segment)),
      query: fc
        .tuple(fc.record(query, { requiredKeys }), extraQuery)
        .chain(([known, more]) => shuffled([...ofCursor(known, requiredKeys), ...more])),
      headers: fc.record(mapValues(schemasOf('header'), matching), { requiredKeys: [] }),
      fields: fieldsOf(bodySchema(one) ?? {}),
      space: fc.constantFrom(...SPACES),
    })
    .map((parts) => told({ one, ...parts } as Parts));
}

/** Leaves out the parameters that would select another list than the cursor's. */
function ofCursor(
  known: { [name: string]: string | undefined },
  required: readonly string[],
): [string, string][] {
  const all = Object.entries(known) as [string, string][];
  if (known.cursor === undefined) return all;
  return all.filter(([name]) => name === 'cursor' || name === 'limit' || required.includes(name));
}

/** A request that fast-check prints readably, without its whole operation. */
function told(parts: Parts): Parts {
  const lines = () =>
    [`${parts.method} ${pathOf(parts)}`, JSON.stringify(parts.headers), bodyOf(parts)].join('\n');
  return Object.assign(parts, { [fc.toStringMethod]: lines });
}

/** Values of a schema that can be a segment of a path. */
function segment(schema: Schema): Arbitrary<string> {
  return valueOf(schema).filter((value) => !['', '.', '..'].includes(value));
}

/** Values of a header that match its pattern. */
function matching({ pattern, maxLength = 1_000 }: Schema): Arbitrary<string> {
  return fc.stringMatching(new RegExp(pattern!)).filter(({ length }) => length <= maxLength);
}

function shuffled<T>(all: T[]): Arbitrary<T[]> {
  return fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
}

function mapValues<T, U>(all: Record<string, T>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, map(value)]));
}

export function pathOf({ one, params, query }: Parts): string {
  const path = one.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!));
  const search = new URLSearchParams(query).toString();
  return `${pathFrom(path)}${search && `?${search}`}`;
}

/** The body of a request, if its operation and method take one. */
export function bodyOf({ one, method, fields, space, body }: Parts): unknown {
  if (body !== undefined) return body;
  if (!one.operation.requestBody || method === 'GET') return undefined;
  if (!bodySchema(one)) return contentOf(one).body;
  const members = fields.map(([name, json]) => `${JSON.stringify(name)}${space}:${space}${json}`);
  return `${space}{${space}${members.join(`${space},${space}`)}${space}}${space}`;
}
