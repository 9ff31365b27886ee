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
import { type Body, exampleFor, type Media, type Operation, type Schema, schemaOf } from './schemas.js';

/** Says what an operation takes, with an example: of each type where JSON can hold one, else of one. */
export function finishBody(document: OpenAPIObject, operation: Operation, facts: OperationFacts): void {
  const { takes, bodyOptional } = facts;
  if (takes) {
    const { description, content } = operation.requestBody ?? {};
    const ofClass = content?.[JSON_TYPE]?.schema ?? { type: 'object' };
    operation.requestBody = {
      description: `${description ?? ''} At most ${sizeText(takes.maxBytes)}.`.trim(),
      required: true,
      content: Object.fromEntries(takes.types.map((type) => [type, mediaOf(type, takes, ofClass, document)])),
      'x-max-bytes': takes.maxBytes,
    };
  }
  giveExample(document, operation.requestBody);
  if (bodyOptional && operation.requestBody) operation.requestBody.required = false;
}

/** Gives JSON its example, which its schema has. */
export function giveExample(document: OpenAPIObject, body?: Body): void {
  const media = body?.content?.[JSON_TYPE];
  if (media) media.example = exampleFor(document, media.schema!);
}

function mediaOf(type: string, takes: Takes, ofClass: Schema, document: OpenAPIObject): Media {
  if (type === JSON_TYPE) return { schema: ofClass };
  if (type === FORM_TYPE) return formOf(ofClass, takes.files!, document);
  const isFirst = type === takes.types.find(isRaw);
  return {
    schema: { ...BINARY, maxLength: takes.maxBytes },
    ...(isFirst ? shown(type, takes.example!) : {}),
  };
}

const BINARY = { type: 'string', format: 'binary' };

/** What an operation gives, by its types, with an example of each where JSON can hold one, else of one. */
export function givenBy({ types, example }: Gives, ofClass?: Media): Record<string, Media> {
  const first = types.find((type) => type !== JSON_TYPE);
  const of = (type: string): Media => ({
    schema: typeof example === 'string' ? { type: 'string' } : BINARY,
    ...(type === first ? shown(type, example!) : {}),
  });
  return Object.fromEntries(types.map((type) => [type, type === JSON_TYPE ? ofClass! : of(type)]));
}

/** What a sample shows of an answer, of the first success that may have a body; that of JSON when undefined. */
export function answersOf({ responses }: Operation): Call['answers'] {
  const successes = Object.entries(responses).filter(([status]) => hasBody(Number(status)));
  const [type, media] = successes.flatMap(([, { content = {} }]) => Object.entries(content))[0] ?? [];
  if (!media) return 'nothing';
  if (type === JSON_TYPE) return undefined;
  if (type === EVENTS_TYPE) return 'events';
  return media.schema!.format === 'binary' ? 'bytes' : 'text';
}

/** A form: the fields of its class, which are texts, and its files. */
function formOf(ofClass: Schema, files: Readonly<Record<string, FormFile>>, document: OpenAPIObject): Media {
  const { properties = {}, required = [] } = schemaOf(document, ofClass);
  const all = Object.entries(files);
  const ofFiles = all.map(([name, { description, several }]) => [
    name,
    several ? { type: 'array', items: BINARY, description } : { ...BINARY, description },
  ]);
  const examples = all.map(([name, { type, example, several }]) => {
    const address = dataAddress(type, example);
    return [name, several ? [address] : address];
  });
  return {
    schema: {
      type: 'object',
      required: [...required, ...Object.keys(files)],
      properties: { ...properties, ...(Object.fromEntries(ofFiles) as Record<string, Schema>) },
    },
    encoding: Object.fromEntries(all.map(([name, { type }]) => [name, { contentType: type }])),
    example: { ...(exampleFor(document, ofClass) as object), ...Object.fromEntries(examples) },
  };
}

/**
 * An example of what is no JSON: a text as it is, and bytes as an address that has them in it (RFC 2397). As an external value,
 * generators of clients would look for it among their files.
 */
function shown(type: string, content: Content): Pick<Media, 'example'> {
  return { example: typeof content === 'string' ? content : dataAddress(type, content) };
}

function dataAddress(type: string, content: Content): string {
  return `data:${type.replace('*', () => 'example')};base64,${Buffer.from(content).toString('base64')}`;
}

/** What a sample sends as the example of a body: of the first type that has one. */
export function sentIn(body?: Body): Pick<Call, 'body' | 'content' | 'form'> {
  const all = Object.entries(body?.content ?? {});
  const [type, media] = all.find(([, one]) => one.example !== undefined) ?? [];
  if (!media) return {};
  if (type === JSON_TYPE) return { body: media.example };
  if (type === FORM_TYPE) return { form: fieldsOf(media.example as Record<string, unknown>) };
  const text = media.example as string;
  return { content: contentAt(text) ?? { type: type!.replace('*', () => 'plain'), text } };
}

function contentAt(address: string): { type: string; base64: string } | undefined {
  const [, type, base64] = /^data:([^;]+);base64,(.*)$/.exec(address) ?? [];
  return type === undefined ? undefined : { type, base64: base64! };
}

function fieldsOf(example: Record<string, unknown>): NonNullable<Call['form']> {
  return Object.entries(example).flatMap(([name, value]) =>
    [value].flat().map((one) => {
      const text = String(one);
      return { name, ...(contentAt(text) ?? { text }) };
    }),
  );
}
