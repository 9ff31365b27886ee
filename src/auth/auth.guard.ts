import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { parse as parseBasic } from 'basic-auth';
import type { Request } from 'express';
import { ApiError } from '../common/api-error.js';
import { ACCESS, type Access } from '../common/operation.js';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { BearerStrategy } from './bearer.strategy.js';

/** A request past the guard: whose it is, and by which key. */
export interface AuthenticatedRequest extends Request {
  accountId: string;
  /** Left out where the account came with its password. */
  keyId?: string;
}

const BEARER = /^bearer +(?=\S)/i;

/** Closes every operation but those marked `@Public()`. Runs before anything else of a request is looked at. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly apiKeys: ApiKeysService,
    private readonly bearer: BearerStrategy,
    private readonly accounts: AccountsService,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    return access === 'basic' ? this.checkPassword(request) : this.checkKey(request);
  }

  /** A key that was just seen is let through at once; any other goes through Passport. */
  private checkKey(request: AuthenticatedRequest): true | Promise<true> {
    const header = request.headers.authorization ?? '';
    const [scheme] = BEARER.exec(header) ?? [];
    if (!scheme) throw unauthorized('missing_api_key');
    if (hasTwoAuthorizations(request)) throw unauthorized('invalid_api_key');
    const key = header.slice(scheme.length);
    const known = this.apiKeys.peekOwner(key);
    return known ? admit(request, known) : this.checkByPassport(request, key);
  }

  private async checkByPassport(request: AuthenticatedRequest, key: string): Promise<true> {
    const owner = await this.bearer.findOwner(`Bearer ${key}`);
    if (!owner) throw unauthorized('invalid_api_key');
    return admit(request, owner);
  }

  private async checkPassword(request: AuthenticatedRequest): Promise<true> {
    const credentials = parseBasic(request.headers.authorization ?? '');
    if (!credentials || hasTwoAuthorizations(request)) throw unauthorized('invalid_credentials');
    const accountId = await this.accounts.findIdByPassword(credentials.name, credentials.pass);
    if (!accountId) throw unauthorized('invalid_credentials');
    return admit(request, { accountId });
  }
}

function admit(
  request: AuthenticatedRequest,
  { accountId, keyId }: { accountId: string; keyId?: string },
): true {
  request.accountId = accountId;
  request.keyId = keyId;
  return true;
}

/** Node keeps the first `Authorization` of a request and drops others: which one was meant is not ours to guess. */
function hasTwoAuthorizations({ rawHeaders }: Request): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count++;
  }
  return count > 1;
}

/** RFC 9110, 11.6.1: a 401 names the scheme that is asked for; RFC 6750, 3.1: and that a key was not valid. */
function unauthorized(code: 'missing_api_key' | 'invalid_api_key' | 'invalid_credentials'): ApiError {
  const challenges = {
    missing_api_key: 'Bearer realm="petstore"',
    invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
    invalid_credentials: 'Basic realm="petstore", charset="UTF-8"',
  };
  return new ApiError(code, undefined, { headers: { 'WWW-Authenticate': challenges[code] } });
}
