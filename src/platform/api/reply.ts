import { hash } from 'node:crypto';
import { unescape } from 'node:querystring';
import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ApiError } from './api-error.js';
import { type JsonText, type Serializer, serializer } from './dto.js';
import { Declare } from './operation.js';
import type { Page } from './paging.js';
import { refusePart } from './validation.js';
import { aboveVersions, originOf, type RoutedRequest, versionOf } from './request.js';

/** Headers that depend on the answer, such as the `Link` to the next page. */
export class ReplyHeaders {
  constructor(
    private readonly request: RoutedRequest,
    private readonly response: Response,
  ) {}

  /** Returns a page, and links to the next page with all filters (RFC 8288). */
  page<T extends { id: string }>(page: Page<T>): Page<T> {
    const { next } = page;
    if (next !== undefined) {
      const link = `<${addressOf(this.request)}?${withCursor(this.request.url, next)}>; rel="next"`;
      // A deprecated list has linked its successor.
      const earlier = this.response.getHeader('Link');
      this.response.setHeader('Link', earlier === undefined ? link : [earlier, link].flat().join(', '));
    }
    return page;
  }
}

/** Looks at the text of an answer before it is sent, or makes another one. */
type Finish =
  /** @param json what interceptors have made of the value of the method; undefined where that is no JSON */
  (json: JsonText | undefined) => JsonText | undefined | Promise<JsonText | undefined>;

/** A property, because V8 would keep each value of a `WeakMap`, and with it the whole request, until its next full collection. */
const FINISH = Symbol('who looks at the text of an answer');
type Finishing = Response & { [FINISH]?: { readonly status: number; readonly text: Finish } };

/** Passes the text of the answer to `text` before it is sent, if the answer gets this status. */
export function finish(response: Response, status: number, text: Finish): void {
  (response as Finishing)[FINISH] = { status, text };
}

/** What the text of an answer with this status is passed to. */
export function finishOf(response: Response, status: number): Finish | undefined {
  const { [FINISH]: found } = response as Finishing;
  return found?.status === status ? found.text : undefined;
}

/**
 * Sets the tag of an answer, and returns whether the client has this answer (RFC 9110, 13.1.2). The client may store a tagged
 * answer, but must revalidate. Express's `fresh` ignores the tag of a request with `Cache-Control: no-cache`, which `fetch` sends.
 */
export function isFresh({ headers }: Request, response: Response, tag: string): boolean {
  response.setHeader('ETag', tag);
  response.setHeader('Cache-Control', 'private, no-cache');
  const header = headers['if-none-match'] ?? '';
  const tags: string[] = header.match(new RegExp(TAG, 'g')) ?? [];
  return header === '*' || tags.some((sent) => sent.replace('W/', '') === tag);
}

/**
 * Sets the `Location` of an item whose success is `located`: its id under the address of the request; for a PUT, that address.
 * A method may have set another.
 */
export function locate(request: RoutedRequest, response: Response, item: unknown): void {
  const above = addressAbove(request, response);
  if (above !== undefined) response.setHeader('Location', `${above}${(item as { id: string }).id}`);
}

/** What stands before the id in the `Location` of an item; sets a `Location` without an id, and returns undefined. */
export function addressAbove(request: RoutedRequest, response: Response): string | undefined {
  const { located } = request.operation.successes.find(({ status }) => status === response.statusCode) ?? {};
  if (!located || response.hasHeader('Location')) return undefined;
  const address = addressOf(request);
  if (request.method !== 'PUT') return `${address}/`;
  response.setHeader('Location', address);
  return undefined;
}

/** The absolute address of a request without its query: under BASE_URL if set, else under the origin of the request. */
function addressOf(request: Request): string {
  const path = request.path.replace(/\/+$/, '');
  const baseUrl: string | undefined = request.app.locals.baseUrl;
  if (baseUrl) return (versionOf(path) ? aboveVersions(baseUrl) : baseUrl) + path;
  return originOf(request) + path;
}

/** Injects the `ReplyHeaders` of the answer into a controller method. */
export const Reply = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new ReplyHeaders(http.getRequest<RoutedRequest>(), http.getResponse<Response>());
});

const TAG_LENGTH = 22;
/** RFC 9110, 8.8.3; Node maps each byte of a header to a character. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** RFC 9110, 13.1.1 and 5.6.1: a list, which may have empty elements. */
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
/** The stricter form that clients should write, for the document. */
export const TAGS_PATTERN = String.raw`^(?:\*|(?:W/)?"[\x21\x23-\x7e]*"(?:, ?(?:W/)?"[\x21\x23-\x7e]*")*)$`;

/** The strong tag of a representation. */
export function entityTag({ text }: JsonText): string {
  return `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/** The query of a target with this cursor, otherwise as the client has written it. */
function withCursor(target: string, cursor: string): string {
  const start = target.indexOf('?');
  const parts = start < 0 ? [] : target.slice(start + 1).split('&');
  const found = parts.findIndex((part) => unescape(part.split('=', 1)[0]!) === 'cursor');
  parts[found < 0 ? parts.length : found] = `cursor=${cursor}`;
  // `toPath` has escaped all other characters that no URI has (RFC 3986, 2).
  return parts.join('&').replace(/["<>\\^`{|}]/g, encodeURIComponent);
}

/**
 * Sets an `ETag` (RFC 9110, 8.8.3) on every answer of a controller that is one `type`. With `@IfMatch()`, a change can require
 * the state that the client has read.
 */
export function EntityTags(type: Type): ClassDecorator {
  return Declare({ entity: { type, serialize: serializer(type) } });
}

/** The `If-Match` of a request. */
export class Precondition {
  private constructor(
    private readonly tags: readonly string[] | undefined,
    private readonly serialize: Serializer<object>,
  ) {}

  /** @throws ApiError `validation_failed` for an invalid header, with the other problems of the request */
  static of({ headers, operation }: RoutedRequest): Precondition | Promise<never> {
    const header = headers['if-match'];
    if (header !== undefined && header !== '*' && !TAGS.test(header))
      return refusePart('header', ['If-Match must be * or a list of entity tags in double quotes']);
    const tags = header === '*' ? undefined : header?.match(new RegExp(TAG, 'g'));
    return new Precondition(tags ?? undefined, operation.entity!.serialize);
  }

  /**
   * To be called first in the `work` of `changeRow`, under the row lock. The comparison is strong: weak tags never match.
   * @throws ApiError `precondition_failed` for a row whose tag the request does not name
   */
  require(row: object): void {
    if (this.tags?.includes(entityTag(this.serialize(row))) === false)
      throw new ApiError('precondition_failed');
  }
}

const PreconditionOf = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  Precondition.of(context.switchToHttp().getRequest<RoutedRequest>()),
);

/** Injects the `Precondition` of the request into a method that changes or deletes the entity of `@EntityTags`. */
export function IfMatch(): ParameterDecorator {
  return (target, name, index) => {
    const descriptor = Object.getOwnPropertyDescriptor(target, name!)!;
    PreconditionOf()(target, name, index);
    Declare({ conditional: true })(target, name!, descriptor);
    ApiHeader({
      name: 'If-Match',
      description: 'One or several `ETag`s of the state to change: any other state is left unchanged (412).',
      required: false,
      schema: { type: 'string', pattern: TAGS_PATTERN },
    })(target, name!, descriptor);
  };
}
