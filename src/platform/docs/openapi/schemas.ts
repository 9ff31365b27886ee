import type { Type } from '@nestjs/common';
import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { fieldsIn, pageName } from '../../api/index.js';
import type { Sample } from './call-samples.js';

/** The parts of a schema that this folder reads or writes. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  type?: string | string[];
  nullable?: boolean;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  description?: string;
  example?: unknown;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  uniqueItems?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  'x-minimum'?: string;
  'x-maximum'?: string;
  'x-decimals'?: number;
  'x-max-bytes'?: number;
  'x-future'?: boolean;
  'x-enumDescriptions'?: Record<string, string>;
}

export interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, object>;
  encoding?: Record<string, { contentType: string }>;
}

export interface Body {
  description?: string;
  required?: boolean;
  content?: Record<string, Media>;
  'x-max-bytes'?: number;
}

export interface Answer extends Body {
  headers?: Record<string, { $ref?: string }>;
  links?: Record<string, object>;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: string;
  [extension: `x-${string}`]: unknown;
}

export interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  servers?: { url: string; description?: string }[];
  parameters?: Parameter[];
  requestBody?: Body;
  responses: Record<string, Answer>;
  'x-deprecated-sunset'?: string;
  'x-stability'?: string;
  'x-codeSamples'?: Sample[];
}

/** The operations of a path or webhook, by method. */
export function operationsIn(item: OpenAPIObject['paths'][string]): [method: string, operation: Operation][] {
  return Object.entries(item as Record<string, Operation>);
}

/** Converts the properties of all schemas to OpenAPI 3.1. */
export function finishSchemas(document: OpenAPIObject): void {
  for (const schema of Object.values(document.components?.schemas ?? {}) as Schema[]) {
    for (const property of Object.values(schema.properties ?? {})) {
      unwrapReference(property);
      if (property.nullable) addNull(property);
      delete property.nullable;
    }
  }
}

/** Sets the values of an enumeration as of when the document is built. */
export function nameValues(
  document: OpenAPIObject,
  name: string,
  meanings: Readonly<Record<string, string>>,
): void {
  const schema = document.components!.schemas![name];
  const values = { enum: Object.keys(meanings), 'x-enumDescriptions': meanings };
  // Swagger declares an enumeration that was empty when its class was loaded as one of numbers.
  if (schema) Object.assign(schema, { type: 'string', ...values });
}

/** Adds to the schemas of fields their defaults, which are initial values of properties, and the late facts of kinds. */
export function finishFields(document: OpenAPIObject, operation: Operation, type: Type<object>): void {
  const fields = fieldsIn(type);
  if (fields.length === 0) return;
  const initial = new type() as Record<string, unknown>;
  const schemas = document.components!.schemas as Record<string, Schema | undefined>;
  const bodySchema = schemas[nameOf(getSchemaPath(type))];
  const { parameters = [] } = operation;
  for (const [name, { kind, write }] of fields) {
    for (const model of kind.models ?? []) finishFields(document, operation, model);
    const schema =
      bodySchema?.properties?.[name] ?? parameters.find((parameter) => parameter.name === name)?.schema;
    if (!schema) continue;
    const value = initial[name];
    if (value !== undefined) schema.default = value === null ? null : JSON.parse(write(value));
    Object.assign(schema, kind.late?.());
  }
}

const nameOf = (reference: string): string => reference.split('/').at(-1)!;

/** Unwraps a described reference from `allOf`: the description stands beside it. */
function unwrapReference(property: Schema): void {
  const [only, ...more] = property.allOf ?? [];
  if (!only?.$ref || more.length > 0) return;
  delete property.allOf;
  property.$ref = only.$ref;
}

function addNull(property: Schema): void {
  const { $ref, type } = property;
  if (type) property.type = [type, 'null'].flat();
  if (!$ref) return;
  delete property.$ref;
  property.anyOf = [{ $ref }, { type: 'null' }];
}

/** Names the schema of a page: `listPets` returns `Pets`. */
export function namePage(
  document: OpenAPIObject,
  { operationId, parameters = [] }: Operation,
  page: Schema,
  sorted = 'in ascending order of ids',
): Schema {
  const name = pageName(operationId!);
  const names = new Set(parameters.map((parameter) => parameter.name));
  const chosen = ['sort', 'order'].filter((key) => names.has(key)).map((key) => `\`${key}\``);
  document.components!.schemas![name] = {
    description: `One page, ${chosen.length > 0 ? `in the order of ${chosen.join(' and ')}` : sorted}.`,
    ...page,
  } as never;
  return { $ref: `#/components/schemas/${name}` };
}

/** An example of a parameter: its own, or the first value of its enumeration. */
export function exampleIn(document: OpenAPIObject, { $ref, example, enum: values }: Schema): unknown {
  if (example !== undefined || !$ref) return example ?? values?.[0];
  return exampleIn(document, schemaOf(document, { $ref }));
}

/** Resolves a reference to a schema. */
export function schemaOf(document: OpenAPIObject, schema: Schema): Schema {
  return schema.$ref ? (partAt(document, schema.$ref) as Schema) : schema;
}

/** The target of a reference, such as `#/components/schemas/Pet`. */
export function partAt(document: OpenAPIObject, reference: string): unknown {
  const names = reference.split('/').slice(1);
  return names.reduce<unknown>(
    (part, name) => (part as Record<string, unknown> | undefined)?.[name],
    document,
  );
}

/** The names of the components of a kind that a part of the document refers to. */
export function referredTo(part: object, kind: 'schemas' | 'headers' | 'examples'): Set<string> {
  const found = JSON.stringify(part).matchAll(new RegExp(`"#/components/${kind}/([^"]+)"`, 'g'));
  return new Set(Array.from(found, ([, name]) => name!));
}

/** An example of a schema, assembled from its properties. */
export function exampleFor(document: OpenAPIObject, schema: Schema): unknown {
  if (schema.$ref) return exampleFor(document, schemaOf(document, schema));
  if (schema.items) return [exampleFor(document, schema.items)];
  const { properties = {}, required = [] } = schema;
  const shown = Object.entries(properties).flatMap(([name, property]) => {
    const { example = required.includes(name) ? impliedValue(document, property) : undefined } = property;
    return example === undefined ? [] : [[name, example] as const];
  });
  return Object.fromEntries(shown);
}

/** A value for a property without an example. */
function impliedValue(document: OpenAPIObject, { allOf = [], ...property }: Schema): unknown {
  const schema = schemaOf(document, allOf[0] ?? property);
  const { type, enum: values, minimum, properties, items, minItems = 0 } = schema;
  if (properties) return exampleFor(document, schema);
  if (items) return minItems > 0 ? [impliedValue(document, items)] : [];
  return values?.[0] ?? minimum ?? (type === 'boolean' ? false : undefined);
}

/** Inlines schemas that no operation uses: oapi-codegen prunes them, and its client of the webhook would not compile. */
export function withPrunedInlined(schema: Schema, { paths, components }: OpenAPIObject): Schema {
  const schemas = components!.schemas as Record<string, Schema>;
  return inline(schema, schemas, namesIn(paths, schemas));
}

/** @param kept the schemas that may stay references; so may a recursive schema */
function inline(schema: Schema, schemas: Record<string, Schema>, kept: ReadonlySet<string>): Schema {
  return JSON.parse(JSON.stringify(schema), (_key, value: Schema | null) => {
    const name = typeof value?.$ref === 'string' ? nameOf(value.$ref) : undefined;
    if (name === undefined || kept.has(name)) return value;
    const { $ref: _, ...beside } = value!;
    return { ...inline(schemas[name]!, schemas, new Set([...kept, name])), ...beside };
  }) as Schema;
}

/** The names of the schemas that a part of the document refers to, directly or through others. */
function namesIn(part: object, schemas: Record<string, Schema>, found = new Set<string>()): Set<string> {
  for (const name of referredTo(part, 'schemas')) {
    if (found.has(name)) continue;
    found.add(name);
    // The error schemas are added later.
    if (schemas[name]) namesIn(schemas[name], schemas, found);
  }
  return found;
}
