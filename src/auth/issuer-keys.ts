import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { ApiError } from 'petstore/platform';
import { addressIn, fetchJson, fetchProvider } from '../platform/process/index.js';

/** The keys of an issuer, by the header of a token that one of them has signed. */
type Keys = ReturnType<typeof createLocalJWKSet>;

/** For a document and its keys together: whoever waits for them is answered within 3 s. */
const FETCH_MS = 2_000;
/** The age at which keys are fetched again while requests go on with them, and at which requests wait for that. */
const REFRESH_MS = 5 * 60_000;
const STALE_MS = 9 * 60_000;
/** Between two fetches for the sake of unknown keys, and after one that failed: with keys at hand, and without any. */
const PAUSE_MS = 30_000;
const PAUSE_WITHOUT_KEYS_MS = 1_000;

/**
 * The keys of an OpenID Connect provider (OpenID Connect Discovery 1.0, 4; RFC 7517, 5), fetched when they are first
 * needed. A key that the issuer has withdrawn is good for ten minutes at most, or as long as the issuer is away.
 */
export class IssuerKeys {
  private keys?: Keys;
  private loading?: Promise<void>;
  private failure?: unknown;
  // Values of `performance.now()`.
  private loadedAt = -Infinity;
  private failedAt = -Infinity;
  private soughtAt = -Infinity;

  constructor(private readonly issuer: string) {}

  /** @throws ApiError `service_unavailable` if the issuer is away and no key of it is known */
  async get(): Promise<Keys> {
    const age = performance.now() - this.loadedAt;
    if (age < REFRESH_MS || (this.keys && this.isPausing)) return this.keys!;
    const loading = this.load();
    if (age < STALE_MS) loading.catch(() => {});
    else await loading.catch((error: unknown) => this.unlessKnown(error));
    return this.keys!;
  }

  /**
   * The keys as they are now, for a token of none of those that were known; null if they were asked for recently.
   * @throws ApiError `service_unavailable` if the issuer is away
   */
  async getAnew(known: Keys): Promise<Keys | null> {
    if (this.keys !== known) return this.keys!;
    const isSoughtRecently = performance.now() - this.soughtAt < PAUSE_MS;
    if (!this.loading && this.failure !== undefined && this.isPausing) throw away(this.failure);
    if (!this.loading && isSoughtRecently) return null;
    this.soughtAt = performance.now();
    await this.load();
    return this.keys;
  }

  private get isPausing(): boolean {
    const pause = this.keys ? PAUSE_MS : PAUSE_WITHOUT_KEYS_MS;
    return performance.now() - this.failedAt < pause;
  }

  /** One fetch for all who ask at the same time. @throws ApiError `service_unavailable` */
  private load(): Promise<void> {
    if (!this.loading && !this.keys && this.isPausing) throw away(this.failure);
    return (this.loading ??= this.loadNow().finally(() => (this.loading = undefined)));
  }

  private async loadNow(): Promise<void> {
    const begun = performance.now();
    try {
      this.keys = createLocalJWKSet(await fetchKeys(this.issuer));
      this.loadedAt = begun;
      this.failure = undefined;
    } catch (error) {
      this.failedAt = performance.now();
      this.failure = error;
      throw away(error);
    }
  }

  private unlessKnown(error: unknown): void {
    if (!this.keys) throw error;
  }
}

function away(cause: unknown): ApiError {
  return new ApiError('service_unavailable', 'The identity provider cannot be reached. Try again shortly.', {
    cause,
  });
}

async function fetchKeys(issuer: string): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(FETCH_MS);
  const about = await fetchProvider(issuer, signal);
  return (await fetchJson(addressIn(about, 'jwks_uri').href, signal)) as unknown as JSONWebKeySet;
}
