import type { OpenAPIObject, ParameterObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import {
  aboveVersions,
  type Access,
  type DeclaredOperation,
  hasSuccess,
  isLaterVersion,
  isTagged,
  JSON_TYPE,
  TAGS_PATTERN,
  type OperationFacts,
  type Success,
} from '../../api/index.js';
import { answersOf, contentOfAnswer, finishBody, giveExamples } from './bodies.js';
import { type Sample, samplesOf } from './call-samples.js';
import { errorResponses, headerReferences, type HEADERS } from './responses.js';
import { describeParameters, impliedValue, namePage, type Operation, type Schema } from './schemas.js';

/** Placeholder in the document for the origin that a client requests it from. */
export const HERE = 'http://here.invalid';

/** An operation with its path and method. */
export interface Placed {
  path: string;
  method: string;
  operation: Operation;
}

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

/** Completes an operation from its decorators and its shape. */
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

/** Headers that are no parameters (https://spec.openapis.org/oas/v3.1.1.html#parameter-object). */
const NO_PARAMETERS = new Set(['accept', 'authorization', 'content-type']);

/** Sent by a client of an event stream that reconnects (HTML, 9.2.4). */
const LAST_EVENT = {
  name: 'Last-Event-ID',
  required: false,
  description: 'Id of the last event that the client received: the service sends the later events first.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]+$' },
};

function parametersOf({ parameters = [] }: Operation, facts: DeclaredOperation): ParameterObject[] {
  const allowed = parameters.filter(
    (parameter) => parameter.in !== 'header' || !NO_PARAMETERS.has(parameter.name.toLowerCase()),
  );
  for (const type of facts.parameters) if (!facts.bodies.includes(type)) describeParameters(allowed, type);
  for (const parameter of allowed) {
    if (parameter.name.toLowerCase() === LAST_EVENT.name.toLowerCase()) Object.assign(parameter, LAST_EVENT);
    // Values separated by commas.
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
  206: 'The part that `Range` requests.',
  304: 'The client has the current answer (`If-None-Match`): the response has no body.',
};

/** Sent by a client that may have the current answer. */
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header' as const,
  required: false,
  description: 'One or several `ETag`s: if one is current, the answer is 304.',
  schema: { type: 'string', pattern: TAGS_PATTERN },
};

/** Without a declared success, the method has its default status. */
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
  if ((media && isTagged(facts)) || hasSuccess(facts, 304)) headers.push('ETag');
  if (idempotent) headers.push('Idempotency-Replayed');
  const { schema }: { schema?: Schema } = media ?? {};
  if (schema?.type === 'array') {
    headers.push('Link');
    media!.schema = namePage(document, operation, schema, sorted);
  }
  if (gives) response.content = contentOfAnswer(gives, response.content);
  giveExamples(document, response);
  response.description = means ?? (response.description || SUCCESS[status]!);
  response.headers = headerReferences(headers);
}

/** Errors of requests that have not reached an operation, and those that may come before its guard has admitted the request. */
const BEFORE = new Set(['417', '431']);
const MAYBE_BEFORE = new Set(['400', '401', '403', '408', '429', '500', '503']);
const EARLY = ['EarlyDeprecation', 'EarlySunset'] as const;
const ALWAYS = ['Deprecation', 'Sunset'] as const;

/** A deprecated operation sends these headers with every answer behind the guard. */
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

/** Calls of an operation with its example and its required query, ready to paste; none for bodies and answers of other kinds. */
export function codeSamples(
  placed: Placed,
  access: Access,
  document: OpenAPIObject,
  config: Config,
): Sample[] | undefined {
  const { path, method, operation } = placed;
  const { parameters = [], requestBody } = operation;
  const body = requestBody?.content[JSON_TYPE];
  const answers = answersOf(operation);
  if (!answers || (requestBody && !body)) return undefined;
  const examples = new Map(
    parameters.map(({ name, schema = {}, example = (schema as Schema).example as unknown }) => [
      name,
      encodeURIComponent((example ?? impliedValue(document, schema) ?? name) as string),
    ]),
  );
  const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const query = required.map(({ name }) => `${encodeURIComponent(name)}=${examples.get(name)}`).join('&');
  return samplesOf({
    method: method.toUpperCase(),
    url:
      serverOf(placed, config) +
      path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name) ?? name) +
      (query && `?${query}`),
    access,
    body: body?.example,
    answers,
  });
}

/** The server of an operation: its own, or this one, above the versions if the path includes a version. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers
    ?.map(({ url }) => url)
    .find((url) => URL.canParse(url) && !url.startsWith(HERE));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}
