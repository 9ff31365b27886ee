import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { dump } from 'js-yaml';
import type { Config } from '../../../config.js';
import { originOf } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { buildDocument } from './document.js';
import { HERE } from './operations.js';

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Serves the document, built on first use, as JSON and YAML: compressed and cached, unlike the routes of Swagger. */
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
 * A text with the origin that it is requested from. It is compressed and kept for origins of the local machine, and where
 * `BASE_URL` is set, as the text then names no other; not for an origin that a client can make up.
 */
export class DocumentText {
  private text?: string;
  /** By origin: the few local ones, or one entry if the text names none. */
  private readonly contents = new Map<string, StaticContent>();

  constructor(
    private readonly extension: string,
    private readonly write: () => string,
  ) {}

  async send(request: Request, response: Response): Promise<void> {
    const text = (this.text ??= this.write());
    const origin = text.includes(HERE) ? originOf(request) : '';
    const load = () => Buffer.from(text.replaceAll(HERE, () => origin));
    const content = this.contents.get(origin) ?? new StaticContent(this.extension, load);
    const isKept = !origin || isLocal(origin, request);
    if (isKept) this.contents.set(origin, content);
    await content.send(request, response, 'no-cache', isKept);
  }
}

/** `localPort` is undefined once the client has gone. */
function isLocal(origin: string, { socket }: Request): boolean {
  const { protocol, hostname, port } = new URL(origin);
  return protocol === 'http:' && LOCAL.has(hostname) && Number(port || 80) === socket.localPort;
}
