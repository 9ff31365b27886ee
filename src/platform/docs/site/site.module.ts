import { Controller, Get, Injectable, Module, Param, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../../../config.js';
import { Public } from '../../api/index.js';
import { NotFoundPage, StaticContent } from '../../server/index.js';
import { Assets, FRONT_DOOR, type Page, pageHeaders } from './assets.js';

/** The front door for people, and the files of the pages. */
@ApiExcludeController()
@Public()
@Controller({ version: VERSION_NEUTRAL })
class SiteController {
  private readonly frontDoor: StaticContent;

  constructor(
    private readonly assets: Assets,
    private readonly config: Config,
  ) {
    const description = 'Pet Store API: animals, orders and messages over HTTP.';
    const page = () => assets.inShell({ description, content: assets.part('landing.html') }, '');
    this.frontDoor = new StaticContent('html', () => Buffer.from(page()));
  }

  @Get()
  landing(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.set({ ...pageHeaders(this.config), ...FRONT_DOOR });
    return this.frontDoor.send(request, response, 'no-store');
  }

  @Get('assets/:version/:name')
  asset(
    @Param() { version, name }: Record<'version' | 'name', string>,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    return this.assets.send(name, request, response, version);
  }

  /** Browsers request it with anything that is not a page of this service, such as the OpenAPI document. */
  @Get('favicon.ico')
  favicon(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.assets.send('favicon.svg', request, response);
  }
}

const PAGE: Page = {
  title: 'Not found',
  description: 'There is nothing at this address.',
  content: `<main class="lost" id="content">
<h1>There is nothing at this address</h1>
<p class="summary">It may have been mistyped. These are the ways in:</p>
<ul class="cards">
<li><a href="~/"><strong>Front door</strong></a><p>What the service does, and a first request.</p></li>
<li><a href="~/guides"><strong>Guides</strong></a><p>Keys, pages, errors, webhooks: a two-minute read each.</p></li>
<li><a href="~/docs"><strong>Reference</strong></a><p>Every operation, to read and to run.</p></li>
</ul>
<p>Programs get the same answer as JSON, with the code <a href="~/guides/errors#route_not_found"><code>route_not_found</code></a>.</p>
</main>`,
};

/** Deeper addresses are asked for by programs that look for holes: theirs need not work behind a prefix. */
const DEEPEST = 20;

/** For a browser at an address that is unknown, and not one of the interface. */
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
    const root = depth > DEEPEST ? '/' : '../'.repeat(depth);
    response.status(404).vary('Accept').set(pageHeaders(this.config));
    response.type('html').send(this.assets.inShell(PAGE, root));
  }
}

@Module({
  controllers: [SiteController],
  providers: [Assets, { provide: NotFoundPage, useClass: SiteNotFoundPage }],
  exports: [NotFoundPage],
})
export class SiteModule {}
