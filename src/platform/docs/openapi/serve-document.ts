import { createHash } from 'node:crypto';
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

const CACHE_CONTROL = 'no-cache';

/** Names by which a service is called on its own machine. */
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Serves the document as JSON and as YAML. Swagger's own routes would write and send it in full each time.
 * @returns the document, which is built when it is first needed
 */
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
 * A text that names the address by which it is asked for. For the own machine, and where it names none as `BASE_URL` is set,
 * it is compressed and kept; for any other name, which a client can make up, it is not.
 */
export class DocumentText {
  private text?: string;
  /** By origin, of which there are as many as local names; one for all origins if the text names none. */
  private readonly kept = new Map<string, StaticContent>();

  constructor(
    private readonly extension: string,
    private readonly write: () => string,
  ) {}

  async send(request: Request, response: Response): Promise<void> {
    const text = (this.text ??= this.write());
    const origin = text.includes(HERE) ? originOf(request) : '';
    const placed = () => text.replaceAll(HERE, () => origin);
    if (origin && !isLocal(origin, request)) {
      const body = placed();
      const tag = createHash('sha256').update(body).digest('base64url');
      response.type(this.extension).vary('Accept-Encoding');
      response.set({ 'Cache-Control': CACHE_CONTROL, ETag: `"${tag}"` }).send(body);
      return;
    }
    let content = this.kept.get(origin);
    if (!content) {
      content = new StaticContent(this.extension, () => Buffer.from(placed()));
      this.kept.set(origin, content);
    }
    await content.send(request, response, CACHE_CONTROL);
  }
}

/** The port is not known once the client has gone. */
function isLocal(origin: string, { socket }: Request): boolean {
  const { protocol, hostname, port } = new URL(origin);
  return protocol === 'http:' && LOCAL.has(hostname) && Number(port || 80) === socket.localPort;
}
