import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import {
  type Access,
  allErrors,
  ApiError,
  BODY_REFUSALS,
  type ErrorCode,
  factsOf,
  isRaw,
  JSON_TYPE,
  type OperationFacts,
  refuseBody,
  SMALL_JSON,
  type Takes,
} from '../../api/index.js';
import { type Operation, referredTo } from './schemas.js';

const TEXT = { type: 'string' };
const text = (description: string, example: string, schema: object = TEXT) => ({
  description,
  schema,
  example,
});
const always = (description: string, example: string | number, schema: object = TEXT) => ({
  description,
  required: true,
  schema,
  example,
});

const DEPRECATION = ['When the operation was deprecated (RFC 9745)', '@1795219200'] as const;
const SUNSET = ['When the operation is removed (RFC 8594)', 'Thu, 05 Dec 2030 00:00:00 GMT'] as const;
const EARLY = '; absent if the key was refused or the request was not valid HTTP.';
const NEXT = '<http://localhost:3000/v1/pets?limit=20&cursor=YWZ0ZXI6MjA>; rel="next"';

/** The response headers that the document describes. */
export const HEADERS = {
  'X-Request-Id': always(
    'Identifies the request, here and in the logs.',
    '32b5804c-9fa2-45ef-ac83-767ea6d74ac2',
  ),
  Location: always('Address of the created resource.', 'http://localhost:3000/v1/pets/1', {
    type: 'string',
    format: 'uri',
  }),
  ETag: always(
    'Identifies the state of the resource: another state has another tag (RFC 9110, 8.8.3).',
    '"Zm9yIGFuIG9yZGVyIGhlcm"',
  ),
  'Idempotency-Replayed': text(
    '`true` if this repeats the answer to an earlier request with the same `Idempotency-Key`.',
    'true',
    { type: 'string', const: 'true' },
  ),
  RateLimit: text(
    'How many requests are left (`r`), and seconds until the count resets (`t`).',
    '"auth";r=0;t=30',
  ),
  'RateLimit-Policy': text(
    'How many requests (`q`) are allowed within how many seconds (`w`).',
    '"auth";q=20;w=60',
  ),
  Link: text('Address of the next page (`rel="next"`); absent on the last page.', NEXT),
  'WWW-Authenticate': always('The authentication scheme to use.', 'Bearer realm="petstore"'),
  'Retry-After': always('Seconds to wait before trying again.', 1, { type: 'integer', minimum: 1 }),
  Deprecation: always(`${DEPRECATION[0]}.`, DEPRECATION[1]),
  Sunset: always(`${SUNSET[0]}.`, SUNSET[1]),
  EarlyDeprecation: text(DEPRECATION[0] + EARLY, DEPRECATION[1]),
  EarlySunset: text(SUNSET[0] + EARLY, SUNSET[1]),
  Help: always(
    'What the code of the error means, and what to do about it (`rel="help"`).',
    '<http://localhost:3000/guides/errors#bad_request>; rel="help"',
  ),
  Successor: always(
    'The operation to use instead (`rel="successor-version"`); in an error, also the guide on its code (`rel="help"`).',
    '</v1/pets>; rel="successor-version"',
  ),
  Pages: always(
    'The operation to use instead (`rel="successor-version"`); on all pages but the last, also the address of the next page (`rel="next"`).',
    `</v2/pets>; rel="successor-version", ${NEXT}`,
  ),
};

type Header = keyof typeof HEADERS;

export const HEADER_NAMES = [...new Set((Object.keys(HEADERS) as Header[]).map(nameOf))];

/** The headers that the document refers to. */
export function headersIn({ paths }: OpenAPIObject): Partial<typeof HEADERS> {
  const used = referredTo(paths, 'headers');
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => used.has(name)));
}

/** References to headers by their names in a response. */
export function headerReferences(headers: Header[]): Record<string, { $ref: string }> {
  return Object.fromEntries(headers.map((name) => [nameOf(name), { $ref: `#/components/headers/${name}` }]));
}

function nameOf(header: Header): string {
  return ['Successor', 'Help', 'Pages'].includes(header) ? 'Link' : header.replace('Early', '');
}

const EVERYWHERE: ErrorCode[] = [
  'bad_request',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];
const BY_ACCESS: Record<Access, ErrorCode[]> = {
  public: [],
  basic: ['invalid_credentials'],
  bearer: ['missing_api_key', 'invalid_api_key'],
};
/** Further errors if an identity provider is configured. */
const TOKEN_ERRORS = ['invalid_token', 'sign_up_closed', 'permission_denied'] as ErrorCode[];
const WITH_BODY: ErrorCode[] = ['invalid_content_type', 'payload_too_large', 'unsupported_encoding'];

/** The error responses of an operation: declared ones, and those that follow from its properties. */
export function errorResponses(
  operation: Operation,
  facts: OperationFacts,
  config: Config,
): Operation['responses'] {
  const { parameters = [] } = operation;
  const codes: ErrorCode[] = [...EVERYWHERE, ...BY_ACCESS[facts.access]];
  const { takes = SMALL_JSON } = facts;
  if (operation.requestBody && takes.types.includes(JSON_TYPE)) codes.push('invalid_json');
  if (operation.requestBody) codes.push(...WITH_BODY);
  const hasCheckedBody = operation.requestBody && !takes.types.every(isRaw);
  // An unknown `Last-Event-ID` is no error.
  if (hasCheckedBody || parameters.some(({ name }) => name !== 'Last-Event-ID'))
    codes.push('validation_failed');
  if (parameters.some(({ name }) => name === 'cursor')) codes.push('invalid_cursor');
  if (facts.access === 'bearer') codes.push('permission_denied');
  if (facts.access !== 'public' && config.OIDC_ISSUER) codes.push(...TOKEN_ERRORS);
  if (facts.sunset) codes.push('operation_removed');
  const last: ErrorCode[] = [];
  if (facts.idempotent) last.push('idempotency_key_in_use', 'idempotency_key_reused');
  if (facts.conditional) last.push('precondition_failed');
  const usual = (code: ErrorCode) => [code, factsOf(code).status] as const;
  const own = Object.entries(facts.errors) as [ErrorCode, number][];
  const byStatus = Map.groupBy([...codes.map(usual), ...own, ...last.map(usual)], ([, status]) => status);
  return Object.fromEntries(
    Array.from(byStatus, ([status, found]) => [
      status,
      response(status, [...new Set(found.map(([code]) => code))], facts.takes),
    ]),
  );
}

const CODE = 'Machine-readable error code. The [guide on errors](/guides/errors) says what to do about each.';

/** The Error schema, exactly as in the specification. */
const ERROR = {
  type: 'object',
  additionalProperties: false,
  required: ['code', 'message', 'status'],
  properties: {
    code: { $ref: '#/components/schemas/ErrorCode', description: CODE },
    message: { type: 'string', description: 'Human-readable description.' },
    status: { type: 'integer', description: 'The HTTP status code of the response.' },
  },
};

/** The Error schema, its codes, and an example of each error of the operations. */
export function errorComponents(document: OpenAPIObject) {
  const examples = examplesIn(document).map((name) => [
    name,
    { summary: name, value: errorOf(name).toJSON() },
  ]);
  const codes = allErrors().map(([code]) => code);
  const meanings = allErrors().map(([code, { meaning }]) => [code, meaning]);
  return {
    examples: Object.fromEntries(examples),
    schemas: {
      ...document.components?.schemas,
      // The list of codes is open: a client generated before a code was added reads the new code as text.
      ErrorCode: {
        description: errorTable(document),
        anyOf: [
          { type: 'string', enum: codes, 'x-enumDescriptions': Object.fromEntries(meanings) },
          { type: 'string' },
        ],
      },
      Error: ERROR,
    },
  };
}

/** The names of the error examples that operations refer to. */
function examplesIn({ paths }: OpenAPIObject): string[] {
  return [...referredTo(paths, 'examples')].toSorted();
}

/** Returns a function that lists all statuses that operations give to an error code, such as `400 or 404`. */
export function statusesIn(document: OpenAPIObject): (code: ErrorCode) => string {
  const used = examplesIn(document).map(errorOf);
  return (code) => {
    const own = used.flatMap((error) => (error.code === code ? error.getStatus() : []));
    return [...new Set([...own, factsOf(code).status])].toSorted((a, b) => a - b).join(' or ');
  };
}

function errorTable(document: OpenAPIObject): string {
  const statusesOf = statusesIn(document);
  const rows = allErrors().map(([code, { meaning }]) => `| ${statusesOf(code)} | \`${code}\` | ${meaning} |`);
  return ['| Status | Code | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** @param takes the request body, unless it is small JSON: the body errors name its types and size */
function response(status: number, codes: ErrorCode[], takes?: Takes) {
  const names = [...new Set(codes)].map((code) =>
    factsOf(code).status === status ? code : `${code}_${status}`,
  );
  const headers: (keyof typeof HEADERS)[] = ['X-Request-Id', 'Help'];
  if (status === 401) headers.push('WWW-Authenticate');
  if (status === 429 || status === 503) headers.push('Retry-After');
  if (status === 429) headers.push('RateLimit', 'RateLimit-Policy');
  return {
    description: codes.map((code) => `\`${code}\`: ${meaningOf(code, takes)}`).join('\n\n'),
    headers: headerReferences(headers),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(names.map((name) => [name, exampleNamed(name, takes)])),
      },
    },
  };
}

function meaningOf(code: ErrorCode, takes?: Takes): string {
  return takes && isBodyRefusal(code) ? BODY_REFUSALS[code](takes) : factsOf(code).meaning;
}

const isBodyRefusal = (name: string): name is keyof typeof BODY_REFUSALS =>
  Object.hasOwn(BODY_REFUSALS, name);

/** A reference to the example of an error, which most operations share; for a body error, an example of its own. */
function exampleNamed(name: string, takes?: Takes): object {
  if (takes && isBodyRefusal(name)) return { summary: name, value: refuseBody(name, takes).toJSON() };
  return { $ref: `#/components/examples/${name}` };
}

/** The error of an example; `category_not_found_400` names a code and a status other than its usual one. */
function errorOf(name: string): ApiError {
  const [, code, status] = /^(\w+?)(?:_(\d{3}))?$/.exec(name) as unknown as [string, ErrorCode, string?];
  return new ApiError(code, undefined, status ? { status: Number(status) } : {});
}
