import { hash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext, StreamableFile, type Type } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ApiError } from './api-error.js';
import { type JsonText, type Serializer, serializer } from './dto.js';
import { Declare, hasSuccess, type OperationFacts } from './operation.js';
import type { Page } from './paging.js';
import { refusePart } from './validation.js';
import { aboveVersions, originOf, type RoutedRequest, versionOf } from './request.js';

/** A row that was put under a key, and whether it was not there before. */
export interface Put<Row> {
  readonly row: Row;
  readonly isCreated: boolean;
}

/** What is said of a file beside its bytes. */
export interface FileFacts {
  /** Its media type, where the operation has several. */
  readonly type?: string;
  /** `Content-Disposition`. */
  readonly disposition?: string;
  /** A text that is another for each content, such as a hash that is stored with it; made of the bytes when left out. */
  readonly tag?: string;
}

/** The headers of an answer that depend on its content: `Location` of what was created, `Link` to the next page, `ETag` of a file. */
export class ReplyHeaders {
  constructor(
    private readonly request: RoutedRequest,
    private readonly response: Response,
  ) {}

  /** Returns a created item and sets `Location`: its id under the address that it was posted to. */
  created<T extends { id: string }>(item: T): T {
    this.response.setHeader('Location', `${addressOf(this.request)}/${item.id}`);
    return item;
  }

  /** Returns what was put at the address of the request; with 201, and that as `Location`, if it was not there before. */
  put<T>({ row, isCreated }: Put<T>): T {
    if (isCreated) this.response.status(201).setHeader('Location', addressOf(this.request));
    return row;
  }

  /** Returns a page, and links to the next one with every filter kept (RFC 8288). */
  page<T extends { id: string }>(page: Page<T>): Page<T> {
    const { next } = page;
    if (next !== undefined) {
      const query = new URLSearchParams(this.request.query as Record<string, string>);
      query.set('cursor', next);
      const link = `<${addressOf(this.request)}?${query.toString()}>; rel="next"`;
      // A list that will be gone names its successor, too.
      const others = this.response.getHeader('Link');
      this.response.setHeader('Link', others === undefined ? link : [others, link].flat().join(', '));
    }
    return page;
  }

  /**
   * Returns a file that is in memory. Where its operation has the success 304, whoever has the file already is told so
   * (`If-None-Match`), and nothing is returned; where it has 206, whoever asks for one range of bytes gets that (RFC 9110, 13
   * and 14). A file on disk is `response.sendFile` of Express, which does the same.
   * @throws ApiError `range_not_satisfiable` for a range that begins behind its end
   */
  file(bytes: Uint8Array, { tag = digestOf(bytes), ...facts }: FileFacts = {}): StreamableFile | undefined {
    const { request, response } = this;
    if (hasSuccess(request.operation, 304) && isKnown(request, response, `"${tag}"`)) {
      response.status(304);
      return undefined;
    }
    const part = hasSuccess(request.operation, 206) ? this.part(bytes.length, `"${tag}"`) : undefined;
    const sent = part ? bytes.subarray(part.start, part.end + 1) : bytes;
    return new StreamableFile(sent, { ...facts, length: sent.length });
  }

  /** The part that is asked for; none where that is all, several ranges or what is no range. */
  private part(length: number, tag: string): { start: number; end: number } | undefined {
    const { request, response } = this;
    response.setHeader('Accept-Ranges', 'bytes');
    const asked = request.get('If-Range') ?? tag;
    if (request.method !== 'GET' || asked !== tag) return undefined;
    const ranges = request.range(length, { combine: true });
    if (ranges === -1)
      throw new ApiError('range_not_satisfiable', undefined, {
        headers: { 'Content-Range': `bytes */${length}` },
      });
    if (!Array.isArray(ranges) || ranges.type !== 'bytes' || ranges.length > 1) return undefined;
    const { start, end } = ranges[0]!;
    response.status(206).setHeader('Content-Range', `bytes ${start}-${end}/${length}`);
    return { start, end };
  }
}

/**
 * Gives an answer its tag, and says whether its client has that already (RFC 9110, 13.1.2). It may be kept then, if it is asked
 * for each time: other answers may not. Express's `fresh` says no to `fetch`, which sends `Cache-Control: no-cache` along.
 */
export function isKnown({ headers }: Request, response: Response, tag: string): boolean {
  response.setHeader('ETag', tag);
  response.setHeader('Cache-Control', 'private, no-cache');
  const known = headers['if-none-match'] ?? '';
  return (
    known === '*' || (known.match(new RegExp(TAG, 'g')) ?? []).some((one) => one.replace('W/', '') === tag)
  );
}

/** The absolute address of a request without its query: under BASE_URL if that is set, else as it was called. */
export function addressOf(request: Request): string {
  const path = request.path.replace(/\/+$/, '');
  const baseUrl: string | undefined = request.app.locals.baseUrl;
  if (baseUrl) return (versionOf(path) ? aboveVersions(baseUrl) : baseUrl) + path;
  return originOf(request) + path;
}

/** Gives a controller method the headers of its answer. */
export const Reply = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new ReplyHeaders(http.getRequest<RoutedRequest>(), http.getResponse<Response>());
});

const TAG_LENGTH = 22;
/** RFC 9110, 8.8.3; Node gives each byte of a header as one character. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** RFC 9110, 13.1.1 and 5.6.1: a list, in which some elements may be empty. */
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
/** The same for the document, as clients write it. */
export const TAGS_PATTERN = String.raw`^(?:\*|(?:W/)?"[\x21\x23-\x7e]*"(?:, ?(?:W/)?"[\x21\x23-\x7e]*")*)$`;

/** The strong tag of a representation: another one has another. */
export function entityTag({ text }: JsonText): string {
  return `"${digestOf(text)}"`;
}

function digestOf(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, TAG_LENGTH);
}

/**
 * Gives every answer of a controller that is one `type` an `ETag` (RFC 9110, 8.8.3), which is another whenever the answer
 * is, so that a change can ask by `@IfMatch()` for the state that the client knows.
 */
export function EntityTags(type: Type): ClassDecorator {
  return Declare({ entity: { type, serialize: serializer(type) } });
}

/** Whether the answers of an operation have an `ETag`. */
export function isTagged(operation: OperationFacts): boolean {
  const { entity, returns, isList } = operation;
  return (entity !== undefined && entity.type === returns && !isList) || hasSuccess(operation, 304);
}

/** What a request asks of the state of what it changes. */
export class Precondition {
  private constructor(
    private readonly tags: readonly string[] | undefined,
    private readonly serialize: Serializer<object>,
  ) {}

  /** @throws ApiError `validation_failed` for a header that is no list of tags, with what else is wrong */
  static of({ headers, operation }: RoutedRequest): Precondition | Promise<never> {
    const header = headers['if-match'];
    if (header !== undefined && header !== '*' && !TAGS.test(header))
      return refusePart('header', ['If-Match must be * or a list of entity tags in double quotes']);
    const tags = header === '*' ? undefined : header?.match(new RegExp(TAG, 'g'));
    return new Precondition(tags ?? undefined, operation.entity!.serialize);
  }

  /**
   * Call it first in the `work` of `changeRow`, when nobody else can change the row any more. Tags are compared strongly:
   * weak ones match nothing.
   * @throws ApiError `precondition_failed` for a state that the request does not name
   */
  require(row: object): void {
    if (this.tags?.includes(entityTag(this.serialize(row))) === false)
      throw new ApiError('precondition_failed');
  }
}

const PreconditionOf = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  Precondition.of(context.switchToHttp().getRequest<RoutedRequest>()),
);

/** Gives a method that changes or removes what `@EntityTags` of its controller tags the precondition of the request. */
export function IfMatch(): ParameterDecorator {
  return (target, name, index) => {
    const descriptor = Object.getOwnPropertyDescriptor(target, name!)!;
    PreconditionOf()(target, name, index);
    Declare({ conditional: true })(target, name!, descriptor);
    ApiHeader({
      name: 'If-Match',
      description:
        'The `ETag` of the state that is to be changed, or several: any other is left as it is (412).',
      required: false,
      schema: { type: 'string', pattern: TAGS_PATTERN },
    })(target, name!, descriptor);
  };
}
