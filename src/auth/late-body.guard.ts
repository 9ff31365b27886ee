import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { AuthenticatedRequest } from '../platform/api/caller.js';
import { admit, bearerKey } from './admitted.js';
import { KeyOwners } from './key-owners.js';
import { unauthorized } from './unauthorized.js';

/** Looks again at the key of a request whose body was waited for: it may have been revoked, or its account closed. */
@Injectable()
export class LateBodyGuard implements CanActivate {
  constructor(private readonly owners: KeyOwners) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request] = context.getArgs<[AuthenticatedRequest]>();
    return request.hasWaited && request.keyId !== undefined ? this.check(request) : true;
  }

  /** @throws ApiError `invalid_api_key`, `permission_denied` */
  private async check(request: AuthenticatedRequest): Promise<true> {
    const owner = await this.owners.find(bearerKey(request)!);
    if (!owner) throw unauthorized('invalid_api_key');
    return admit(request, owner);
  }
}
