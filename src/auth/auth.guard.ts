import { type CanActivate, type ExecutionContext, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { parse as parseBasic } from 'basic-auth';
import type { Request, Response } from 'express';
import { AuthLimiter, KeyLimiter } from '../platform/safeguards/index.js';
import {
  type AuthenticatedRequest,
  operationOf,
  requirePermissions,
  timesSent,
} from '../platform/api/index.js';
import { AccountsService } from './accounts.service.js';
import { admit, bearerKey } from './admitted.js';
import { BearerStrategy } from './bearer.strategy.js';
import { Invitations } from './invitations.js';
import { KeyOwners } from './key-owners.js';
import { limitSubjects, requesterOf } from './limit-subjects.js';
import { unauthorized } from './unauthorized.js';

/**
 * Closes every operation that is not marked `@Public()`, to keys without its permission too. Runs before anything else in a
 * request is looked at.
 */
@Injectable()
export class AuthGuard implements CanActivate, OnModuleInit {
  constructor(
    private readonly owners: KeyOwners,
    private readonly bearer: BearerStrategy,
    private readonly accounts: AccountsService,
    private readonly authLimiter: AuthLimiter,
    private readonly keyLimiter: KeyLimiter,
    private readonly invitations: Invitations,
    private readonly modules: ModulesContainer,
  ) {}

  /** @throws Error for an operation that no permission opens */
  onModuleInit(): void {
    requirePermissions(this.modules);
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request, response] = context.getArgs<[AuthenticatedRequest, Response]>();
    // Also for those that are turned away: the log and the metrics name the operation.
    request.operation = operationOf(context.getHandler(), context.getClass());
    const { access, signUp } = request.operation;
    if (signUp) this.invitations.requireOpen();
    if (access === 'public') return true;
    return access === 'basic' ? this.checkPassword(request, response) : this.checkKey(request, response);
  }

  /** A key seen recently is let through at once; any other goes through Passport. */
  private checkKey(request: AuthenticatedRequest, response: Response): true | Promise<true> {
    const key = bearerKey(request);
    if (!key) throw unauthorized('missing_api_key');
    if (hasTwoAuthorizations(request)) throw unauthorized('invalid_api_key');
    const known = this.keyLimiter.isOn ? undefined : this.owners.peek(key);
    if (known) return admit(request, known);
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
    return admit(request, owner);
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
    if (accountId) return admit(request, { accountId });
    await this.authLimiter.take(subjects, response);
    throw unauthorized('invalid_credentials');
  }
}

/** Of two `Authorization` headers, it is not ours to guess which was meant. */
function hasTwoAuthorizations(request: Request): boolean {
  return timesSent(request, 'authorization') > 1;
}
