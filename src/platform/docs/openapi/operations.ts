import type { OpenAPIObject } from '@nestjs/swagger';
import type { ErrorCode } from '../../api/api-error.js';
import { type Access, MARKS } from '../../api/operation.js';
import type { Config } from '../../../config.js';
import { codeSamples } from './code-samples.js';
import { errorResponses } from './errors.js';
import { type HEADERS, headerReferences } from './headers.js';
import type { Operation, Placed } from './placed.js';
import { exampleFor, namePage, type Schema } from './schemas.js';

interface Tag {
  name: string;
  description: string;
}

interface Marks {
  access: Access;
  errors: Partial<Record<ErrorCode, number>>;
  located: boolean;
  idempotent: boolean;
  tag: Tag;
}

interface Media {
  schema: Schema;
  example?: unknown;
}

const SECURITY: Record<Access, Record<string, string[]>[]> = {
  public: [],
  basic: [{ basicAuth: [] }],
  bearer: [{ bearerAuth: [] }],
};

/** Completes an operation with what its marks and its own shape say, and returns its tag. */
export function finishOperation(placed: Placed, document: OpenAPIObject, config: Config): Tag {
  const { operation } = placed;
  const { access, errors, located, idempotent, tag } = takeMarks(operation);
  operation.security = SECURITY[access];
  for (const parameter of (operation.parameters ?? []) as { schema?: Schema }[]) {
    if (parameter.schema?.type === 'array') Object.assign(parameter, { style: 'form', explode: false });
  }
  giveExample(document, operation.requestBody);
  finishSuccess(document, operation, { located, idempotent });
  if (idempotent) Object.assign(errors, { idempotency_key_in_use: 409, idempotency_key_reused: 422 });
  Object.assign(operation.responses, errorResponses(operation, access, errors));
  if (operation['x-deprecated-sunset']) finishDeprecated(operation);
  operation['x-codeSamples' as never] = codeSamples(placed, access, config) as never;
  return tag;
}

function takeMarks(operation: Operation): Marks {
  const take = (mark: string) => {
    const value = operation[mark as never];
    delete operation[mark as never];
    return value;
  };
  return {
    access: take(MARKS.access) ?? 'bearer',
    errors: take(MARKS.errors) ?? {},
    located: take(MARKS.located) ?? false,
    idempotent: take(MARKS.idempotent) ?? false,
    tag: take(MARKS.tag) ?? { name: '', description: '' },
  };
}

const SUCCESS: Record<string, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted: stored, and dealt with later.',
  204: 'Done. The response has no body.',
};

function finishSuccess(
  document: OpenAPIObject,
  operation: Operation,
  { located, idempotent }: Pick<Marks, 'located' | 'idempotent'>,
): void {
  const [status, response] = Object.entries(operation.responses)[0] as unknown as [
    string,
    Record<string, unknown>,
  ];
  const media = (response.content as Record<string, Media> | undefined)?.['application/json'];
  const headers: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  if (located) headers.push('Location');
  if (idempotent) headers.push('Idempotency-Replayed');
  if (media?.schema.type === 'array') {
    headers.push('Link');
    media.schema = namePage(document, operation.operationId!, media.schema);
  }
  giveExample(document, response);
  Object.assign(response, { description: SUCCESS[status], headers: headerReferences(headers) });
}

function giveExample(document: OpenAPIObject, owner: unknown): void {
  const media = (owner as { content?: Record<string, Media> } | undefined)?.content?.['application/json'];
  if (media) media.example = exampleFor(document, media.schema);
}

/** The headers of a deprecated operation come with every answer that gets past the guard. */
function finishDeprecated(operation: Operation): void {
  operation.deprecated = true;
  operation.description =
    `Will be removed on ${operation['x-deprecated-sunset']}. ${operation.description ?? ''}`.trim();
  for (const status of ['200', '404', '410']) {
    const response = operation.responses[status] as { headers?: object } | undefined;
    if (response) Object.assign(response.headers!, headerReferences(['Deprecation', 'Sunset', 'Successor']));
  }
}
