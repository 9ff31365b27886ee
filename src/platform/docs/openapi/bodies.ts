import type { OpenAPIObject } from '@nestjs/swagger';
import {
  type Content,
  EVENTS_TYPE,
  FORM_TYPE,
  type FormFile,
  type Gives,
  hasBody,
  isRaw,
  JSON_TYPE,
  type OperationFacts,
  sizeText,
  type Takes,
} from '../../api/index.js';
import type { Call } from './call-samples.js';
import {
  type Body,
  exampleFor,
  type Media,
  type OperationObject,
  type SchemaObject,
  schemaOf,
} from './schemas.js';

/** Describes the request body of an operation, with an example of each type that JSON can hold, or else of one type. */
export function finishBody(document: OpenAPIObject, operation: OperationObject, facts: OperationFacts): void {
  const { takes, bodyOptional } = facts;
  if (takes) {
    const { description, content } = operation.requestBody ?? {};
    const bodySchema = content?.[JSON_TYPE]?.schema ?? { type: 'object' };
    operation.requestBody = {
      description: `${description ?? ''} At most ${sizeText(takes.maxBytes)}.`.trim(),
      required: true,
      content: Object.fromEntries(
        takes.types.map((type) => [type, mediaOf(type, takes, bodySchema, document)]),
      ),
      'x-max-bytes': takes.maxBytes,
    };
  }
  giveExample(document, operation.requestBody);
  if (bodyOptional && operation.requestBody) operation.requestBody.required = false;
}

/** Adds the example of the schema to JSON. */
export function giveExample(document: OpenAPIObject, body?: Body): void {
  const media = body?.content?.[JSON_TYPE];
  if (media) media.example = exampleFor(document, media.schema!);
}

function mediaOf(type: string, takes: Takes, bodySchema: SchemaObject, document: OpenAPIObject): Media {
  if (type === JSON_TYPE) return { schema: bodySchema };
  if (type === FORM_TYPE) return formOf(bodySchema, takes.files ?? {}, document);
  const isFirst = type === takes.types.find(isRaw);
  return {
    schema: { ...BINARY, maxLength: takes.maxBytes },
    ...(isFirst ? exampleOf(type, takes.example!) : {}),
  };
}

const BINARY = { type: 'string', format: 'binary' };

/** The media types of an answer, with an example of each type that JSON can hold, or else of one type. */
export function contentOfAnswer(
  { types, example }: Gives,
  json: Media = { schema: {} },
): Record<string, Media> {
  const first = types.find((type) => type !== JSON_TYPE);
  const of = (type: string): Media => ({
    schema: typeof example === 'string' ? { type: 'string' } : BINARY,
    ...(type === first ? exampleOf(type, example!) : {}),
  });
  return Object.fromEntries(types.map((type) => [type, type === JSON_TYPE ? json : of(type)]));
}

/** The kind of answer that a sample shows, of the first success that may have a body; undefined for JSON. */
export function answersOf({ responses }: OperationObject): Call['answers'] {
  const successes = Object.entries(responses).filter(([status]) => hasBody(Number(status)));
  const [type, media] = successes.flatMap(([, { content = {} }]) => Object.entries(content))[0] ?? [];
  if (!media) return 'nothing';
  if (type === JSON_TYPE) return undefined;
  if (type === EVENTS_TYPE) return 'events';
  return media.schema!.format === 'binary' ? 'bytes' : 'text';
}

function formOf(
  bodySchema: SchemaObject,
  files: Readonly<Record<string, FormFile>>,
  document: OpenAPIObject,
): Media {
  const { properties = {}, required = [] } = schemaOf(document, bodySchema);
  const all = Object.entries(files);
  const fileSchemas = all.map(([name, { description, several }]) => [
    name,
    several ? { type: 'array', items: BINARY, description } : { ...BINARY, description },
  ]);
  const examples = all.map(([name, { type, example, several }]) => {
    const address = dataUrl(type, example);
    return [name, several ? [address] : address];
  });
  return {
    schema: {
      type: 'object',
      required: [...required, ...Object.keys(files)],
      properties: { ...properties, ...(Object.fromEntries(fileSchemas) as Record<string, SchemaObject>) },
    },
    encoding: Object.fromEntries(all.map(([name, { type }]) => [name, { contentType: type }])),
    example: { ...(exampleFor(document, bodySchema) as object), ...Object.fromEntries(examples) },
  };
}

/** A text as it is, bytes as a `data:` URL (RFC 2397). Generators of clients would look for an external value as a file. */
function exampleOf(type: string, content: Content): Pick<Media, 'example'> {
  return { example: typeof content === 'string' ? content : dataUrl(type, content) };
}

function dataUrl(type: string, content: Content): string {
  return `data:${type.replace('*', () => 'example')};base64,${Buffer.from(content).toString('base64')}`;
}

/** The example body of a sample: of the first type that has one. */
export function exampleSent(body?: Body): Pick<Call, 'body' | 'content' | 'form'> {
  const all = Object.entries(body?.content ?? {});
  const [type, media] = all.find(([, { example }]) => example !== undefined) ?? [];
  if (!media) return {};
  if (type === JSON_TYPE) return { body: media.example };
  if (type === FORM_TYPE) return { form: fieldsOf(media.example as Record<string, unknown>) };
  const text = media.example as string;
  return { content: contentOf(text) ?? { type: type!.replace('*', () => 'plain'), text } };
}

function contentOf(address: string): { type: string; base64: string } | undefined {
  const [, type, base64] = /^data:([^;]+);base64,(.*)$/.exec(address) ?? [];
  return type === undefined ? undefined : { type, base64: base64! };
}

function fieldsOf(example: Record<string, unknown>): NonNullable<Call['form']> {
  return Object.entries(example).flatMap(([name, value]) =>
    [value].flat().map((item) => {
      const text = String(item);
      return { name, ...(contentOf(text) ?? { text }) };
    }),
  );
}
