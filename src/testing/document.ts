import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { MediaTypeObject, OperationObject, ParameterObject, ResponseObject } from '@nestjs/swagger';

/** A request and the response to it. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

/** An operation of the document, with the properties that Swagger's types leave optional. */
export interface Operation extends OperationObject {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Media>; 'x-max-bytes'?: number };
  responses: Record<string, Response>;
  [extension: `x-${string}`]: unknown;
}

interface Parameter extends ParameterObject {
  required: boolean;
  schema: Record<string, unknown>;
}

/** The example of a type other than JSON is a text, or a `data:` URL with bytes (RFC 2397). */
interface Media extends MediaTypeObject {
  schema: object;
  example?: unknown;
}

interface Response extends ResponseObject {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, Media>;
}

/** An operation with its method, and its path, which is relative to `/v1` or begins with a later version. */
export interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

/** The committed document of the service, `openapi.json` in the working directory. */
export const document = JSON.parse(readFileSync('openapi.json', 'utf8'));

export const operations: Placed[] = Object.entries(
  document.paths as Record<string, Record<string, Operation>>,
).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** The operations to test: all, or in a checkout with additional features, those whose path matches OPERATIONS. */
export const examined = operations.filter(({ path }) => new RegExp(process.env.OPERATIONS ?? '').test(path));

export const isPublic = ({ operation }: Placed) => operation.security.length === 0;

/**
 * Whether an operation creates a resource with an id: a POST, but with parameters in its path only if another
 * path adds an id to it; or a PUT that answers 201, or whose id is a UUID that no POST assigns.
 */
export function makes(placed: Placed): boolean {
  const { method, path } = placed;
  // A list may belong to another resource: `/pets/{petId}/visits`.
  if (method === 'POST') return !path.includes('{') || operations.some((other) => isBelow(other.path, path));
  if (method !== 'PUT' || !path.endsWith('}')) return false;
  const isAssigned = operations.some(
    (other) => other.method === 'POST' && isSame(other.path, path.replace(/\/\{\w+\}$/, '')),
  );
  const { schema } = placed.operation.parameters!.find(({ name }) => path.endsWith(`{${name}}`))!;
  return successOf(placed).status === 201 || (!isAssigned && schema.format === 'uuid');
}

/** The parameters of a path, in order, each with the collection of its id: the part of the path before it. */
export function parametersIn({ path, operation }: Placed): (Parameter & { collection: string })[] {
  return [...path.matchAll(/\/\{(\w+)\}/g)].map(({ 1: name, index }) => ({
    ...operation.parameters!.find((parameter) => parameter.in === 'path' && parameter.name === name)!,
    collection: nameless(path.slice(0, index)),
  }));
}

/** A path without the names of its parameters. */
export const nameless = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');
const isSame = (path: string, other: string) => nameless(path) === nameless(other);
const isBelow = (path: string, parent: string) => nameless(path).startsWith(`${nameless(parent)}/{`);

/**
 * The operations in an order in which each example finds the resources that it refers to: tag by tag, first the operations
 * that create, then the others. Deletions come last, in reverse order of tags, as rows may refer to earlier rows.
 */
export function inWorkingOrder(all: Placed[]): Placed[] {
  const tags = document.tags.map(({ name }: { name: string }) => name) as string[];
  const place = ({ method, path, operation }: Placed) => {
    const tag = tags.indexOf(operation.tags[0]!);
    if (method === 'DELETE') return [1, -tag, 0, -path.split('{').length];
    const ofOne = path.endsWith('}') ? 2 : 1;
    const kind = method === 'GET' ? ofOne : makes({ method, path, operation }) ? 0 : 3;
    return [0, tag, kind, path.split('{').length];
  };
  const compare = (a: number[], b: number[]) =>
    a.map((n, i) => n - b[i]!).find((difference) => difference) ?? 0;
  return all.toSorted((a, b) => compare(place(a), place(b)));
}

export const pathFrom = (path: string) => (/^\/v\d+\//.test(path) ? path : `/v1${path}`);

/** The address of an operation: `value` gives path parameters, examples give required query parameters. */
export function addressOf(
  { path, operation }: Placed,
  value: (parameter: Parameter) => unknown = ({ schema }) => schema.example,
  query: Readonly<Record<string, string>> = {},
): string {
  const parameters = operation.parameters ?? [];
  const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const examples = required.map(({ name, schema }): [string, string] => [name, String(exampleIn(schema))]);
  const search = new URLSearchParams({ ...Object.fromEntries(examples), ...query }).toString();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(value(byName.get(name)!))),
  );
  return pathFrom(filled) + (search && `?${search}`);
}

/** An example of a schema: its own, or the first value of its enumeration. */
function exampleIn({ $ref, example, enum: values }: Parameter['schema']): unknown {
  if (example !== undefined || typeof $ref !== 'string') return example ?? (values as unknown[])[0];
  return exampleIn(document.components.schemas[$ref.split('/').pop()!]);
}

/** A valid parameter value that identifies nothing; a text has the form of the example. */
export function absent({ schema }: Parameter): string {
  const { type, format, maximum } = schema;
  if (format === 'uuid') return 'ffffffff-ffff-7fff-bfff-ffffffffffff';
  if (type === 'integer') return String((maximum as number | undefined) ?? 2n ** 63n - 1n);
  if (format === 'date' || format === 'date-time')
    return format === 'date' ? '9999-12-31' : '9999-12-31T00:00:00Z';
  return String(exampleIn(schema)).replaceAll(/[a-z]/gi, 'a').replaceAll(/\d/g, '9');
}

/** Whether an operation has a parameter in its query or its headers. */
export const takes = ({ operation }: Placed, place: string, name: string): boolean =>
  Boolean(operation.parameters?.some((parameter) => parameter.in === place && parameter.name === name));

export const exampleOf = ({ operation }: Placed) =>
  operation.requestBody?.content['application/json']?.example;

/** The example of a request body: of JSON, else of the first media type that has an example. */
export interface Content {
  body?: unknown;
  /** The `Content-Type`, unless the body is JSON, or a form, which sets its own. */
  headers?: Record<string, string>;
}

export function contentOf({ operation }: Placed): Content {
  const all = Object.entries(operation.requestBody?.content ?? {});
  const [type, { example } = {}] = all.find(([, media]) => media.example !== undefined) ?? [];
  if (type === undefined) return {};
  if (type === 'application/json') return { body: example };
  if (type === 'multipart/form-data') return { body: formOf(example as Record<string, unknown>) };
  const file = fileAt(example as string);
  const { bytes: body, type: mediaType } = file ?? { bytes: example, type: type.replace('*', () => 'plain') };
  return { body, headers: { 'Content-Type': mediaType } };
}

function formOf(example: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(example))
    for (const item of [value].flat()) {
      const file = fileAt(String(item));
      if (file) form.append(name, new Blob([file.bytes], { type: file.type }), name);
      else form.append(name, String(item));
    }
  return form;
}

function fileAt(address: string): { type: string; bytes: Uint8Array<ArrayBuffer> } | undefined {
  const [, type, base64] = /^data:([^;]+);base64,(.*)$/s.exec(address) ?? [];
  return type === undefined ? undefined : { type, bytes: Uint8Array.from(Buffer.from(base64!, 'base64')) };
}

/** The media type in headers, without parameters. */
export const typeOf = (headers: Headers) => headers.get('content-type')?.split(';', 1)[0]!.trim();

/** The status and example of an operation's success; of 201 if several statuses are successes. */
export function successOf({ operation }: Placed): { status: number; example?: unknown } {
  const successes = Object.entries(operation.responses).filter(([code]) => code < '300');
  const [status, { content }] = successes.find(([code]) => code === '201') ?? successes[0]!;
  return { status: Number(status), example: content?.['application/json']?.example };
}

export const statusesOf = ({ operation }: Placed): number[] =>
  Object.keys(operation.responses)
    .map(Number)
    .filter((status) => status < 300);

export const codesOf = ({ operation }: Placed): string[] =>
  Object.values(operation.responses).flatMap(({ content }) =>
    // If a code has two statuses, the name of the second example ends in its status: `_409`.
    Object.keys(content?.['application/json']?.examples ?? {}).map((name) => name.replace(/_\d+$/, '')),
  );

const patterns = new Map<Placed, readonly RegExp[]>();

/** The patterns of an operation's addresses. With `servers` of its own, the operation also has a path without a version. */
function patternsOf(placed: Placed): readonly RegExp[] {
  return patterns.getOrInsertComputed(placed, ({ path, operation }) => {
    const paths = [pathFrom(path), ...(operation.servers ? [path] : [])];
    return paths.map((each) => new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`));
  });
}

/** The operation of a request, if any. Literal segments precede parameters (OpenAPI: "Path Templating"). */
export function findOperation(method: string, path: string): Placed | undefined {
  const bare = path.replace(/[?#].*$/, '').replace(/(?<=.)\/$/, '');
  const documentedMethod = method === 'HEAD' ? 'GET' : method;
  const matching = operations.filter((placed) => patternsOf(placed).some((pattern) => pattern.test(bare)));
  const parameterCount = (placed: Placed) => placed.path.split('{').length;
  const fewest = Math.min(...matching.map(parameterCount));
  return matching.find((placed) => placed.method === documentedMethod && parameterCount(placed) === fewest);
}

/**
 * Checks a response against the document: status and media type are documented, JSON is valid without additional
 * properties, required headers are present. An error outside of all operations must have the Error shape.
 * @throws Error that names the difference
 */
export function checkAgainstDocument(exchange: Exchange): void {
  const { method, path, status, headers, text } = exchange;
  if (!status) throw new Error(`${method} ${path} was not answered`);
  const found = findOperation(method, path);
  const where = `${method} ${path} answered ${status} ${text.slice(0, 300)}`;
  if (!found) {
    if (status >= 400) expectValid(validatorOf(ERROR), text, where);
    return;
  }
  const { operationId, responses } = found.operation;
  // An undocumented method of an address is no operation, so neither its 405 nor an OPTIONS request has one.
  const response = responses[status];
  if (!response) throw new Error(`${where}, which ${operationId} does not document`);
  for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
    const { required } = document.components.headers[$ref.split('/').pop()!];
    if (required && !headers.has(name)) throw new Error(`${where} without the header ${name}`);
  }
  if (!response.content || method === 'HEAD') {
    if (text) throw new Error(`${where}, but ${operationId} documents no body`);
    return;
  }
  const mediaType = typeOf(headers) ?? 'no type';
  const types = Object.keys(response.content);
  const documented = types.find((type) => type === mediaType || isWithin(mediaType, type));
  if (documented === undefined) throw new Error(`${where}: ${mediaType} is not ${types.join(' or ')}`);
  if (documented === 'application/json')
    expectValid(validatorOf(response.content[documented]!.schema), text, where);
}

const isWithin = (type: string, range: string) => range.endsWith('/*') && type.startsWith(range.slice(0, -1));

/** The schema of errors outside of all operations. */
const ERROR = { $ref: '#/components/schemas/Error' };
const ajv = new Ajv2020({ strict: false, validateFormats: true });
formats.default(ajv);
for (const format of ['int64', 'password', 'decimal']) ajv.addFormat(format, true);
ajv.addSchema(closed(document), 'document');
/** Keyed by the text of a schema, as many responses share a schema. */
const validators = new Map<string, ValidateFunction>();

function validatorOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const absolute = () => JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"document#/'));
  const validate = validators.get(text) ?? ajv.compile(absolute());
  validators.set(text, validate);
  return validate;
}

/** Returns a check of texts against a schema of another document; it throws an Error that names the fault. */
export function checkerOf(schema: object, schemas: Record<string, unknown>): (text: string) => void {
  const validate = ajv.compile(closed({ ...schema, components: { schemas } }));
  return (text) => expectValid(validate, text, text.slice(0, 300));
}

function expectValid(validate: ValidateFunction, text: string, where: string): void {
  if (!validate(JSON.parse(text))) throw new Error(`${where}: ${ajv.errorsText(validate.errors)}`);
}

/** The schema, without additional properties in its objects. */
function closed(schema: object): object {
  const close = (_key: string, value: unknown) => {
    const isClosable =
      typeof value === 'object' && value !== null && 'type' in value && 'properties' in value;
    return isClosable && value.type === 'object' ? { additionalProperties: false, ...value } : value;
  };
  return JSON.parse(JSON.stringify(schema), close) as object;
}
