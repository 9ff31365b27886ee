/** The maximum length of an identity provider's answer, in bytes. */
const MAX_BYTES = 512 * 1024;

/** The discovery document of a provider as received (OpenID Connect Discovery 1.0, 3). */
export type ProviderFacts = Readonly<Record<string, unknown>>;

/** The address of an issuer's discovery document (OpenID Connect Discovery 1.0, 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/**
 * Fetches the discovery document of an issuer.
 * @throws Error if the document names another issuer (OpenID Connect Discovery 1.0, 4.3); as `fetchJson` does
 */
export async function fetchDiscovery(issuer: string, signal: AbortSignal): Promise<ProviderFacts> {
  const facts = await fetchJson(discoveryUrl(issuer), signal);
  if (facts.issuer !== issuer) throw new Error('The discovery document names another issuer.');
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
  if (!address || !isSafe) throw new Error(`The identity provider's ${name} is not a safe address.`);
  return address;
}

/** @throws Error if the provider is unreachable or slow, redirects (perhaps into a private network), or sends more than 512 kB */
export async function fetchJson(address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const headers = { Accept: 'application/json' };
  const response = await fetch(address, { headers, signal, redirect: 'error' }).catch((error: Error) => {
    throw new Error(`${new URL(address).host} cannot be reached: ${reasonOf(error)}`, { cause: error });
  });
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

/** Why a fetch has failed: the code, and the network address where the cause has one, such as `ECONNREFUSED 127.0.0.1:1`. */
function reasonOf({ message, cause }: Error): string {
  if (!Error.isError(cause)) return message;
  const { code, address, port } = cause as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === undefined) return cause.message;
  return address === undefined ? code : `${code} ${address}:${port}`;
}
