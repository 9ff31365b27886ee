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

  /** Returns the page unchanged; sets a `Link` to the next page, with all filters kept (RFC 8288). */
  page<T extends { id: string }>(page: Page<T>): Page<T> {
    const { next } = page;
    if (next !== undefined) {
      const link = `<${addressOf(this.request)}?${withCursor(this.request.url, next)}>; rel="next"`;
      // On a deprecated list, `applySunset` has set a `Link` to the successor.
      const earlier = this.response.getHeader('Link');
      this.response.setHeader('Link', earlier === undefined ? link : [earlier, link].flat().join(', '));
    }
    return page;
  }
}

/** Inspects or replaces the text of an answer before the answer is sent. */
type Finish =
  /** @param json the method's value, as interceptors have changed it; undefined if the value is not JSON */
  (json: JsonText | undefined) => JsonText | undefined | Promise<JsonText | undefined>;

/** Key of a property, not a `WeakMap`: V8 would keep the map's values, hence whole requests, until the next full collection. */
const FINISH = Symbol('what finishes the text of an answer');
type Finishing = Response & { [FINISH]?: { readonly status: number; readonly text: Finish } };

/** Registers a function that inspects or replaces the text of the answer if the answer gets this status. */
export function finish(response: Response, status: number, text: Finish): void {
  (response as Finishing)[FINISH] = { status, text };
}

/** The function that `finish` has registered for an answer with this status. */
export function finishOf(response: Response, status: number): Finish | undefined {
  const { [FINISH]: found } = response as Finishing;
  return found?.status === status ? found.text : undefined;
}

/**
 * Sets the `ETag` of an answer, and returns whether the client has this answer (RFC 9110, 13.1.2). The client may store it, but
 * must revalidate. Express's `fresh` ignores `If-None-Match` beside `Cache-Control: no-cache`, which `fetch` sends.
 */
export function isFresh({ headers }: Request, response: Response, tag: string): boolean {
  response.setHeader('ETag', tag);
  response.setHeader('Cache-Control', 'private, no-cache');
  const header = headers['if-none-match'] ?? '';
  const tags: string[] = header.match(new RegExp(TAG, 'g')) ?? [];
  return header === '*' || tags.some((sent) => sent.replace('W/', '') === tag);
}

/**
 * Sets the `Location` of an item whose success is `located`: the address of the request, plus the item's id except for a PUT.
 * Keeps a `Location` that the method has set.
 */
export function locate(request: RoutedRequest, response: Response, item: unknown): void {
  const above = addressAbove(request, response);
  if (above !== undefined) response.setHeader('Location', `${above}${(item as { id: string }).id}`);
}

/** The `Location` of an item up to its id; undefined if no id is to follow. For a PUT, sets the whole `Location`. */
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
/** An entity tag (RFC 9110, 8.8.3). Node decodes headers as Latin-1: each byte becomes one character. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** A list of entity tags, which may have empty elements (RFC 9110, 13.1.1 and 5.6.1). */
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
/** The stricter pattern that the OpenAPI document gives to clients. */
export const TAGS_PATTERN = String.raw`^(?:\*|(?:W/)?"[\x21\x23-\x7e]*"(?:, ?(?:W/)?"[\x21\x23-\x7e]*")*)$`;

/** The strong tag of a representation. */
export function entityTag({ text }: JsonText): string {
  return `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/** The query of a request target with its `cursor` set, and otherwise exactly as the client sent it. */
function withCursor(target: string, cursor: string): string {
  const start = target.indexOf('?');
  const parts = start < 0 ? [] : target.slice(start + 1).split('&');
  const found = parts.findIndex((part) => unescape(part.split('=', 1)[0]!) === 'cursor');
  parts[found < 0 ? parts.length : found] = `cursor=${cursor}`;
  // `toPath` has escaped all other characters that are not allowed in a URI (RFC 3986, 2).
  return parts.join('&').replace(/["<>\\^`{|}]/g, encodeURIComponent);
}

/**
 * Sets an `ETag` (RFC 9110, 8.8.3) on each of a controller's answers that is one `type`, not a list. With `@IfMatch()`, a
 * client can make a change conditional on the state that the client has read.
 */
export function EntityTags(type: Type): ClassDecorator {
  return Declare({ entity: { type, serialize: serializer(type) } });
}

/** The `If-Match` header of a request. */
export class Precondition {
  private constructor(
    private readonly tags: readonly string[] | undefined,
    private readonly serialize: Serializer<object>,
  ) {}

  /** @throws ApiError `validation_failed` for an invalid header; also names the request's other problems */
  static of({ headers, operation }: RoutedRequest): Precondition | Promise<never> {
    const header = headers['if-match'];
    if (header !== undefined && header !== '*' && !TAGS.test(header))
      return refusePart('header', ['If-Match must be * or a list of entity tags in double quotes']);
    const tags = header === '*' ? undefined : header?.match(new RegExp(TAG, 'g'));
    return new Precondition(tags ?? undefined, operation.entity!.serialize);
  }

  /**
   * Call this first in the `work` of `FastRepository.changeRow`, under the row lock. Compares strongly: weak tags never match.
   * @throws ApiError `precondition_failed` if `If-Match` does not name the row's tag
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
      description:
        'One or several `ETag`s. The change is made only if one of them is the current `ETag`; otherwise 412.',
      required: false,
      schema: { type: 'string', pattern: TAGS_PATTERN },
    })(target, name!, descriptor);
  };
}
