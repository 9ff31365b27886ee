import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { ApiError } from 'petstore/platform';
import { addressIn, discoveryUrl, fetchDiscovery, fetchJson } from '../platform/process/index.js';

const OPTIONS = {
  /** Limit for the discovery document and the keys together: requests that wait for them are answered within 3 s. */
  timeoutDuration: 2_000,
  /** Less, even with the time of a fetch, than the ten minutes after which a withdrawn key is refused. */
  cacheMaxAge: 9 * 60_000,
  /** Pause between fetches for unknown keys. */
  cooldownDuration: 30_000,
};
/** Pauses between attempts while the issuer is down: with cached keys, and without. */
const PAUSE_MS = 30_000;
const PAUSE_WITHOUT_KEYS_MS = 1_000;

/** The keys of an OpenID Connect provider (RFC 7517, 5), fetched on first use. */
export class IssuerKeys {
  /** The last fetched keys, which stay valid while the issuer is down. */
  private lastGood?: JWTVerifyGetKey<CryptoKey>;
  private failure?: unknown;
  // Value of `performance.now()`.
  private retryAt = -Infinity;
  private readonly remote;

  constructor(private readonly issuer: string) {
    this.remote = createRemoteJWKSet(new URL(discoveryUrl(issuer)), {
      ...OPTIONS,
      [customFetch]: (_url, { signal }) => this.fetch(signal),
    });
  }

  /** @throws JWKSNoMatchingKey, or ApiError `service_unavailable` for an unknown key while the issuer is away */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const isAway = this.failure !== undefined;
    const isDue = !isAway || performance.now() >= this.retryAt;
    // By now the issuer may be back, and have withdrawn keys.
    const isOutdated = performance.now() >= this.retryAt + OPTIONS.cacheMaxAge;
    // A token with a known key does not wait for an issuer that is down.
    if (isAway && this.lastGood && !isOutdated) {
      if (isDue) this.remote.reload().catch(() => {});
    } else if (isDue) {
      try {
        return await this.remote(header, token);
      } catch (error) {
        if (this.failure === undefined) throw error;
      }
    }
    return this.findLastGood(header, token);
  };

  private findLastGood: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    if (!this.lastGood) throw this.away();
    try {
      return await this.lastGood(header, token);
    } catch (error) {
      throw error instanceof errors.JWKSNoMatchingKey ? this.away() : error;
    }
  };

  /** The error while the issuer is away; it tells clients when the next attempt is due. */
  private away(): ApiError {
    const seconds = Math.max(1, Math.ceil((this.retryAt - performance.now()) / 1_000));
    const message = 'The identity provider cannot be reached. Try again shortly.';
    const headers = { 'Retry-After': String(seconds) };
    return new ApiError('service_unavailable', message, { cause: this.failure, headers });
  }

  /** Replaces the fetch of jose: bounded, without redirects, from the current address of the keys. */
  private async fetch(signal: AbortSignal): Promise<Response> {
    try {
      const about = await fetchDiscovery(this.issuer, signal);
      const keys = await fetchJson(addressIn(about, 'jwks_uri').href, signal);
      this.lastGood = createLocalJWKSet(keys as unknown as JSONWebKeySet);
      this.failure = undefined;
      return Response.json(keys);
    } catch (error) {
      this.failure = error;
      this.retryAt = performance.now() + (this.lastGood ? PAUSE_MS : PAUSE_WITHOUT_KEYS_MS);
      throw error;
    }
  }
}
