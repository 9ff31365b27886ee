import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Express } from 'express';
import type { Config } from '../../../config.js';
import { StaticContent } from '../../server/index.js';
import { Assets } from './assets.js';
import { escape } from './markdown.js';
import { type NamedOperation, operationsOf } from './operation-links.js';
import { pageHeaders } from './page-headers.js';
import { withoutSlash } from './serve-guides.js';

/** Serves the reference, which lists the operations before Swagger UI has come. */
export function serveDocs(app: NestExpressApplication, config: Config, document: () => OpenAPIObject): void {
  const write = () => app.get(Assets).page('docs.html', { operations: listOf(document()) }, '');
  const content = new StaticContent('html', () => Buffer.from(write()));
  const express: Express = app.getHttpAdapter().getInstance();
  // The files of the page are found relative to it, so that it also stands behind a proxy that adds a prefix.
  express.get('/docs', withoutSlash, (request, response) =>
    content.send(request, response.set(pageHeaders(config)), 'no-store'),
  );
}

/** Links to the operations under their tags, in the order of the reference, and to the errors. */
function listOf(document: OpenAPIObject): string {
  const byTag = Map.groupBy(operationsOf(document), ({ tag }) => tag);
  const tags = (document.tags ?? []).map(
    ({ name }) =>
      `<li><strong>${escape(name)}</strong><ul>${byTag.get(name)?.map(toLink).join('')}</ul></li>`,
  );
  return `<ul>${tags.join('\n')}\n<li><a href="docs#errors">Error codes</a></li></ul>`;
}

/** With the name of the page: Swagger UI takes links that begin with `#` for its own. */
function toLink({ name, summary, address }: NamedOperation): string {
  return `<li><a href="${escape(address)}" title="${escape(name)}">${escape(summary)}</a></li>`;
}
