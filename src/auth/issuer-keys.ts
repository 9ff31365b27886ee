import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { ApiError } from 'petstore/platform';
import { addressIn, discoveryUrl, fetchJson, type IdentityProvider } from '../platform/process/index.js';

const OPTIONS = {
  /** For the discovery document and the keys together: whoever waits for them is answered within 3 s. */
  timeoutDuration: 2_000,
  /** With the time that a fetch takes, a key that the issuer has withdrawn is refused within ten minutes. */
  cacheMaxAge: 9 * 60_000,
  /** Between a fetch and one for the sake of an unknown key. */
  cooldownDuration: 30_000,
};
/** Between two tries while the issuer is away: with keys at hand, and without any. */
const PAUSE_MS = 30_000;
const PAUSE_WITHOUT_KEYS_MS = 1_000;

/** The keys of an OpenID Connect provider (RFC 7517, 5), fetched when they are first needed. */
export class IssuerKeys {
  /** The last good keys: while the issuer is away, they count for as long as that lasts. */
  private known?: JWTVerifyGetKey<CryptoKey>;
  /** Why the latest fetch failed. */
  private failure?: unknown;
  // Value of `performance.now()`.
  private retryAt = -Infinity;
  private readonly remote;

  constructor(private readonly provider: IdentityProvider) {
    this.remote = createRemoteJWKSet(new URL(discoveryUrl(provider.issuer)), {
      ...OPTIONS,
      [customFetch]: (_url, { signal }) => this.fetch(signal),
    });
  }

  /**
   * The key that a token is signed with, as jose asks for it.
   * @throws JWKSNoMatchingKey, or ApiError `service_unavailable` where only the issuer could tell and is away
   */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const isAway = this.failure !== undefined;
    const isDue = !isAway || performance.now() >= this.retryAt;
    // No token of a known key waits for an issuer that is away.
    if (isAway && this.known) {
      if (isDue) this.remote.reload().catch(() => {});
    } else if (isDue) {
      try {
        return await this.remote(header, token);
      } catch (error) {
        if (this.failure === undefined) throw error;
      }
    }
    return this.findKnown(header, token);
  };

  private findKnown: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    if (!this.known) throw away(this.failure);
    try {
      return await this.known(header, token);
    } catch (error) {
      throw error instanceof errors.JWKSNoMatchingKey ? away(this.failure) : error;
    }
  };

  /** In the place of jose's own fetch: bounded, without redirects, from wherever the issuer now says that its keys are. */
  private async fetch(signal: AbortSignal): Promise<Response> {
    try {
      const about = await this.provider.fetch(signal);
      const keys = await fetchJson(addressIn(about, 'jwks_uri').href, signal);
      this.known = createLocalJWKSet(keys as unknown as JSONWebKeySet);
      this.failure = undefined;
      return Response.json(keys);
    } catch (error) {
      this.failure = error;
      this.retryAt = performance.now() + (this.known ? PAUSE_MS : PAUSE_WITHOUT_KEYS_MS);
      throw error;
    }
  }
}

function away(cause: unknown): ApiError {
  return new ApiError('service_unavailable', 'The identity provider cannot be reached. Try again shortly.', {
    cause,
  });
}
