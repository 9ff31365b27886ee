import { randomInt, randomUUID } from 'node:crypto';
import { document, type Placed } from '../../src/testing/document.js';

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  /** Two where the second is null. */
  anyOf?: Schema[];
  type?: string | string[];
  format?: string;
  enum?: string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: Schema;
  /** True for an object with any properties. */
  additionalProperties?: Schema | true;
  propertyNames?: Schema & { not: { enum: string[] } };
  maxProperties?: number;
  example?: unknown;
  'x-future'?: boolean;
  'x-minimum'?: string;
  'x-maximum'?: string;
  'x-decimals'?: number;
  'x-max-bytes'?: number;
  'x-max-depth'?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  minProperties?: number;
}

export const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const DAY_MS = 86_400_000;

/** A schema without its reference and without null, which `isNullable` reports. */
export function resolve(schema: Schema): Schema {
  const [only] = schema.anyOf ?? [];
  if (only) return resolve(only);
  if (Array.isArray(schema.type)) return { ...schema, type: schema.type[0] };
  return schema.$ref ? document.components.schemas[schema.$ref.split('/').pop()!] : schema;
}

export const isNullable = ({ type, anyOf }: Schema): boolean =>
  [type].flat().includes('null') || Boolean(anyOf?.some((schema) => schema.type === 'null'));

export function bodySchema({ operation }: Placed): Schema | undefined {
  const schema = operation.requestBody?.content['application/json']?.schema;
  return schema && resolve(schema);
}

/** The parameters of an operation in its path, its query or its headers. */
export function parameters(
  { operation }: Placed,
  place: string,
): { name: string; required: boolean; schema: Schema }[] {
  return (operation.parameters ?? [])
    .filter((parameter) => parameter.in === place)
    .map(({ name, required, schema }) => ({
      name,
      required,
      schema: { ...resolve(schema as Schema), ...schema },
    }));
}

let made = 0;

/** A value that no earlier one equals, or undefined where there may be none. A date or time is `days` later. */
export function anotherValue(schema: Schema, example: unknown, days = ++made): unknown {
  const { type, format, enum: values, minimum, maximum, maxLength = Infinity, pattern } = resolve(schema);
  if (values || type === 'boolean' || format === 'password') return undefined;
  if (typeof example === 'number') {
    const [least, most] = [minimum ?? 1, maximum ?? Number.MAX_SAFE_INTEGER];
    return least + ((example - least + ++made) % (most - least + 1));
  }
  if (typeof example !== 'string') return undefined;
  if (format === 'uuid') return randomUUID();
  if (format === 'email') return `${word()}@example.com`;
  if (format === 'date') return later(example, days).slice(0, 10);
  if (format === 'date-time') return later(example, days);
  if (format === 'uri') return new URL(`/${word()}`, example).href;
  if (format === 'decimal') return String(BigInt(example.split('.')[0]!) + BigInt(++made));
  const fits = (text: string) =>
    text !== example && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));
  const texts = [`${example} ${word()}`, ...Array.from({ length: 50 }, () => textLike(example))];
  return texts.find(fits);
}

export const word = () => randomUUID().replaceAll('-', '').slice(0, 12);

/** Whether a value is a date or time, which moves together with others of its body. */
export const isMoment = (schema: Schema) => /^date(?:-time)?$/.test(resolve(schema).format ?? '');

const later = (moment: string, days: number) => new Date(Date.parse(moment) + days * DAY_MS).toISOString();

/** A random text of the same form: digits for digits, letters for letters. */
function textLike(text: string): string {
  const any = (from: string) => from[randomInt(from.length)]!;
  return text
    .replaceAll(/\d/g, () => any('0123456789'))
    .replaceAll(/[a-z]/g, () => any('abcdefghijklmnopqrstuvwxyz'))
    .replaceAll(/[A-Z]/g, () => any('ABCDEFGHIJKLMNOPQRSTUVWXYZ'));
}
