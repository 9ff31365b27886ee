import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import {
  aboveVersions,
  type Access,
  type DeclaredOperation,
  hasBody,
  hasSuccess,
  isLaterVersion,
  isTagged,
  TAGS_PATTERN,
  type OperationFacts,
  type Success,
} from '../../api/index.js';
import { answersOf, finishBody, giveExample, givenBy, sentIn } from './bodies.js';
import { type Sample, samplesOf } from './call-samples.js';
import { errorResponses, headerReferences, type HEADERS } from './responses.js';
import { exampleIn, finishFields, namePage, type Operation, type Parameter } from './schemas.js';

/** Stands in the document for the scheme, host and port by which a client has asked for it. */
export const HERE = 'http://here.invalid';

/** An operation and where it stands. */
export interface Placed {
  path: string;
  method: string;
  operation: Operation;
}

/** The scheme of access tokens, where there is an identity provider. */
export const OIDC = 'openIdConnect';

const SCHEME: Record<Access, string | undefined> = {
  public: undefined,
  basic: 'basicAuth',
  bearer: 'bearerAuth',
};

/** The credentials that open an operation, with the permission that they need: of several, one is enough. */
function securityOf({ access, permissions }: OperationFacts, config: Config): Record<string, string[]>[] {
  const scheme = SCHEME[access];
  if (scheme === undefined) return [];
  // Of an identity provider last: samples and tests take the first.
  return [scheme, ...(config.OIDC_ISSUER ? [OIDC] : [])].flatMap((name) =>
    permissions.length === 0 ? [{ [name]: [] }] : permissions.map((one) => ({ [name]: [one] })),
  );
}

/** The description of an operation, with the permission that it needs. */
function describe({ description }: Operation, { permissions }: OperationFacts): string | undefined {
  if (permissions.length === 0) return description;
  const names = permissions.map((one) => `\`${one}\``).join(' or ');
  return `${description ?? ''} Needs the permission ${names}.`.trim();
}

/** Completes an operation with what its decorators and its own shape say. */
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
  operation.parameters = parametersOf(operation);
  for (const type of facts.parameters) finishFields(document, operation, type);
  finishBody(document, operation, facts);
  for (const success of successesOf(operation, facts)) finishSuccess(document, operation, facts, success);
  Object.assign(operation.responses, errorResponses(operation, facts, config));
  if (sunset) finishDeprecated(operation, sunset.day);
  operation.parameters.push(...conditionsOf(facts));
  operation['x-codeSamples'] = codeSamples(placed, access, document, config);
}

/** Headers that are no parameters (https://spec.openapis.org/oas/v3.1.1.html#parameter-object). */
const NO_PARAMETERS = new Set(['accept', 'authorization', 'content-type']);

/** What a client of events sends when it comes back (HTML, 9.2.4). */
const LAST_EVENT = {
  name: 'Last-Event-ID',
  required: false,
  description: 'The id of the last event that was heard: what came after it is sent first.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]+$' },
};

/** The parameters that clients see of those that a method takes. */
function parametersOf({ parameters = [] }: Operation): Parameter[] {
  const taken = parameters.filter((one) => one.in !== 'header' || !NO_PARAMETERS.has(one.name.toLowerCase()));
  for (const one of taken) {
    if (one.name.toLowerCase() === LAST_EVENT.name.toLowerCase()) Object.assign(one, LAST_EVENT);
    finishParameter(one);
  }
  return taken;
}

/** A list is separated by commas. What a field's schema says beyond JSON Schema stands in the schema, as in a body. */
function finishParameter(parameter: Parameter): void {
  const { schema } = parameter;
  if (!schema) return;
  if (schema.type === 'array') Object.assign(parameter, { style: 'form', explode: false });
  for (const name of Object.keys(parameter).filter((one): one is `x-${string}` => one.startsWith('x-'))) {
    Object.assign(schema, { [name]: parameter[name] });
    delete parameter[name];
  }
}

const SUCCESS: Record<string, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted: stored, and dealt with later.',
  204: 'Done. The response has no body.',
  206: 'The part that `Range` has asked for.',
  304: 'Not modified since `If-None-Match` was told: the response has no body.',
};

/** The headers by which a client asks for less than all, of what knows them. What is no such header is ignored. */
function conditionsOf(facts: OperationFacts): Parameter[] {
  const header = (name: string, description: string, pattern: string) => {
    return { name, in: 'header', required: false, description, schema: { type: 'string', pattern } };
  };
  const known = 'An `ETag`, or several: what has none of them is sent, anything else is 304.';
  const range = 'The bytes that are asked for, such as `bytes=0-1023`: 206. What is no range is ignored.';
  return [
    ...(hasSuccess(facts, 304) ? [header('If-None-Match', known, TAGS_PATTERN)] : []),
    ...(hasSuccess(facts, 206) ? [header('Range', range, '^bytes=(?:[0-9]+-[0-9]*|-[0-9]+)$')] : []),
  ];
}

/** What nobody has declared has the status of its method. */
function successesOf({ responses }: Operation, { successes }: OperationFacts): readonly Success[] {
  return successes.length > 0 ? successes : [{ status: Number(Object.keys(responses)[0]) }];
}

function finishSuccess(
  document: OpenAPIObject,
  operation: Operation,
  facts: OperationFacts,
  { status, located, means = SUCCESS[status], gives }: Success,
): void {
  const { idempotent, sorted } = facts;
  const response = (operation.responses[status] ??= { description: '' });
  const media = response.content?.['application/json'];
  const headers: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  if (located) headers.push('Location');
  if ((media && isTagged(facts)) || hasSuccess(facts, 304)) headers.push('ETag');
  if (hasSuccess(facts, 206) && hasBody(status)) headers.push('Accept-Ranges');
  if (status === 206) headers.push('Content-Range');
  if (idempotent) headers.push('Idempotency-Replayed');
  if (media?.schema?.type === 'array') {
    headers.push('Link');
    media.schema = namePage(document, operation, media.schema, sorted);
  }
  if (gives) response.content = givenBy(gives, media);
  giveExample(document, response);
  Object.assign(response, { description: means, headers: headerReferences(headers) });
}

/** The headers of a deprecated operation come with every answer that gets past the guard. */
function finishDeprecated(operation: Operation, sunset: string): void {
  operation['x-deprecated-sunset'] = sunset;
  operation.deprecated = true;
  operation.description = `Will be removed on ${sunset}. ${operation.description ?? ''}`.trim();
  for (const status of ['200', '404', '410']) {
    const response = operation.responses[status];
    if (!response) continue;
    const link = response.headers!.Link && status === '200' ? 'Pages' : 'Successor';
    Object.assign(response.headers!, headerReferences(['Deprecation', 'Sunset', link]));
  }
}

/** How to call an operation with its example and the query that it must have, ready to paste. */
export function codeSamples(
  placed: Placed,
  access: Access,
  document: OpenAPIObject,
  config: Config,
): Sample[] {
  const { path, method, operation } = placed;
  const { parameters = [] } = operation;
  const examples = new Map(
    parameters.map(({ name, schema, example = schema && (exampleIn(document, schema) as string) }) => [
      name,
      encodeURIComponent(example ?? name),
    ]),
  );
  const asked = parameters.filter(({ in: place, required }) => place === 'query' && required);
  const query = asked.map(({ name }) => `${encodeURIComponent(name)}=${examples.get(name)}`).join('&');
  return samplesOf({
    method: method.toUpperCase(),
    url:
      serverOf(placed, config) +
      path.replace(/\{(\w+)\}/g, (_, name) => examples.get(name)!) +
      (query && `?${query}`),
    access,
    ...sentIn(operation.requestBody),
    answers: answersOf(operation),
  });
}

/** The server that an operation is called at: its own, or this one, above the versions if its path includes one. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers
    ?.map(({ url }) => url)
    .find((url) => URL.canParse(url) && !url.startsWith(HERE));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}
