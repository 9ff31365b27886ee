import type { Type } from '@nestjs/common';
import {
  getSchemaPath,
  type OpenAPIObject,
  type OperationObject,
  type ParameterObject,
  type ReferenceObject,
  type RequestBodyObject,
  type ResponseObject,
  type SchemaObject,
} from '@nestjs/swagger';
import {
  type DeclaredOperation,
  enumerationsIn,
  type Field,
  fieldOf,
  fieldsIn,
  pageName,
  withInside,
} from '../../api/index.js';

/** Placeholder in the document for the origin of the request. */
export const HERE = 'http://here.invalid';

/** A schema, or a reference to one, with the keywords that Swagger's type lacks. */
export interface Schema extends SchemaObject, Partial<ReferenceObject> {
  properties?: Record<string, Schema>;
  const?: unknown;
  'x-minimum'?: string;
  'x-maximum'?: string;
  'x-decimals'?: number;
  'x-max-bytes'?: number;
  'x-future'?: boolean;
  'x-enumDescriptions'?: Record<string, string>;
}

/** An operation as Swagger's scan of the application writes it: without references to its parts. */
export interface Operation extends OperationObject {
  parameters?: ParameterObject[];
  requestBody?: RequestBodyObject;
  responses: Record<string, ResponseObject>;
  'x-deprecated-sunset'?: string;
  'x-stability'?: string;
  /** Sample calls in several languages, ready to paste. */
  'x-codeSamples'?: { lang: string; label: string; source: string }[];
}

/** An operation with its path (for a webhook, its name) and its method in lower case. */
export interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

export function placedIn(paths: OpenAPIObject['paths']): Placed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      path,
      method,
      operation,
    })),
  );
}

/** Gives properties and parameters the schemas of their fields. Writes `$ref` beside other keywords, as OpenAPI 3.1 allows. */
export function withSchemas(document: OpenAPIObject): OpenAPIObject {
  const text = JSON.stringify(document, (_key, value: (Schema & { schema?: Schema }) | null) => {
    const member = fieldOf(value);
    if (!member) return value;
    const { schema } = value!;
    return schema ? { ...value, schema: ofField(schema, member) } : ofField(value!, member);
  });
  return JSON.parse(text, (_key, value: Schema | null) => {
    const { allOf, ...beside } = Object(value) as Schema;
    const [one, ...others] = Array.isArray(allOf) ? allOf : [];
    return one && '$ref' in one && others.length === 0 ? { ...beside, ...one } : value;
  }) as OpenAPIObject;
}

/** Type keywords of Swagger's decorators beside a field; left out, because the field has a schema of its own. */
const OF_TYPE = new Set(['type', 'items', 'enum', 'allOf', 'oneOf']);

function ofField(said: Schema, { schema }: Field): Schema {
  const beside = Object.entries(said).filter(([keyword]) => !OF_TYPE.has(keyword));
  return { ...Object.fromEntries(beside), ...schema };
}

/** Adds the enumerations that fields refer to, and the defaults of the fields of request bodies. */
export function completeSchemas(document: OpenAPIObject, declared: readonly DeclaredOperation[]): void {
  const schemas = document.components!.schemas as Record<string, Schema>;
  for (const type of withInside(declared.flatMap(({ bodies }) => bodies))) {
    const { properties = {} } = schemas[nameOf(getSchemaPath(type))] ?? {};
    for (const [name, initial] of defaultsOf(type)) properties[name]!.default = initial;
  }
  for (const { name, description, meanings } of enumerationsIn(declared)) {
    const values = { enum: Object.keys(meanings()), 'x-enumDescriptions': meanings() };
    schemas[name] = { ...schemas[name], type: 'string', ...(description && { description }), ...values };
  }
}

/** The defaults of the fields of a class: the initial values that its properties have when the service makes an instance. */
export function defaultsOf(type: Type<object>): [name: string, initial: unknown][] {
  const fields = fieldsIn(type);
  const initial = fields.length > 0 ? (new type() as Record<string, unknown>) : {};
  const defaults = fields.filter(([name]) => initial[name] !== undefined);
  return defaults.map(([name, { write }]) => [
    name,
    initial[name] === null ? null : JSON.parse(write(initial[name])),
  ]);
}

const nameOf = (reference: string): string => reference.split('/').at(-1)!;

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
    description: `One page, ${chosen.length > 0 ? `in the order chosen by ${chosen.join(' and ')}` : sorted}.`,
    ...page,
  } as never;
  return { $ref: `#/components/schemas/${name}` };
}

/** Resolves a reference to a schema. */
export function schemaOf(document: OpenAPIObject, schema: Schema): Schema {
  return schema.$ref ? (partAt(document, schema.$ref) ?? {}) : schema;
}

/** The target of a reference, such as `#/components/schemas/Pet`. */
export function partAt(document: OpenAPIObject, reference: string): unknown {
  const names = reference.split('/').slice(1);
  return names.reduce<unknown>(
    (part, name) => (part as Record<string, unknown> | undefined)?.[name],
    document,
  );
}

/** The names of the components, all of one kind, to which a part of the document refers. */
export function referredTo(part: object, kind: 'headers' | 'examples'): Set<string> {
  const found = JSON.stringify(part).matchAll(new RegExp(`"#/components/${kind}/([^"]+)"`, 'g'));
  return new Set(Array.from(found, ([, name]) => name!));
}

/** An example of a schema, assembled from its properties. */
export function exampleFor(document: OpenAPIObject, schema: Schema): unknown {
  if (schema.$ref) return exampleFor(document, schemaOf(document, schema));
  if (schema.items) return [exampleFor(document, schema.items)];
  const { properties = {}, required = [] } = schema;
  const shown = Object.entries(properties).flatMap(([name, property]) => {
    const example: unknown =
      property.example ?? (required.includes(name) ? impliedValue(document, property) : undefined);
    return example === undefined ? [] : [[name, example] as const];
  });
  return Object.fromEntries(shown);
}

/** A value for a property or a parameter without an example. */
export function impliedValue(document: OpenAPIObject, property: Schema): unknown {
  const schema = schemaOf(document, property);
  const { type, enum: values, minimum, properties, items, minItems = 0 } = schema;
  if (properties) return exampleFor(document, schema);
  if (items) return minItems > 0 ? [impliedValue(document, items)] : [];
  return values?.[0] ?? minimum ?? (type === 'boolean' ? false : undefined);
}

/**
 * A schema without references: oapi-codegen prunes the schemas that only webhooks use, and its client would not compile. A
 * recursive schema keeps its references.
 */
export function inlined(schema: Schema, document: OpenAPIObject, within: readonly string[] = []): Schema {
  return JSON.parse(JSON.stringify(schema), (_key, value: Schema | null) => {
    const { $ref, ...beside } = Object(value) as Schema;
    if (typeof $ref !== 'string' || within.includes($ref)) return value;
    return { ...inlined(schemaOf(document, { $ref }), document, [...within, $ref]), ...beside };
  }) as Schema;
}
