import { Controller, Get, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../config.js';
import { Public } from '../platform/api/operation.js';
import { DemoKey } from './demo-key.js';
import { isLocalVisitor } from './local-visitor.js';

/** Gives the page of Swagger UI a key for first steps. */
@ApiExcludeController()
@Public()
@Controller({ path: 'docs/demo-key', version: VERSION_NEUTRAL })
export class DemoKeyController {
  constructor(
    private readonly demoKey: DemoKey,
    private readonly config: Config,
  ) {}

  /**
   * The demo key, for the page to try operations with. Only this machine gets it, whose terminal shows it anyway: the
   * service may listen on all addresses. It is also withheld if the document names other addresses, to which the page
   * would send it. Anybody else gets 204.
   */
  @Get()
  async demo(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { BASE_URL, STAGING_URL, API_URL } = this.config;
    const isGranted = isLocalVisitor(request) && !BASE_URL && !STAGING_URL && !API_URL;
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    const key = isGranted ? await this.demoKey.find() : undefined;
    if (key) response.json({ key });
    else response.status(204).end();
  }
}
