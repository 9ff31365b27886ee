import { document, type Placed } from '../../src/testing/document.js';

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  /** Two schemas if the second is null. */
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

/** Follows a schema's reference, and leaves out `null`, which `isNullable` reports. */
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
