import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { dump } from 'js-yaml';
import type { Config } from '../../../config.js';
import { originOf } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { buildDocument } from './document.js';
import { HERE } from './finish-operation.js';

/** Serves the document, built on first use, as JSON and YAML. */
export function serveDocument(app: NestExpressApplication, config: Config): () => OpenAPIObject {
  let document: OpenAPIObject | undefined;
  const build = () => (document ??= buildDocument(app, config));
  const { httpAdapter } = app.get(HttpAdapterHost);
  const json = new DocumentText('json', () => JSON.stringify(build()));
  const yaml = new DocumentText('yaml', () => dump(build(), { skipInvalid: true, noRefs: true }));
  for (const [extension, text] of Object.entries({ json, yaml }))
    httpAdapter.get(`/openapi.${extension}`, (request: Request, response: Response) =>
      text.send(request, response),
    );
  return build;
}

/**
 * A text with the origin that it is requested from. It is compressed and kept where `BASE_URL` is set, as the text then names
 * no other origin; not for an origin that a client can make up.
 */
class DocumentText {
  private text?: string;
  private kept?: StaticContent;

  constructor(
    private readonly extension: string,
    private readonly write: () => string,
  ) {}

  async send(request: Request, response: Response): Promise<void> {
    const text = (this.text ??= this.write());
    const at = (origin: string) =>
      new StaticContent(this.extension, () => Buffer.from(text.replaceAll(HERE, () => origin)));
    if (text.includes(HERE)) await at(originOf(request)).send(request, response, 'no-cache', false);
    else await (this.kept ??= at('')).send(request, response, 'no-cache');
  }
}
