import { load as parseYaml } from 'js-yaml';
import { errors, type JWTPayload, jwtVerify, type JWTVerifyResult } from 'jose';
import type { Config } from '../config.js';
import { isEmailAddress, isPermission, isPlainText } from '../platform/api/index.js';
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
/** Claims of ID tokens (OpenID Connect Core 1.0, 2 and 3.3.2.11). */
const OF_ID_TOKENS = ['nonce', 'at_hash', 'c_hash', 's_hash'];
/** Claims that access tokens have and ID tokens have not, by RFC 9068, 2.2.3, and as Microsoft and Okta name it. */
const OF_ACCESS_TOKENS = ['scope', 'scp'];
/** The client of an access token, by RFC 9068, as OpenID Connect, Okta and Microsoft name it. */
const CLIENT = ['client_id', 'azp', 'cid', 'appid'];

/** The access tokens of one issuer: JWT by RFC 9068, checked as RFC 8725 has it. */
export class AccessTokens {
  private readonly issuer: string;
  private readonly audience: string[];
  private readonly permissionsClaim: string;
  private readonly keys: IssuerKeys;

  constructor({ OIDC_ISSUER, OIDC_AUDIENCE, OIDC_PERMISSIONS_CLAIM }: Config) {
    this.issuer = OIDC_ISSUER!;
    this.audience = OIDC_AUDIENCE!.split(',');
    this.permissionsClaim = OIDC_PERMISSIONS_CLAIM;
    this.keys = new IssuerKeys(this.issuer);
  }

  /**
   * What a token says, if all of it is right.
   * @throws ApiError `invalid_token`, or `service_unavailable` where only the issuer could tell
   */
  async read(token: string): Promise<TokenFacts> {
    if (token.length > MAX_BYTES) throw unauthorized('invalid_token');
    try {
      const { payload, protectedHeader } = await this.verify(token);
      requireUnique(token);
      return this.factsOf(payload, protectedHeader.typ);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  private async verify(token: string): Promise<JWTVerifyResult> {
    const keys = await this.keys.get();
    try {
      return await this.verifyWith(keys, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const present = await this.keys.getAnew(keys);
      if (!present) throw error;
      return this.verifyWith(present, token);
    }
  }

  private async verifyWith(
    keys: Awaited<ReturnType<IssuerKeys['get']>>,
    token: string,
  ): Promise<JWTVerifyResult> {
    const options = {
      algorithms: ALGORITHMS,
      issuer: this.issuer,
      audience: this.audience,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: LEEWAY_SECONDS,
    };
    try {
      return await jwtVerify(token, keys, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // A token without a `kid`, of an issuer with several keys.
      for await (const key of error) {
        try {
          return await jwtVerify(token, key, options);
        } catch (other) {
          if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  private factsOf(claims: JWTPayload, type: unknown): TokenFacts {
    const { sub, iat, exp, email, email_verified, cnf } = claims;
    const permissions = claimAt(claims, this.permissionsClaim);
    if (!this.isAccessToken(claims, type)) throw wrong('typ', claims);
    // A token for whoever has a key (RFC 9449, 6; RFC 8705, 3) proves nothing by itself.
    if (cnf !== undefined) throw wrong('cnf', claims);
    if (iat !== undefined && iat > Date.now() / 1000 + LEEWAY_SECONDS) throw wrong('iat', claims);
    if (typeof sub !== 'string' || !isSubject(sub)) throw wrong('sub', claims);
    return {
      issuer: this.issuer,
      subject: sub,
      email: email_verified === true && isEmailAddress(email) ? email : undefined,
      permissions: new Set(namesIn(permissions).filter(isPermission)),
      expiresAt: (exp! + LEEWAY_SECONDS) * 1000,
    };
  }

  /**
   * An ID token says who somebody is, to one client; it opens nothing. Where the type does not tell, the claims must: it
   * may have the claim of the permissions too, as Microsoft's have `roles`, but is for its client.
   */
  private isAccessToken(claims: JWTPayload, type: unknown): boolean {
    if (typeof type === 'string' && ACCESS_TOKEN.test(type)) return true;
    if (type !== undefined && !(typeof type === 'string' && ANY_TOKEN.test(type))) return false;
    // Keycloak and Amazon write the kind of a token into these claims.
    if (claims.typ === 'ID' || claims.token_use === 'id') return false;
    if (OF_ID_TOKENS.some((name) => claims[name] !== undefined)) return false;
    if (OF_ACCESS_TOKENS.some((name) => claims[name] !== undefined)) return true;
    const client = CLIENT.map((name) => claims[name]).find((value) => value !== undefined);
    const isForItsClient = [claims.aud].flat().includes(client as string);
    return claimAt(claims, this.permissionsClaim) !== undefined && client !== undefined && !isForItsClient;
  }
}

function isSubject(sub: string): boolean {
  return sub.length > 0 && sub.length <= LONGEST_SUBJECT && isPlainText(sub);
}

/** The claim of this name, or at this path. */
function claimAt(claims: object, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path as keyof typeof claims];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = value[name as keyof typeof value];
  }
  return value;
}

/** The names in a text, separated by spaces (RFC 6749, 3.3), or in a list. */
function namesIn(value: unknown): unknown[] {
  return typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
}

/** RFC 7519, 4: of duplicate names, another reader might take another. YAML, of which JSON is a part, refuses them. */
function requireUnique(token: string): void {
  for (const part of token.split('.', 2)) parseYaml(Buffer.from(part, 'base64url').toString());
}

function wrong(claim: string, claims: JWTPayload): Error {
  return new errors.JWTClaimValidationFailed('not accepted', claims, claim);
}

/** A refusal that has nothing of the token in it but the name of the claim that is wrong; or another failure, as it is. */
function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired)
    return unauthorized('invalid_token', 'The access token has expired.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return unauthorized('invalid_token', `The access token is not valid here: its claim \`${error.claim}\`.`);
  const isOurs = error instanceof Error && 'code' in error && error.code === 'service_unavailable';
  return isOurs ? error : unauthorized('invalid_token');
}
