import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { parse as parseBasic } from 'basic-auth';
import type { Request, Response } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { ApiError } from 'petstore/platform';
import {
  type Actor,
  applySunset,
  type AuthenticatedRequest,
  callerOf,
  clientAddress,
  clientNetwork,
  countHeader,
  operationOf,
  requirePermission,
  type RoutedRequest,
} from '../platform/api/index.js';
import { Exchange } from '../platform/http/index.js';
import { AuthLimiter, KeyLimiter } from '../platform/safeguards/index.js';
import { normalEmail } from './account.entity.js';
import { AccountsService } from './accounts.service.js';
import { unauthorized } from './granted.js';
import { Invitations } from './invitations.js';
import { type KeyOwner, KeyOwners } from './key-owners.js';
import { requireNetwork } from './networks.js';

/** Passport's bearer strategy (RFC 6750) over the stored API keys. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  declare private passport: passport.PassportStatic;

  constructor(private readonly owners: KeyOwners) {
    super({ passReqToCallback: true });
  }

  /** A separate instance: the global one of Passport knows only the last application of a process. */
  protected getPassportInstance(): passport.PassportStatic {
    return (this.passport ??= new passport.Passport());
  }

  async validate({ actor }: { actor: Actor }, key: string): Promise<KeyOwner | false> {
    return (await this.owners.find(key, actor)) ?? false;
  }

  /** The owner of a key, or null. Passport gets only the header: its strategy would also read the query and the body. */
  findOwner(authorization: string, actor: Actor): Promise<KeyOwner | null> {
    const request = { headers: { authorization }, actor };
    return new Promise((resolve, reject) => {
      const done = (error: unknown, owner?: KeyOwner | false | null) =>
        error ? reject(error) : resolve(owner || null);
      this.passport.authenticate('bearer', { session: false }, done)(request, {}, reject);
    });
  }
}

/**
 * Authenticates and authorizes every request: checks the key and its permissions, then the sunset of the operation.
 * Unless an operation is `@Public()`, credentials are checked before the rest of the request; the body is read after all guards.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly owners: KeyOwners,
    private readonly bearer: BearerStrategy,
    private readonly accounts: AccountsService,
    private readonly authLimiter: AuthLimiter,
    private readonly keyLimiter: KeyLimiter,
    private readonly invitations: Invitations,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request, response] = context.getArgs<[AuthenticatedRequest, Response]>();
    // Also for refused requests: the log and the metrics name the operation.
    request.operation = operationOf(context.getHandler(), context.getClass());
    const admitted = this.checkCredentials(request, response);
    return admitted === true
      ? this.prepare(request, response)
      : admitted.then(() => this.prepare(request, response));
  }

  /** Assigns an admitted request to its account, and sets its time limit. */
  private prepare(request: AuthenticatedRequest, response: Response): true {
    const exchange = openExchange(response);
    if (request.accountId !== undefined) exchange.chargeTo(request.accountId);
    const { seconds, sunset, readsBody } = request.operation;
    if (sunset) applySunset(sunset, Date.now(), response);
    if (seconds !== undefined) exchange.setTimeLimit(seconds * 1_000);
    if (readsBody) request.checkBody = this.checkBody;
    return true;
  }

  /** Runs once the body has been read: checks the sender of a late body again, and requires an invitation. */
  private readonly checkBody = async (request: RoutedRequest, response: Response, isLate: boolean) => {
    if (isLate) await this.checkAgain(request as AuthenticatedRequest, response);
    const { signUp } = request.operation;
    if (signUp) await this.invitations.require((request.body as { invitation?: unknown } | null)?.invitation);
  };

  /**
   * Checks the key or password again after a late body: meanwhile, the key may have been revoked, the password
   * changed, or the account closed.
   */
  private async checkAgain(request: AuthenticatedRequest, response: Response): Promise<void> {
    const { accountId } = request;
    await this.checkCredentials(request, response);
    openExchange(response);
    // The email, or the subject of the token, may belong to another account by now.
    if (request.accountId !== accountId)
      throw unauthorized(bearerKey(request) === undefined ? 'invalid_credentials' : 'invalid_token');
  }

  private checkCredentials(request: AuthenticatedRequest, response: Response): true | Promise<true> {
    const { access, signUp } = request.operation;
    if (signUp) this.invitations.requireOpen();
    if (access === 'public') return true;
    const isOpenToKeys = access === 'bearer' || this.owners.isToken(bearerKey(request) ?? '');
    return isOpenToKeys ? this.checkKey(request, response) : this.checkPassword(request, response);
  }

  /** Admits a recently used key at once; any other goes through Passport. */
  private checkKey(request: AuthenticatedRequest, response: Response): true | Promise<true> {
    const key = bearerKey(request);
    if (!key) throw unauthorized('missing_api_key');
    if (hasTwoAuthorizations(request)) throw unauthorized('invalid_api_key');
    const cached = this.keyLimiter.isOn ? undefined : this.owners.peek(key);
    if (cached) return admit(request, cached);
    return this.askPassport(request, response, key);
  }

  private async askPassport(request: AuthenticatedRequest, response: Response, key: string): Promise<true> {
    const owner = await this.bearer.findOwner(`Bearer ${key}`, callerOf(request));
    if (!owner) throw unauthorized('invalid_api_key');
    // The second check of a request, after a late body, does not count towards the limit.
    if (request.accountId === undefined)
      await this.keyLimiter.consume([owner.keyId ?? `account ${owner.accountId}`], response);
    return admit(request, owner);
  }

  /**
   * Failed log-ins count by address, which covers all accounts tried from there, and by account. Only an address over its
   * limit is refused without a check: a guesser must not lock the owner out. Several log-ins of a burst may be checked
   * before the limit is reached; their failures are answered 429 as well.
   */
  private async checkPassword(request: AuthenticatedRequest, response: Response): Promise<true> {
    const credentials = parseBasic(request.headers.authorization ?? '');
    if (!credentials || hasTwoAuthorizations(request)) throw unauthorized('invalid_credentials');
    const subjects = limitSubjects('log-in', request, credentials.name);
    await this.authLimiter.check(subjects[0], response);
    const { name, pass } = credentials;
    const accountId = await this.accounts.findIdByPassword(name, pass);
    if (accountId) return admit(request, { accountId, expiresAt: Infinity });
    await this.authLimiter.consume(subjects, response);
    throw unauthorized('invalid_credentials');
  }
}

/** The subjects that a sign-up or log-in counts for: its address, then its account, if the email can be an account's. */
export function limitSubjects(
  what: 'sign-up' | 'log-in',
  request: Request,
  email: string,
): [address: string, ...account: string[]] {
  const from = `${what} from ${clientNetwork(request)}`;
  const normal = normalEmail(email);
  return normal === null ? [from] : [from, `${what} as ${normal}`];
}

/** @throws ApiError `request_timeout` if the client has disconnected or the deadline has passed: then nothing may change */
function openExchange(response: Response): Exchange {
  const exchange = Exchange.of(response)!;
  if (exchange.isOver) throw new ApiError('request_timeout');
  return exchange;
}

/** With two `Authorization` headers, the service does not guess which one counts. */
function hasTwoAuthorizations(request: Request): boolean {
  return countHeader(request, 'authorization') > 1;
}

const BEARER = /^bearer +(?=\S)/i;

/** The key of a request (RFC 6750, 2.1), if any. */
function bearerKey({ headers: { authorization = '' } }: AuthenticatedRequest): string | undefined {
  const [scheme] = BEARER.exec(authorization) ?? [];
  return scheme && authorization.slice(scheme.length);
}

/** Admits a request for an account. @throws ApiError `permission_denied` */
function admit(request: AuthenticatedRequest, { accountId, keyId, permissions, networks }: KeyOwner): true {
  request.accountId = accountId;
  request.keyId = keyId;
  request.permissions = permissions;
  if (networks) requireNetwork(networks, clientAddress(request));
  requirePermission(request, request.operation.permissions);
  return true;
}
