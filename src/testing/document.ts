import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** A request and the response to it. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  deprecated?: boolean;
  security: Record<string, string[]>[];
  servers?: { url: string }[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Media>; 'x-max-bytes'?: number };
  responses: Record<string, Response>;
  [extension: `x-${string}`]: unknown;
}

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: Record<string, unknown>;
}

interface Media {
  schema: object;
  /** Of what is no JSON, a text, or an address that has bytes in it (RFC 2397). */
  example?: unknown;
  examples?: Record<string, unknown>;
}

interface Response {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, Media>;
}

/** An operation and its place: its path is relative to `/v1`, or begins with a later version. */
export interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

/** The committed document of the service, in the working directory: `openapi.json`. */
export const document = JSON.parse(readFileSync('openapi.json', 'utf8'));

export const operations: Placed[] = Object.entries(
  document.paths as Record<string, Record<string, Operation>>,
).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/**
 * Those that are tried one by one: all, or in a checkout with features that were added, those whose path fits OPERATIONS.
 * The others are tried where nothing was added.
 */
export const examined = operations.filter(({ path }) => new RegExp(process.env.OPERATIONS ?? '').test(path));

/** The parts of the product, each with a tag. Others come with features that were added. */
const PRODUCT = new Set(['accounts', 'pets', 'categories', 'store', 'messages']);

/** Whether an operation is of the product itself, and not of a feature that was added. */
export const isOfProduct = ({ operation }: Placed) => PRODUCT.has(operation.tags[0]!);

/** Whether an operation can be asked without credentials. */
export const isPublic = ({ operation }: Placed) => operation.security.length === 0;

/**
 * Whether an operation makes what can be asked for by an id: a POST to what an id is asked below, or a PUT to an id of
 * the client's, which is a UUID that no POST assigns, or is answered with 201.
 */
export function makes(one: Placed): boolean {
  const { method, path } = one;
  // To a list, which may be that of something else: `/pets/{petId}/visits`.
  if (method === 'POST') return !path.includes('{') || operations.some((other) => isBelow(other.path, path));
  if (method !== 'PUT' || !path.endsWith('}')) return false;
  const isAssigned = operations.some(
    (other) => other.method === 'POST' && isSame(other.path, path.replace(/\/\{\w+\}$/, '')),
  );
  const { schema } = one.operation.parameters!.find(({ name }) => path.endsWith(`{${name}}`))!;
  return successOf(one).status === 201 || (!isAssigned && schema.format === 'uuid');
}

/** The parameters in a path, in its order, each with the collection that it takes an id of: the path before it. */
export function parametersIn({ path, operation }: Placed): (Parameter & { collection: string })[] {
  return [...path.matchAll(/\/\{(\w+)\}/g)].map(({ 1: name, index }) => ({
    ...operation.parameters!.find((one) => one.in === 'path' && one.name === name)!,
    collection: nameless(path.slice(0, index)),
  }));
}

/** A path whatever its parameters are called. */
export const nameless = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');
const isSame = (one: string, other: string) => nameless(one) === nameless(other);
const isBelow = (one: string, other: string) => nameless(one).startsWith(`${nameless(other)}/{`);

/**
 * The operations in an order in which the example of each finds what it names: tag by tag, in each first what adds, then
 * what lists, fetches and changes. What deletes comes at the end, the last tag first, as its rows may refer to earlier ones.
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

/** The path of an operation in the service. */
export const pathFrom = (path: string) => (/^\/v\d+\//.test(path) ? path : `/v1${path}`);

/**
 * The address of an operation in the service, the parameters in its path being their examples unless `value` gives others,
 * with those that its query must have and those of `query`.
 */
export function addressOf(
  { path, operation }: Placed,
  value: (parameter: Parameter) => unknown = ({ schema }) => schema.example,
  query: Readonly<Record<string, string>> = {},
): string {
  const parameters = operation.parameters ?? [];
  const byName = new Map(parameters.map((one) => [one.name, one]));
  const asked = parameters.filter((one) => one.in === 'query' && one.required);
  const examples = asked.map(({ name, schema }): [string, string] => [name, String(exampleIn(schema))]);
  const search = new URLSearchParams({ ...Object.fromEntries(examples), ...query }).toString();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(value(byName.get(name)!))),
  );
  return pathFrom(filled) + (search && `?${search}`);
}

/** A value of a schema: its example, or the first of an enumeration. */
function exampleIn({ $ref, example, enum: values }: Parameter['schema']): unknown {
  if (example !== undefined || typeof $ref !== 'string') return example ?? (values as unknown[])[0];
  return exampleIn(document.components.schemas[$ref.split('/').pop()!]);
}

/** The example of what an operation takes as JSON. */
export const exampleOf = ({ operation }: Placed) =>
  operation.requestBody?.content['application/json']?.example;

/** What is sent to an operation as its example: JSON, or the first of its types that has one. */
export interface Content {
  body?: unknown;
  /** The type of what is no JSON, nor a form, which names its own. */
  headers?: Record<string, string>;
}

export function contentOf({ operation }: Placed): Content {
  const all = Object.entries(operation.requestBody?.content ?? {});
  const [type, { example } = {}] = all.find(([, one]) => one.example !== undefined) ?? [];
  if (type === undefined) return {};
  if (type === 'application/json') return { body: example };
  if (type === 'multipart/form-data') return { body: formOf(example as Record<string, unknown>) };
  const file = fileAt(example as string);
  const { bytes: body, type: given } = file ?? { bytes: example, type: type.replace('*', () => 'plain') };
  return { body, headers: { 'Content-Type': given } };
}

function formOf(example: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(example))
    for (const one of [value].flat()) {
      const file = fileAt(String(one));
      if (file) form.append(name, new Blob([file.bytes], { type: file.type }), name);
      else form.append(name, String(one));
    }
  return form;
}

function fileAt(address: string): { type: string; bytes: Uint8Array<ArrayBuffer> } | undefined {
  const [, type, base64] = /^data:([^;]+);base64,(.*)$/s.exec(address) ?? [];
  return type === undefined ? undefined : { type, bytes: Uint8Array.from(Buffer.from(base64!, 'base64')) };
}

/** The media type of what has these headers, without its parameters. */
export const typeOf = (headers: Headers) => headers.get('content-type')?.split(';', 1)[0]!.trim();

/** The status of an operation's success, and the example of its body: where there are several, that of what is made. */
export function successOf({ operation }: Placed): { status: number; example?: unknown } {
  const successes = Object.entries(operation.responses).filter(([code]) => code < '300');
  const [status, { content }] = successes.find(([code]) => code === '201') ?? successes[0]!;
  return { status: Number(status), example: content?.['application/json']?.example };
}

/** The statuses of an operation's successes. */
export const statusesOf = ({ operation }: Placed): number[] =>
  Object.keys(operation.responses)
    .map(Number)
    .filter((status) => status < 300);

/** The codes of the errors that an operation documents. */
export const codesOf = ({ operation }: Placed): string[] =>
  Object.values(operation.responses).flatMap(({ content }) =>
    // A code that comes with two statuses has the second one in the name of its example.
    Object.keys(content?.['application/json']?.examples ?? {}).map((name) => name.replace(/_\d+$/, '')),
  );

const patterns = new Map<Placed, readonly RegExp[]>();

/** What the addresses of an operation look like: one with a server of its own also has a path without a version. */
function patternsOf(one: Placed): readonly RegExp[] {
  return patterns.getOrInsertComputed(one, ({ path, operation }) => {
    const paths = [pathFrom(path), ...(operation.servers ? [path] : [])];
    return paths.map((each) => new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`));
  });
}

/**
 * The operation that a request is for, if any. HEAD is the GET without its body. What stands literally in a path wins
 * over a parameter of another, whatever its methods (OpenAPI, "Path Templating Matching").
 */
export function findOperation(method: string, path: string): Placed | undefined {
  const bare = path.replace(/[?#].*$/, '').replace(/(?<=.)\/$/, '');
  const wanted = method === 'HEAD' ? 'GET' : method;
  const taking = operations.filter((one) => patternsOf(one).some((pattern) => pattern.test(bare)));
  const parameterCount = (one: Placed) => one.path.split('{').length;
  const fewest = Math.min(...taking.map(parameterCount));
  return taking.find((one) => one.method === wanted && parameterCount(one) === fewest);
}

/**
 * Checks a response against the document: its status and its media type are documented, JSON is valid and without further
 * properties, its required headers are present. A failure outside of any operation must have the Error shape.
 * @throws Error that says what differs
 */
export function holdAgainstDocument(exchange: Exchange): void {
  const { method, path, status, headers, text } = exchange;
  if (!status) throw new Error(`${method} ${path} was not answered`);
  const found = findOperation(method, path);
  const where = `${method} ${path} answered ${status} ${text.slice(0, 300)}`;
  if (!found) {
    if (status >= 400) expectValid(validatorOf(ERROR), text, where);
    return;
  }
  const { operationId, responses } = found.operation;
  // A method that an address does not have is no operation; neither is 405 nor OPTIONS one of its answers.
  const response = responses[status];
  if (!response) throw new Error(`${where}, which ${operationId} does not document`);
  for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
    const { required } = document.components.headers[$ref.split('/').pop()!];
    if (required && !headers.has(name)) throw new Error(`${where} without the header ${name}`);
  }
  if (!response.content || method === 'HEAD') {
    if (text) throw new Error(`${where}, which documents no body`);
    return;
  }
  const given = typeOf(headers) ?? 'no type';
  const types = Object.keys(response.content);
  const documented = types.find((type) => type === given || isWithin(given, type));
  if (documented === undefined) throw new Error(`${where}: ${given} is not ${types.join(' or ')}`);
  if (documented === 'application/json')
    expectValid(validatorOf(response.content[documented]!.schema), text, where);
}

/** Whether a media type is in a range of them, such as `image/*`. */
const isWithin = (type: string, range: string) => range.endsWith('/*') && type.startsWith(range.slice(0, -1));

/** The schema of what has no operation that could document another. */
const ERROR = { $ref: '#/components/schemas/Error' };
const ajv = new Ajv2020({ strict: false, validateFormats: true });
formats.default(ajv);
for (const format of ['int64', 'password', 'decimal']) ajv.addFormat(format, true);
ajv.addSchema(closed(document), 'document');
/** By what a schema says: many say the same. */
const validators = new Map<string, ValidateFunction>();

function validatorOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const absolute = () => JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"document#/'));
  const validate = validators.get(text) ?? ajv.compile(absolute());
  validators.set(text, validate);
  return validate;
}

/** Checks texts against a schema of another document. It throws an Error that says what differs. */
export function checkerOf(schema: object, schemas: Record<string, unknown>): (text: string) => void {
  const validate = ajv.compile(closed({ ...schema, components: { schemas } }));
  return (text) => expectValid(validate, text, text.slice(0, 300));
}

function expectValid(validate: ValidateFunction, text: string, where: string): void {
  if (!validate(JSON.parse(text))) throw new Error(`${where}: ${ajv.errorsText(validate.errors)}`);
}

/** The same schemas, in which no object may have properties other than those listed. */
function closed(schema: object): object {
  const close = (_key: string, value: unknown) => {
    const isClosable =
      typeof value === 'object' && value !== null && 'type' in value && 'properties' in value;
    return isClosable && value.type === 'object' ? { additionalProperties: false, ...value } : value;
  };
  return JSON.parse(JSON.stringify(schema), close) as object;
}
