import { errors, type JWTPayload, jwtVerify } from 'jose';
import { ApiError } from 'petstore/platform';
import type { Config } from '../config.js';
import { isEmailAddress, isPermission, isPlainText } from '../platform/api/index.js';
import type { IdentityProvider } from '../platform/process/index.js';
import { IssuerKeys } from './issuer-keys.js';
import { unauthorized } from './unauthorized.js';

/** What an access token says of whoever it was issued for. */
export interface TokenFacts {
  issuer: string;
  subject: string;
  /** One that the issuer has verified. */
  email?: string;
  /** What the token may do, if its account may too. */
  permissions: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

const MAX_BYTES = 8 * 1024;
/** OpenID Connect Core 1.0, 2. */
const LONGEST_SUBJECT = 255;
/** How far the clocks of the issuer and of this machine may be apart. */
const LEEWAY_SECONDS = 30;
/** Those with a public key (RFC 7518, 3.1; RFC 8037; RFC 9864). */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** RFC 9068, 2.1. */
const ACCESS_TOKEN = /^(?:application\/)?at\+jwt$/i;
/** What many issuers write in its place, as in their ID tokens. */
const ANY_TOKEN = /^(?:application\/)?jwt$/i;
/** How Keycloak (`typ`) and Amazon (`token_use`) name access tokens in a claim. */
const KINDS = new Set<unknown>(['Bearer', 'access']);
/** Claims of ID tokens (OpenID Connect Core 1.0, 2 and 3.3.2.11). */
const OF_ID_TOKENS = ['nonce', 'at_hash', 'c_hash', 's_hash'];
/** Claims that access tokens have and ID tokens have not, by RFC 9068, 2.2.3, and as Microsoft and Okta name it. */
const OF_ACCESS_TOKENS = ['scope', 'scp'];
/** The client of an access token, by RFC 9068, as OpenID Connect, Okta and Microsoft name it. */
const CLIENT = ['client_id', 'azp', 'cid', 'appid'];

/** The access tokens of one issuer: JWT by RFC 9068, checked as RFC 8725 has it. */
export class AccessTokens {
  private readonly keys: IssuerKeys;
  private readonly options;
  private readonly permissionsClaim: string;

  constructor({ OIDC_AUDIENCE, OIDC_PERMISSIONS_CLAIM }: Config, provider: IdentityProvider) {
    this.keys = new IssuerKeys(provider);
    this.options = {
      algorithms: ALGORITHMS,
      issuer: provider.issuer,
      audience: OIDC_AUDIENCE!.split(','),
      requiredClaims: ['exp', 'sub'],
      clockTolerance: LEEWAY_SECONDS,
    };
    this.permissionsClaim = OIDC_PERMISSIONS_CLAIM;
  }

  /**
   * What a token says, if all of it is right.
   * @throws ApiError `invalid_token`, or `service_unavailable` where only the issuer could tell
   */
  async read(token: string): Promise<TokenFacts> {
    if (token.length > MAX_BYTES) throw unauthorized('invalid_token');
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.keys.find, this.options);
      return this.factsOf(payload, protectedHeader.typ);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  private factsOf(claims: JWTPayload, type: string | undefined): TokenFacts {
    const { iss, sub, iat, exp, email, email_verified, cnf } = claims;
    const permissions = claimAt(claims, this.permissionsClaim);
    this.requireAccessToken(claims, type, permissions);
    // A token for whoever has a key (RFC 9449, 6; RFC 8705, 3) proves nothing by itself.
    if (cnf !== undefined) throw refusal('its claim `cnf` is not accepted');
    if (iat !== undefined && iat > Date.now() / 1000 + LEEWAY_SECONDS)
      throw refusal('its claim `iat` is not accepted');
    if (!isSubject(sub)) throw refusal('its claim `sub` is not accepted');
    return {
      issuer: iss!,
      subject: sub,
      email: email_verified === true && isEmailAddress(email) ? email : undefined,
      permissions: new Set(namesIn(permissions).filter(isPermission)),
      expiresAt: (exp! + LEEWAY_SECONDS) * 1000,
    };
  }

  /**
   * An ID token says who somebody is, to one client; it opens nothing. What the issuer says of the kind of a token counts.
   * Where it says nothing, the claims must tell: an ID token may have the claim of the permissions too, as Microsoft's
   * have `roles`, but is for its client.
   */
  private requireAccessToken(claims: JWTPayload, type: string | undefined, permissions: unknown): void {
    if (type !== undefined && ACCESS_TOKEN.test(type)) return;
    // RFC 8725, 3.11: a token that names another type is one.
    if (type !== undefined && !ANY_TOKEN.test(type)) throw refusal('it is of another type');
    const kind = claims.typ ?? claims.token_use;
    if (KINDS.has(kind)) return;
    if (kind !== undefined) throw refusal('it is of another type');
    const has = (name: string) => claims[name] !== undefined;
    if (OF_ID_TOKENS.some(has)) throw refusal('it is an ID token');
    if (OF_ACCESS_TOKENS.some(has)) return;
    if (permissions === undefined) throw refusal(`it has no claim \`${this.permissionsClaim}\``);
    const client = CLIENT.find(has);
    if (client === undefined) throw refusal('it has no claim `client_id`');
    if ([claims.aud].flat().includes(claims[client] as string)) throw refusal('it is an ID token');
  }
}

function isSubject(sub: unknown): sub is string {
  return isPlainText(sub) && sub.length > 0 && sub.length <= LONGEST_SUBJECT;
}

/** The claim of this name, at this dotted path, or at this JSON Pointer (RFC 6901), which can name dots too. */
function claimAt(claims: object, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path as keyof typeof claims];
  const names = path.startsWith('/') ? path.slice(1).split('/').map(unescape) : path.split('.');
  let value: unknown = claims;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = value[name as keyof typeof value];
  }
  return value;
}

function unescape(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The names in a text, separated by spaces (RFC 6749, 3.3), or in a list. */
function namesIn(value: unknown): unknown[] {
  return typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
}

/** Nothing of a token is in its refusal but the name of a claim. */
function refusal(why: string): ApiError {
  return unauthorized('invalid_token', `The access token is not valid here: ${why}.`);
}

function refusalOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof errors.JWTExpired)
    return unauthorized('invalid_token', 'The access token has expired.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refusal(
      error.reason === 'missing'
        ? `it has no claim \`${error.claim}\``
        : `its claim \`${error.claim}\` is not accepted`,
    );
  return unauthorized('invalid_token');
}
