/** The longest answer that is read from an identity provider. */
const MAX_BYTES = 512 * 1024;
/** How long a discovery document is cached, and how long a failed fetch is not repeated. */
const CACHE_MS = 5 * 60_000;
const RETRY_MS = 10_000;
/** The longest time that a page waits for the provider. */
const PAGE_WAIT_MS = 1_500;

/** The discovery document of a provider as received (OpenID Connect Discovery 1.0, 3). */
export type ProviderFacts = Readonly<Record<string, unknown>>;

/** The address of an issuer's discovery document (OpenID Connect Discovery 1.0, 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/** An OpenID Connect provider, as access tokens and the sign-in page need it. */
export class IdentityProvider {
  private latest?: Promise<ProviderFacts>;
  // Value of `performance.now()`.
  private cachedUntil = -Infinity;

  constructor(readonly issuer: string) {}

  /** The discovery document, cached for minutes; undefined while the provider is away. */
  find(): Promise<ProviderFacts | undefined> {
    const isCached = this.latest && performance.now() < this.cachedUntil;
    const facts = isCached ? this.latest! : this.fetch(AbortSignal.timeout(PAGE_WAIT_MS));
    return facts.catch(() => undefined);
  }

  /** The present document. @throws Error if the provider is away or slow, or the document names another issuer */
  fetch(signal: AbortSignal): Promise<ProviderFacts> {
    this.cachedUntil = performance.now() + CACHE_MS;
    const document = fetchDocument(this.issuer, signal);
    this.latest = document;
    document.catch(() => {
      // A later fetch may have succeeded.
      if (this.latest === document) this.cachedUntil = performance.now() + RETRY_MS;
    });
    return document;
  }
}

/** @throws Error if the document names another issuer (OpenID Connect Discovery 1.0, 4.3); as `fetchJson` does */
async function fetchDocument(issuer: string, signal: AbortSignal): Promise<ProviderFacts> {
  const facts = await fetchJson(discoveryUrl(issuer), signal);
  if (facts.issuer !== issuer) throw new Error('The document of the identity provider names another issuer.');
  return facts;
}

/**
 * The address that a property of the discovery document names.
 * @throws Error unless the address uses https, or the scheme of the issuer
 */
export function addressIn(facts: ProviderFacts, name: string): URL {
  const address = URL.parse(String(facts[name]));
  const isSafe =
    address?.protocol === 'https:' || address?.protocol === URL.parse(String(facts.issuer))?.protocol;
  if (!address || !isSafe) throw new Error(`The identity provider has no safe address as its ${name}.`);
  return address;
}

/** @throws Error for a redirect, which may lead to a private network, and for more than 512 kB */
export async function fetchJson(address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const headers = { Accept: 'application/json' };
  const response = await fetch(address, { headers, signal, redirect: 'error' });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`The identity provider answers ${response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_BYTES)
      throw new Error(`The identity provider answers with more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}
