import { STATUS_CODES } from 'node:http';
import type { MediaTypeObject, OpenAPIObject, ParameterObject, RequestBodyObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import {
  type Access,
  type DeclaredOperation,
  type Gives,
  hasSuccess,
  isRaw,
  JSON_TYPE,
  type OperationFacts,
  sizeText,
  type Success,
  TAGS_PATTERN,
} from '../../api/index.js';
import { codeSamples } from './call-samples.js';
import { errorResponses, headerReferences, type HEADERS } from './responses.js';
import { defaultsOf, exampleFor, namePage, type Operation, type Placed, type Schema } from './schemas.js';

/** The security scheme of access tokens, if an identity provider is configured. */
export const OIDC = 'openIdConnect';

const SCHEME: Record<Access, string | undefined> = {
  public: undefined,
  basic: 'basicAuth',
  bearer: 'bearerAuth',
};

/** The alternative credentials of an operation, each with the permission needed; of several permissions, one is enough. */
function securityOf({ access, permissions }: OperationFacts, config: Config): Record<string, string[]>[] {
  const scheme = SCHEME[access];
  if (scheme === undefined) return [];
  // Access tokens come last: samples and tests use the first scheme.
  return [scheme, ...(config.OIDC_ISSUER ? [OIDC] : [])].flatMap((name) =>
    permissions.length === 0 ? [{ [name]: [] }] : permissions.map((permission) => ({ [name]: [permission] })),
  );
}

function describe({ description }: Operation, { permissions }: OperationFacts): string | undefined {
  if (permissions.length === 0) return description;
  const names = permissions.map((permission) => `\`${permission}\``).join(' or ');
  return `${description ?? ''} Needs the permission ${names}.`.trim();
}

/** Completes an operation of the document from its declared facts. */
export function finishOperation(
  placed: Placed,
  facts: DeclaredOperation,
  document: OpenAPIObject,
  config: Config,
): void {
  const { operation } = placed;
  const { access, sunset } = facts;
  operation.security = securityOf(facts, config);
  operation.description = describe(operation, facts);
  operation.parameters = parametersOf(operation, facts);
  finishBody(document, operation, facts);
  for (const success of successesOf(operation, facts)) finishSuccess(document, operation, facts, success);
  Object.assign(operation.responses, errorResponses(operation, facts, config));
  if (sunset) finishDeprecated(operation, sunset.day);
  if (hasSuccess(facts, 304)) operation.parameters.push(IF_NONE_MATCH);
  operation['x-codeSamples'] ??= codeSamples(placed, access, document, config);
}

/** Headers that must not be parameters (https://spec.openapis.org/oas/v3.1.1.html#parameter-object). */
const NO_PARAMETERS = new Set(['accept', 'authorization', 'content-type']);

/** The header that a client sends when it reconnects to an event stream (HTML, 9.2.4). */
const LAST_EVENT = {
  name: 'Last-Event-ID',
  required: false,
  description: 'Id of the last event that the client received: the service first sends those after it.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]+$' },
};

function parametersOf({ parameters = [] }: Operation, facts: DeclaredOperation): ParameterObject[] {
  const allowed = parameters.filter(
    (parameter) => parameter.in !== 'header' || !NO_PARAMETERS.has(parameter.name.toLowerCase()),
  );
  const given = facts.parameters.filter(({ part }) => part !== 'body');
  const defaults = new Map(given.flatMap(({ type }) => (type ? defaultsOf(type) : [])));
  for (const parameter of allowed) {
    if (defaults.has(parameter.name))
      Object.assign(parameter.schema!, { default: defaults.get(parameter.name) });
    if (parameter.name.toLowerCase() === LAST_EVENT.name.toLowerCase()) Object.assign(parameter, LAST_EVENT);
    // The values of a list are separated by commas.
    if ((parameter.schema as Schema).type === 'array')
      Object.assign(parameter, { style: 'form', explode: false });
  }
  return allowed;
}

const SUCCESS: Record<string, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted: stored, and processed later.',
  204: 'Done. The response has no body.',
  206: 'The part that the `Range` header asks for.',
  304: 'The client has the current answer (`If-None-Match`): the response has no body.',
};

/** The header of a client that may already have the current answer. */
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header' as const,
  required: false,
  description: 'One or several `ETag`s: if one is current, the answer is 304.',
  schema: { type: 'string', pattern: TAGS_PATTERN },
};

/** The declared successes; if none is declared, one success with the default status of the method. */
function successesOf({ responses }: Operation, { successes }: OperationFacts): readonly Success[] {
  return successes.length > 0 ? successes : [{ status: Number(Object.keys(responses)[0]) }];
}

function finishSuccess(
  document: OpenAPIObject,
  operation: Operation,
  facts: OperationFacts,
  { status, located, means, gives }: Success,
): void {
  const { idempotent, sorted } = facts;
  const response = (operation.responses[status] ??= { description: '' });
  const media = response.content?.['application/json'];
  const headers: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  if (located) headers.push('Location');
  if ((media && facts.isTagged) || hasSuccess(facts, 304)) headers.push('ETag');
  if (idempotent) headers.push('Idempotency-Replayed');
  const { schema }: { schema?: Schema } = media ?? {};
  if (schema?.type === 'array') {
    headers.push('Link');
    media!.schema = namePage(document, operation, schema, sorted);
  }
  if (gives) response.content = contentOfAnswer(gives, response.content);
  giveExamples(document, response);
  const phrase = `${STATUS_CODES[status] ?? 'Success'}.`;
  response.description = means ?? (response.description || SUCCESS[status] || phrase);
  response.headers = headerReferences(headers);
}

/** Error statuses that come only before an operation is reached, and those that come either before or after its guard. */
const BEFORE = new Set(['417', '431']);
const MAYBE_BEFORE = new Set(['400', '401', '403', '408', '429', '500', '503']);
const EARLY = ['EarlyDeprecation', 'EarlySunset'] as const;
const ALWAYS = ['Deprecation', 'Sunset'] as const;

/** Documents the deprecation headers, which every answer carries once the guard has admitted the request. */
function finishDeprecated(operation: Operation, sunset: string): void {
  operation['x-deprecated-sunset'] = sunset;
  operation.deprecated = true;
  operation.description = `Will be removed on ${sunset}. ${operation.description ?? ''}`.trim();
  for (const [status, { headers }] of Object.entries(operation.responses)) {
    if (BEFORE.has(status)) continue;
    const link = headers!.Link && status < '400' ? 'Pages' : 'Successor';
    const others = MAYBE_BEFORE.has(status) ? EARLY : ALWAYS;
    Object.assign(headers!, headerReferences([...others, link]));
  }
}

type Content = Record<string, MediaTypeObject>;

/** Describes the request body of an operation, with its examples. */
function finishBody(document: OpenAPIObject, operation: Operation, facts: OperationFacts): void {
  const { takes, bodyOptional } = facts;
  const { requestBody } = operation;
  if (takes) {
    const { description = '', content = {} } = requestBody ?? {};
    const given = content[JSON_TYPE] ?? { schema: { type: 'object' } };
    const mediaOf = (type: string) => content[type] ?? (isRaw(type) ? rawOf(given, takes.maxBytes) : given);
    operation.requestBody = {
      description: `${description} At most ${sizeText(takes.maxBytes)}.`.trim(),
      required: true,
      content: Object.fromEntries(takes.types.map((type) => [type, { ...mediaOf(type) }])),
      'x-max-bytes': takes.maxBytes,
    } as RequestBodyObject;
  }
  giveExamples(document, operation.requestBody);
  if (bodyOptional && operation.requestBody) operation.requestBody.required = false;
}

const BINARY = { type: 'string', format: 'binary' };

/** A raw body, which no class describes. A schema other than a string describes the JSON that the operation also takes. */
function rawOf({ schema, ...given }: MediaTypeObject, maxLength: number): MediaTypeObject {
  const { type, example } = schema as Schema;
  return type === 'string'
    ? { ...given, schema: { ...schema, maxLength }, example }
    : { schema: { ...BINARY, maxLength } };
}

/** Adds the example of the schema to JSON and to forms. */
function giveExamples(document: OpenAPIObject, body?: { content?: Content }): void {
  for (const [type, media] of Object.entries(body?.content ?? {}))
    if (!isRaw(type)) media.example ??= exampleFor(document, media.schema!);
}

/** The content of an answer by media type: as Swagger's decorators describe it, or a default. */
function contentOfAnswer({ types }: Gives, given: Content = {}): Content {
  const otherwise = (type: string) => {
    if (type === JSON_TYPE) return { schema: {} };
    return { schema: type.startsWith('text/') ? { type: 'string' } : BINARY };
  };
  return Object.fromEntries(types.map((type) => [type, given[type] ?? otherwise(type)]));
}
