import type { MediaTypeObject, OpenAPIObject, RequestBodyObject } from '@nestjs/swagger';
import {
  EVENTS_TYPE,
  type Gives,
  hasBody,
  isRaw,
  JSON_TYPE,
  type OperationFacts,
  sizeText,
} from '../../api/index.js';
import type { Call } from './call-samples.js';
import { exampleFor, type Operation, type Schema } from './schemas.js';

type Content = Record<string, MediaTypeObject>;

/** Describes the request body of an operation, with its examples. */
export function finishBody(document: OpenAPIObject, operation: Operation, facts: OperationFacts): void {
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

/** A body that no class describes, which may stand beside one of JSON. */
function rawOf({ schema, ...given }: MediaTypeObject, maxLength: number): MediaTypeObject {
  const { type, example } = schema as Schema;
  return type === 'string'
    ? { ...given, schema: { ...schema, maxLength }, example }
    : { schema: { ...BINARY, maxLength } };
}

/** Adds the example of the schema to JSON and to forms. */
export function giveExamples(document: OpenAPIObject, body?: { content?: Content }): void {
  for (const [type, media] of Object.entries(body?.content ?? {}))
    if (!isRaw(type)) media.example ??= exampleFor(document, media.schema!);
}

/** The media types of an answer, as Swagger's decorators describe them. */
export function contentOfAnswer({ types }: Gives, given: Content = {}): Content {
  const otherwise = (type: string) => {
    if (type === JSON_TYPE) return { schema: {} };
    return { schema: type.startsWith('text/') ? { type: 'string' } : BINARY };
  };
  return Object.fromEntries(types.map((type) => [type, given[type] ?? otherwise(type)]));
}

/** The kind of answer that a sample shows, of the first success that may have a body; undefined for bytes. */
export function answersOf({ responses }: Operation): Call['answers'] | undefined {
  const successes = Object.entries(responses).filter(([status]) => hasBody(Number(status)));
  const [type] = successes.flatMap(([, { content = {} }]) => Object.keys(content));
  if (type === undefined) return 'nothing';
  if (type === JSON_TYPE) return 'json';
  if (type === EVENTS_TYPE) return 'events';
  return type.startsWith('text/') ? 'text' : undefined;
}
