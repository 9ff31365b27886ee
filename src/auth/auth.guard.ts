import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { parse as parseBasic } from 'basic-auth';
import type { Request, Response } from 'express';
import { ApiError } from '../platform/api/api-error.js';
import type { AuthenticatedRequest } from '../platform/api/caller.js';
import { operationOf } from '../platform/api/operation-facts.js';
import { timesSent } from '../platform/api/raw-headers.js';
import { AuthLimiter, KeyLimiter } from '../platform/access/limits/limiters.js';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { BearerStrategy } from './bearer.strategy.js';
import { limitSubjects, requesterOf } from './limit-subjects.js';

const BEARER = /^bearer +(?=\S)/i;

/** Closes every operation that is not marked `@Public()`. Runs before anything else in a request is looked at. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly bearer: BearerStrategy,
    private readonly accounts: AccountsService,
    private readonly authLimiter: AuthLimiter,
    private readonly keyLimiter: KeyLimiter,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request, response] = context.getArgs<[AuthenticatedRequest, Response]>();
    // Also for those that are turned away: the log and the metrics name the operation.
    request.operation = operationOf(context.getHandler(), context.getClass());
    const { access } = request.operation;
    if (access === 'public') return true;
    return access === 'basic' ? this.checkPassword(request, response) : this.checkKey(request, response);
  }

  /** A key seen recently is let through at once; any other goes through Passport. */
  private checkKey(request: AuthenticatedRequest, response: Response): true | Promise<true> {
    const header = request.headers.authorization ?? '';
    const [scheme] = BEARER.exec(header) ?? [];
    if (!scheme) throw unauthorized('missing_api_key');
    if (hasTwoAuthorizations(request)) throw unauthorized('invalid_api_key');
    const key = header.slice(scheme.length);
    const known = this.keyLimiter.isOn ? undefined : this.apiKeys.peekOwner(key);
    if (known) return admit(request, known.accountId);
    return this.checkByPassport(request, response, key);
  }

  private async checkByPassport(
    request: AuthenticatedRequest,
    response: Response,
    key: string,
  ): Promise<true> {
    const owner = await this.bearer.findOwner(`Bearer ${key}`);
    if (!owner) throw unauthorized('invalid_api_key');
    await this.keyLimiter.take([owner.keyId], response);
    return admit(request, owner.accountId);
  }

  /**
   * Failed log-ins are counted by address, which covers each account tried from there, and by account. Only an address
   * that has used up its own is refused unheard: whoever guesses must not shut the owner of the account out. Several of a
   * burst may be checked before the limit is reached; those that fail then are answered 429 as well.
   */
  private async checkPassword(request: AuthenticatedRequest, response: Response): Promise<true> {
    const credentials = parseBasic(request.headers.authorization ?? '');
    if (!credentials || hasTwoAuthorizations(request)) throw unauthorized('invalid_credentials');
    const subjects = limitSubjects('log-in', request, credentials.name);
    await this.authLimiter.check(subjects[0], response);
    const { name, pass } = credentials;
    const accountId = await this.accounts.findIdByPassword(name, pass, requesterOf(request));
    if (accountId) return admit(request, accountId);
    await this.authLimiter.take(subjects, response);
    throw unauthorized('invalid_credentials');
  }
}

function admit(request: AuthenticatedRequest, accountId: string): true {
  request.accountId = accountId;
  return true;
}

/** Of two `Authorization` headers, it is not ours to guess which was meant. */
function hasTwoAuthorizations(request: Request): boolean {
  return timesSent(request, 'authorization') > 1;
}

/** RFC 9110, 11.6.1: a 401 names the scheme to use. RFC 6750, 3.1: `invalid_token` for a key that is not valid. */
function unauthorized(code: 'missing_api_key' | 'invalid_api_key' | 'invalid_credentials'): ApiError {
  const challenges = {
    missing_api_key: 'Bearer realm="petstore"',
    invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
    invalid_credentials: 'Basic realm="petstore", charset="UTF-8"',
  };
  return new ApiError(code, undefined, { headers: { 'WWW-Authenticate': challenges[code] } });
}
