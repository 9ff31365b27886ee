import { createHash } from 'node:crypto';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { dump } from 'js-yaml';
import type { Config } from '../../../config.js';
import { originOf } from '../../api/index.js';
import { StaticContent } from '../../server/index.js';
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
  serve(app, 'json', () => JSON.stringify(build()));
  serve(app, 'yaml', () => dump(build(), { skipInvalid: true, noRefs: true }));
  return build;
}

function serve(app: NestExpressApplication, extension: string, write: () => string): void {
  let template: Template | undefined;
  app
    .get(HttpAdapterHost)
    .httpAdapter.get(`/openapi.${extension}`, (request: Request, response: Response) => {
      template ??= new Template(extension, write());
      return template.send(request, response);
    });
}

/**
 * A text that may name the address by which it is asked for. One that does not, as BASE_URL is set, and those for the own
 * machine are compressed and kept. For any other name, which a client can make up, nothing is: the parts of the text,
 * which all answers share, are sent as they are, with the address between them.
 */
class Template {
  private readonly parts: readonly Buffer[];
  private readonly tag: string;
  /** By origin, of which there are as many as local names; one for all origins if the text names none. */
  private readonly kept = new Map<string, StaticContent>();

  constructor(
    private readonly extension: string,
    text: string,
  ) {
    this.parts = text.split(HERE).map((part) => Buffer.from(part));
    this.tag = createHash('sha256').update(text).digest('base64url');
  }

  async send(request: Request, response: Response): Promise<void> {
    const origin = this.parts.length > 1 ? originOf(request) : '';
    if (origin && !isLocal(origin, request)) return this.sendParts(origin, request, response);
    let content = this.kept.get(origin);
    if (!content) {
      content = new StaticContent(this.extension, () => Buffer.concat(this.placed(origin)));
      this.kept.set(origin, content);
    }
    return content.send(request, response, CACHE_CONTROL);
  }

  private sendParts(origin: string, request: Request, response: Response): void {
    const pieces = this.placed(origin);
    const tag = createHash('sha256').update(this.tag).update(origin).digest('base64url');
    response
      .type(this.extension)
      .vary('Accept-Encoding')
      .set({ 'Cache-Control': CACHE_CONTROL, ETag: `"${tag}"` });
    if (request.fresh) return void response.status(304).send();
    response.set('Content-Length', String(pieces.reduce((sum, { length }) => sum + length, 0)));
    if (request.method !== 'HEAD') for (const piece of pieces) response.write(piece);
    response.end();
  }

  private placed(origin: string): Buffer[] {
    const here = Buffer.from(origin);
    return this.parts.flatMap((part, i) => (i === 0 ? [part] : [here, part]));
  }
}

/** The port is not known once the client has gone. */
function isLocal(origin: string, { socket }: Request): boolean {
  const { protocol, hostname, port } = new URL(origin);
  return protocol === 'http:' && LOCAL.has(hostname) && Number(port || 80) === socket.localPort;
}
