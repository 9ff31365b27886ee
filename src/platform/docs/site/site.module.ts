import { Injectable, Module } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../../../config.js';
import { NotFoundPage } from '../../http/index.js';
import { Assets, type WebPage, pageHeaders } from './assets.js';

const PAGE: WebPage = {
  title: 'Not found',
  description: 'There is nothing at this address.',
  content: `<main class="lost" id="content">
<h1>There is nothing at this address</h1>
<p class="summary">It may have been mistyped. These are the ways in:</p>
<ul class="cards">
<li><a href="~/"><strong>Front door</strong></a><p>What the service does, and a first request.</p></li>
<li><a href="~/guides"><strong>Guides</strong></a><p>Keys, pages, errors: a two-minute read each.</p></li>
<li><a href="~/reference"><strong>Reference</strong></a><p>Every operation, to read.</p></li>
<li><a href="~/docs"><strong>Swagger UI</strong></a><p>Every operation, to try out.</p></li>
</ul>
<p>Programs get the same answer as JSON, with the code <a href="~/guides/errors#route_not_found"><code>route_not_found</code></a>.</p>
</main>`,
};

/** Deeper addresses are requested by vulnerability scanners: their links need not work behind a prefix. */
const MAX_DEPTH = 20;

/** The page for a browser at an unknown address that is not part of the interface. */
@Injectable()
class SiteNotFoundPage extends NotFoundPage {
  constructor(
    private readonly assets: Assets,
    private readonly config: Config,
  ) {
    super();
  }

  isFor(request: Request): boolean {
    const isInterface = /^\/v\d+(?:\/|$)/.test(request.path);
    return request.method === 'GET' && !isInterface && request.accepts(['json', 'html']) === 'html';
  }

  send({ path }: Request, response: Response): void {
    const depth = path.split('/').length - 2;
    const root = depth > MAX_DEPTH ? '/' : '../'.repeat(depth);
    response.status(404).vary('Accept').set(pageHeaders(this.config));
    response.type('html').send(this.assets.inShell(PAGE, root));
  }
}

@Module({
  providers: [Assets, { provide: NotFoundPage, useClass: SiteNotFoundPage }],
  exports: [NotFoundPage],
})
export class SiteModule {}
