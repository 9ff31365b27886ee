import type { OpenAPIObject } from '@nestjs/swagger';
import {
  type Access,
  allErrors,
  ApiError,
  type ErrorCode,
  factsOf,
  type OperationFacts,
} from '../../api/index.js';
import { headerReferences, HEADERS } from './headers.js';
import type { Operation } from './placed.js';

type Errors = Partial<Record<ErrorCode, number>>;

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
const WITH_BODY: ErrorCode[] = [
  'invalid_json',
  'invalid_content_type',
  'payload_too_large',
  'unsupported_encoding',
];

/** The error responses of an operation: its own, and those that follow from its properties. */
export function errorResponses(operation: Operation, facts: OperationFacts): Operation['responses'] {
  const parameters = (operation.parameters ?? []) as { name: string }[];
  const codes: ErrorCode[] = [...EVERYWHERE, ...BY_ACCESS[facts.access]];
  if (operation.requestBody) codes.push(...WITH_BODY);
  if (operation.requestBody || parameters.length > 0) codes.push('validation_failed');
  if (parameters.some(({ name }) => name === 'cursor')) codes.push('invalid_cursor');
  if (facts.access === 'bearer') codes.push('permission_denied');
  if (facts.sunset) codes.push('operation_removed');
  const all = [...codes.map((code) => [code, factsOf(code).status] as const), ...entries(facts.errors)];
  const byStatus = Object.groupBy(all, ([, status]) => status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, found]) => [
      status,
      response(
        Number(status),
        found!.map(([code]) => code),
      ),
    ]),
  );
}

const CODE = 'Machine-readable error code. The [guide on errors](/guides/errors) says what to do about each.';

/** The specification's Error, exactly. */
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

/** The Error schema, its codes, and an example of each error that some operation has. */
export function errorComponents(document: OpenAPIObject) {
  const used = new Set(JSON.stringify(document.paths).match(/(?<=#\/components\/examples\/)\w+/g));
  const examples = [...used].toSorted().map((name) => [name, { summary: name, value: exampleOf(name) }]);
  const codes = allErrors().map(([code]) => code);
  const meanings = allErrors().map(([code, { meaning }]) => [code, meaning]);
  return {
    examples: Object.fromEntries(examples),
    schemas: {
      ...document.components?.schemas,
      // Open: a client that was made before a code was added reads it as text.
      ErrorCode: {
        description: errorTable(),
        anyOf: [
          { type: 'string', enum: codes, 'x-enumDescriptions': Object.fromEntries(meanings) },
          { type: 'string' },
        ],
      },
      Error: ERROR,
    },
  };
}

/** Every code with its usual status and its meaning, as a table in Markdown. */
function errorTable(): string {
  const rows = allErrors().map(([code, { status, meaning }]) => `| ${status} | \`${code}\` | ${meaning} |`);
  return ['| Status | Code | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

function response(status: number, codes: ErrorCode[]) {
  const names = [...new Set(codes)].map((code) =>
    factsOf(code).status === status ? code : `${code}_${status}`,
  );
  const headers: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  if (status === 401) headers.push('WWW-Authenticate');
  if (status === 429 || status === 503) headers.push('Retry-After');
  if (status === 429) headers.push('RateLimit', 'RateLimit-Policy');
  return {
    description: codes.map((code) => `\`${code}\`: ${factsOf(code).meaning}`).join('\n\n'),
    headers: headerReferences(headers),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }])),
      },
    },
  };
}

/** The Error that an example shows; `category_not_found_400` is a code with a status other than its usual one. */
function exampleOf(name: string) {
  const [, code, status] = /^(\w+?)(?:_(\d{3}))?$/.exec(name) as unknown as [string, ErrorCode, string?];
  return new ApiError(code, undefined, status ? { status: Number(status) } : {}).toJSON();
}

function entries(errors: Errors): (readonly [ErrorCode, number])[] {
  return Object.entries(errors) as [ErrorCode, number][];
}
