import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { dump } from 'js-yaml';
import type { Config } from '../../../config.js';
import { originOf } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { buildDocument } from './document.js';
import { HERE } from './schemas.js';

/**
 * Serves the document, built on first use, as JSON and YAML. If `BASE_URL` and `STAGING_URL` are set, the text is compressed
 * and cached. Otherwise, the text contains the origin of the request, which a client can make up, so the text is not cached.
 */
export function serveDocument(app: NestExpressApplication, config: Config): () => OpenAPIObject {
  let document: OpenAPIObject | undefined;
  const build = () => (document ??= buildDocument(app, config));
  const { httpAdapter } = app.get(HttpAdapterHost);
  const serve = (extension: string, write: () => string) => {
    let text: string | undefined;
    const at = (origin: string) =>
      new StaticContent(extension, () => Buffer.from(text!.replaceAll(HERE, () => origin)));
    const kept = at('');
    httpAdapter.get(`/openapi.${extension}`, (request: Request, response: Response) => {
      text ??= write();
      if (!text.includes(HERE)) return kept.send(request, response, 'no-cache');
      return at(originOf(request)).send(request, response, 'no-cache', false);
    });
  };
  serve('json', () => JSON.stringify(build()));
  serve('yaml', () => dump(build(), { skipInvalid: true, noRefs: true }));
  return build;
}
