/** Of one answer of an identity provider. */
const MAX_BYTES = 512 * 1024;
/** For how long what a provider says of itself is known, and for how long it is not asked again after a failure. */
const KNOWN_MS = 5 * 60_000;
const AWAY_MS = 10_000;
/** A page is not held up for longer. */
const PAGE_MS = 1_500;

/** What an OpenID Connect provider says of itself (OpenID Connect Discovery 1.0, 3), as it has sent it. */
export type ProviderFacts = Readonly<Record<string, unknown>>;

/** Where an issuer says what it is (OpenID Connect Discovery 1.0, 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/** The discovery document of an OpenID Connect provider, for access tokens and for the page that signs in. */
export class IdentityProvider {
  private latest?: Promise<ProviderFacts>;
  // Value of `performance.now()`.
  private until = -Infinity;

  constructor(readonly issuer: string) {}

  /** What it has said within the last minutes; undefined while it is away. */
  known(): Promise<ProviderFacts | undefined> {
    const isKnown = this.latest && performance.now() < this.until;
    const facts = isKnown ? this.latest! : this.ask(AbortSignal.timeout(PAGE_MS));
    return facts.catch(() => undefined);
  }

  /** What it says now. @throws Error if it is away or slow, or its document is another issuer's */
  ask(signal: AbortSignal): Promise<ProviderFacts> {
    this.until = performance.now() + KNOWN_MS;
    this.latest = fetchProvider(this.issuer, signal);
    this.latest.catch(() => (this.until = performance.now() + AWAY_MS));
    return this.latest;
  }
}

/** @throws Error as `ask` does (OpenID Connect Discovery 1.0, 4.3) */
async function fetchProvider(issuer: string, signal: AbortSignal): Promise<ProviderFacts> {
  const about = await fetchJson(discoveryUrl(issuer), signal);
  if (about.issuer !== issuer) throw new Error('The document of the identity provider names another issuer.');
  return about;
}

/**
 * The address of a provider that one of its facts names.
 * @throws Error unless it is one of https, as that of the issuer may alone not be
 */
export function addressIn(about: ProviderFacts, name: string): URL {
  const address = URL.parse(String(about[name]));
  const isSafe =
    address?.protocol === 'https:' || address?.protocol === URL.parse(String(about.issuer))?.protocol;
  if (!address || !isSafe) throw new Error(`The identity provider has no safe address as its ${name}.`);
  return address;
}

/** @throws Error for a redirect, which may lead inwards, and for more than 512 kB */
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
    // Leaving the loop ends the connection.
    if (bytes > MAX_BYTES) throw new Error('The identity provider answers with too much.');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}
