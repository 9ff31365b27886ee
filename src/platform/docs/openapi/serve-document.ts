import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Express } from 'express';
import { dump } from 'js-yaml';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../../config.js';
import { originOf } from '../../api/origin.js';
import { StaticContent } from '../../server/static-content.js';
import { buildDocument } from './document.js';
import { HERE } from './placed.js';

/** Names by which a service is usually called; a document takes 200 kB in all its codings. */
const ORIGINS = 8;

/**
 * Serves the document as JSON and as YAML. Swagger's own routes would write and send it in full each time.
 * @returns the document, which is built when it is first needed
 */
export function serveDocument(app: NestExpressApplication, config: Config): () => OpenAPIObject {
  let document: OpenAPIObject | undefined;
  const build = () => (document ??= buildDocument(app, config));
  serve(app, 'json', () => JSON.stringify(build()));
  serve(app, 'yaml', () => dump(build(), { skipInvalid: true, noRefs: true }));
  return build;
}

function serve(app: NestExpressApplication, extension: string, write: () => string): void {
  let text: string | undefined;
  const contents = new LRUCache<string, StaticContent>({
    max: ORIGINS,
    memoMethod: (origin) =>
      new StaticContent(extension, () => Buffer.from((text ??= write()).replaceAll(HERE, origin))),
  });
  const express: Express = app.getHttpAdapter().getInstance();
  express.get(`/openapi.${extension}`, (request, response) =>
    contents.memo(originOf(request)).send(request, response, 'no-cache'),
  );
}
