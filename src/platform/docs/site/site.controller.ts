import { Controller, Get, Param, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../../../config.js';
import { Public } from '../../api/index.js';
import { Assets } from './assets.js';
import { FRONT_DOOR, pageHeaders } from './page-headers.js';

/** The front door for people, and the files of the pages. */
@ApiExcludeController()
@Public()
@Controller({ version: VERSION_NEUTRAL })
export class SiteController {
  constructor(
    private readonly assets: Assets,
    private readonly config: Config,
  ) {}

  @Get()
  landing(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.set({ ...pageHeaders(this.config), ...FRONT_DOOR });
    return this.assets.sendPage('landing.html', request, response);
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
