import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { originOf } from './origin.js';
import type { Page } from './paging.js';
import { aboveVersions, versionOf } from './versions.js';

/** The response headers that depend on the content: `Location` of what was created, `Link` to the next page. */
export class ReplyHeaders {
  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  /** Returns a created item and sets `Location`: its id under the address that it was posted to. */
  created<T extends { id: string }>(item: T): T {
    this.response.setHeader('Location', `${this.address()}/${item.id}`);
    return item;
  }

  /** Returns a page, and links to the next one with every filter kept (RFC 8288). */
  page<T extends { id: string }>(page: Page<T>): Page<T> {
    const { next } = page;
    if (next !== undefined) {
      const query = new URLSearchParams(this.request.query as Record<string, string>);
      query.set('cursor', next);
      this.response.setHeader('Link', `<${this.address()}?${query.toString()}>; rel="next"`);
    }
    return page;
  }

  /** The absolute address of the request without its query: under BASE_URL if that is set, else as it was called. */
  private address(): string {
    const path = this.request.path.replace(/\/+$/, '');
    const baseUrl: string | undefined = this.request.app.locals.baseUrl;
    if (baseUrl) return (versionOf(path) ? aboveVersions(baseUrl) : baseUrl) + path;
    return originOf(this.request) + path;
  }
}

/** Gives a controller method the headers of its answer. */
export const Reply = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new ReplyHeaders(http.getRequest<Request>(), http.getResponse<Response>());
});
