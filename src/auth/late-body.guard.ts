import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { parse as parseBasic } from 'basic-auth';
import type { Response } from 'express';
import { ApiError } from 'petstore/platform';
import type { AuthenticatedRequest } from '../platform/api/index.js';
import { AccountsService } from './accounts.service.js';
import { admit, bearerKey } from './admitted.js';
import { KeyOwners } from './key-owners.js';
import { requesterOf } from './limit-subjects.js';
import { unauthorized } from './unauthorized.js';

/**
 * Looks again at the key or password of a request whose body came late: it may have been revoked or changed meanwhile, or
 * the account closed.
 */
@Injectable()
export class LateBodyGuard implements CanActivate {
  constructor(
    private readonly owners: KeyOwners,
    private readonly accounts: AccountsService,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request, response] = context.getArgs<[AuthenticatedRequest, Response]>();
    return request.hasWaited && request.accountId !== undefined ? this.check(request, response) : true;
  }

  /** @throws ApiError `invalid_api_key`, `invalid_credentials`, `permission_denied` */
  private async check(request: AuthenticatedRequest, response: Response): Promise<true> {
    if (request.keyId === undefined) await this.checkPassword(request);
    else await this.checkKey(request);
    // Answered when its time was over, or left by its client.
    if (response.writableEnded || response.destroyed) throw new ApiError('request_timeout');
    return true;
  }

  private async checkKey(request: AuthenticatedRequest): Promise<void> {
    const owner = await this.owners.find(bearerKey(request)!);
    if (!owner) throw unauthorized('invalid_api_key');
    admit(request, owner);
  }

  private async checkPassword(request: AuthenticatedRequest): Promise<void> {
    const { name, pass } = parseBasic(request.headers.authorization!)!;
    const accountId = await this.accounts.findIdByPassword(name, pass, requesterOf(request));
    if (accountId !== request.accountId) throw unauthorized('invalid_credentials');
  }
}
