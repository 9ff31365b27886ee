import { Controller, Get, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from 'petstore/platform';
import type { AuthenticatedRequest } from '../platform/api/index.js';
import { bearerKey } from './auth.guard.js';
import { StartLink } from './start-link.js';
import { unauthorized } from './unauthorized.js';

/** Exchanges the code of a start link for the demo key, for the page at `/docs`. */
@ApiExcludeController()
@Public()
@Controller({ path: 'docs/start', version: VERSION_NEUTRAL })
export class StartLinkController {
  constructor(private readonly link: StartLink) {}

  /** @throws ApiError `missing_api_key`, or `invalid_api_key` for a code that is malformed, used or outdated */
  @Get()
  async redeem(@Req() request: AuthenticatedRequest): Promise<{ key: string }> {
    const code = bearerKey(request);
    if (!code) throw unauthorized('missing_api_key');
    const key = await this.link.redeem(code);
    if (!key) throw unauthorized('invalid_api_key');
    return { key };
  }
}
