import { Controller, Get, Injectable, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from 'petstore/platform';
import type { AuthenticatedRequest } from '../platform/api/index.js';
import { bearerKey } from './auth.guard.js';
import { hashSecret, isSecret, newSecret, STARTS } from './secret.js';
import { unauthorized } from './granted.js';

/**
 * The link to Swagger UI that a start prints. Browsers keep addresses in their history, so the link contains a code that is
 * good once, and not the demo key. Only the process that made the code knows it, so there is no link with `WORKERS`.
 */
@Injectable()
export class StartLink {
  private offered?: { hash: Buffer; key: string };

  /** @returns a code for the key, which replaces any earlier code */
  offer(key: string): string {
    const code = newSecret(STARTS);
    this.offered = { hash: hashSecret(code), key };
    return code;
  }

  /** @returns the key for an unused code */
  redeem(code: string): string | undefined {
    if (!isSecret(STARTS, code) || !this.offered?.hash.equals(hashSecret(code))) return undefined;
    const { key } = this.offered;
    this.offered = undefined;
    return key;
  }
}

/** Exchanges the code of a start link for the demo key, for the page at `/docs`. */
@ApiExcludeController()
@Public()
@Controller({ path: 'docs/start', version: VERSION_NEUTRAL })
export class StartLinkController {
  constructor(private readonly link: StartLink) {}

  /** @throws ApiError `missing_api_key`, or `invalid_api_key` for a code that is malformed, used or outdated */
  @Get()
  redeem(@Req() request: AuthenticatedRequest): { key: string } {
    const code = bearerKey(request);
    if (!code) throw unauthorized('missing_api_key');
    const key = this.link.redeem(code);
    if (!key) throw unauthorized('invalid_api_key');
    return { key };
  }
}
