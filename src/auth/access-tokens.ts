import { errors, type JWTPayload, jwtVerify } from 'jose';
import { ApiError } from 'petstore/platform';
import type { Config } from '../config.js';
import { isEmailAddress, isPermission, isPlainText } from '../platform/api/index.js';
import { IssuerKeys } from './issuer-keys.js';
import { unauthorized } from './granted.js';

/** What an access token states about its subject. */
export interface TokenFacts {
  issuer: string;
  subject: string;
  /** Undefined unless the issuer has verified the email. */
  email?: string;
  /** The token's permissions, which the account must have too. */
  permissions: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

const MAX_BYTES = 8 * 1024;
/** OpenID Connect Core 1.0, 2. */
const MAX_SUBJECT_LENGTH = 255;
/** The largest clock skew between the issuer and this machine. */
const LEEWAY_SECONDS = 30;
/** Algorithms with a public key (RFC 7518, 3.1; RFC 8037; RFC 9864). */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** RFC 9068, 2.1. */
const ACCESS_TOKEN = /^(?:application\/)?at\+jwt$/i;
/** The type that many issuers give access tokens instead, as they do ID tokens. */
const ANY_TOKEN = /^(?:application\/)?jwt$/i;
/** Values of the claims of Keycloak (`typ`) and Amazon (`token_use`) for access tokens. */
const KINDS = new Set<unknown>(['Bearer', 'access']);
/** Claims of ID tokens (OpenID Connect Core 1.0, 2 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash'];
/** The claim that only access tokens have: its name in RFC 9068, 2.2.3, and at Microsoft and Okta. */
const ACCESS_TOKEN_CLAIMS = ['scope', 'scp'];
/** The claim with the client: its names in RFC 9068 and OpenID Connect, at Okta and at Microsoft. */
const CLIENT = ['client_id', 'azp', 'cid', 'appid'];

/** Verifies the access tokens of one issuer: JWT by RFC 9068, checked by RFC 8725. */
export class AccessTokens {
  private readonly keys: IssuerKeys;
  private readonly options;
  private readonly permissionsClaim: string;

  constructor({ OIDC_ISSUER, OIDC_AUDIENCE, OIDC_PERMISSIONS_CLAIM }: Config) {
    this.keys = new IssuerKeys(OIDC_ISSUER!);
    this.options = {
      algorithms: ALGORITHMS,
      issuer: OIDC_ISSUER!,
      audience: OIDC_AUDIENCE!.split(','),
      requiredClaims: ['exp', 'sub'],
      clockTolerance: LEEWAY_SECONDS,
    };
    this.permissionsClaim = OIDC_PERMISSIONS_CLAIM;
  }

  /** @throws ApiError `invalid_token`, or `service_unavailable` if the issuer's keys are needed and the issuer is away */
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
    // A sender-constrained token (RFC 9449, 6; RFC 8705, 3) needs a proof that this service does not check.
    if (cnf !== undefined) throw refusal('its claim `cnf` is not accepted');
    if (iat !== undefined && iat > Date.now() / 1000 + LEEWAY_SECONDS)
      throw refusal('its claim `iat` is not accepted');
    if (!isPlainText(sub) || sub.length === 0 || sub.length > MAX_SUBJECT_LENGTH)
      throw refusal('its claim `sub` is not accepted');
    return {
      issuer: iss!,
      subject: sub,
      email: email_verified === true && isEmailAddress(email) ? email : undefined,
      permissions: new Set(namesIn(permissions).filter(isPermission)),
      expiresAt: (exp! + LEEWAY_SECONDS) * 1000,
    };
  }

  /**
   * Refuses an ID token, which identifies a user to one client. The token's type decides. Without a type, the claims decide:
   * an ID token may have the claim with the permissions too, such as Microsoft's `roles`, but its audience is its
   * client.
   */
  private requireAccessToken(claims: JWTPayload, type: string | undefined, permissions: unknown): void {
    if (type !== undefined && ACCESS_TOKEN.test(type)) return;
    // A token that names another type is of that type (RFC 8725, 3.11).
    if (type !== undefined && !ANY_TOKEN.test(type)) throw refusal('it is of another type');
    const kind = claims.typ ?? claims.token_use;
    if (KINDS.has(kind)) return;
    if (kind !== undefined) throw refusal('it is of another type');
    const has = (name: string) => claims[name] !== undefined;
    if (ID_TOKEN_CLAIMS.some(has)) throw refusal('it is an ID token');
    if (ACCESS_TOKEN_CLAIMS.some(has)) return;
    if (permissions === undefined) throw refusal(`it has no claim \`${this.permissionsClaim}\``);
    const client = CLIENT.find(has);
    if (client === undefined) throw refusal('it has no claim `client_id`');
    if ([claims.aud].flat().includes(claims[client] as string))
      throw refusal('its audience is its client, as in an ID token: register the API apart from the client');
  }
}

/** The claim with this name, dotted path, or JSON Pointer (RFC 6901), which can contain dots. */
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

/** The refusal discloses nothing of a token but the name of a claim. */
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
