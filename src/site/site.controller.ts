import { Controller, Get, Param, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { DemoKey } from '../auth/demo-key.js';
import { Public } from '../common/operation.js';
import { Config } from '../config.js';
import { Assets } from './assets.js';
import { isLocalVisitor } from './local-visitor.js';
import { FRONT_DOOR, pageHeaders } from './page-headers.js';

/** The pages for people: the front door, and Swagger UI. */
@ApiExcludeController()
@Public()
@Controller({ version: VERSION_NEUTRAL })
export class SiteController {
  constructor(
    private readonly assets: Assets,
    private readonly demoKey: DemoKey,
    private readonly config: Config,
  ) {}

  @Get()
  landing(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.set({ ...pageHeaders(this.config), ...FRONT_DOOR });
    return this.assets.sendPage('landing.html', request, response);
  }

  @Get('docs')
  async docs(@Req() request: Request, @Res() response: Response): Promise<void> {
    // The files of the page are found relative to it, so that it also stands behind a proxy that adds a prefix.
    if (request.path.endsWith('/')) return response.redirect(308, '../docs');
    response.set(pageHeaders(this.config));
    await this.assets.sendPage('docs.html', request, response);
  }

  /**
   * The demo key, for the page to try operations with. Only this machine gets it, whose terminal shows it anyway: the
   * service may listen on all addresses. It is also withheld if the document names other addresses, to which the page
   * would send it. Anybody else gets 204.
   */
  @Get('docs/demo-key')
  async demo(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { BASE_URL, STAGING_URL, API_URL } = this.config;
    const isGranted = isLocalVisitor(request) && !BASE_URL && !STAGING_URL && !API_URL;
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    const key = isGranted ? await this.demoKey.find() : undefined;
    if (key) response.json({ key });
    else response.status(204).end();
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
