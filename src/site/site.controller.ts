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
  landing(@Res() response: Response): void {
    response.set({ ...pageHeaders(this.config), ...FRONT_DOOR });
    this.assets.sendPage('landing.html', response);
  }

  @Get('docs')
  docs(@Req() { path }: Request, @Res() response: Response): void {
    // The files of the page are found relative to it, so that it also stands behind a proxy that adds a prefix.
    if (path.endsWith('/')) return response.redirect(308, '../docs');
    response.set(pageHeaders(this.config));
    this.assets.sendPage('docs.html', response);
  }

  /**
   * The demo key, for the page to try operations with. It is told to this machine alone, where it stands in the
   * terminal anyway: the service may listen on all addresses. Neither is it told where the document has addresses of
   * its own, as the page would send it there. Anybody else gets 204.
   */
  @Get('docs/demo-key')
  async demo(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { BASE_URL, STAGING_URL, API_URL } = this.config;
    const isTold = isLocalVisitor(request) && !BASE_URL && !STAGING_URL && !API_URL;
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    const key = isTold ? await this.demoKey.find() : undefined;
    if (key) response.json({ key });
    else response.status(204).end();
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    this.assets.send(name, response);
  }
}
