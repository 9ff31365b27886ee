import type { Config } from '../../../config.js';
import { ApiError, permissionNames } from '../../api/index.js';
import { addressIn, fetchProvider, type ProviderFacts } from '../../process/index.js';
import type { Page } from './assets.js';

/** What the page at `/docs` needs to sign its reader in by authorization code (RFC 6749, 4.1) with PKCE (RFC 7636). */
export interface SignInOffer {
  readonly clientId: string;
  /** As the provider publishes them (RFC 8414, 2), as far as the page reads them. */
  readonly provider: ProviderFacts;
  /** Of the authorization request, beside those that the page sets itself. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The page is not held up for longer by an issuer that is away. */
const FETCH_MS = 1_500;
const KNOWN_FOR_MS = 5 * 60_000;
const AWAY_FOR_MS = 10_000;

const READ_BY_THE_PAGE = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'authorization_response_iss_parameter_supported',
  'id_token_signing_alg_values_supported',
];

/** Signing in at the identity provider by the page at `/docs`, where `OIDC_CLIENT_ID` names a client for the page. */
export class SignIn {
  private offered?: Promise<SignInOffer>;
  // Value of `performance.now()`.
  private until = -Infinity;

  constructor(private readonly config: Config) {}

  /** @throws ApiError `service_unavailable` while the issuer is away, or says nothing that the page can use */
  offer(): Promise<SignInOffer> {
    if (this.offered && performance.now() < this.until) return this.offered;
    this.until = performance.now() + KNOWN_FOR_MS;
    this.offered = this.ask().catch((cause: unknown) => {
      this.until = performance.now() + AWAY_FOR_MS;
      throw new ApiError(
        'service_unavailable',
        'The identity provider cannot be reached. Try again shortly.',
        { cause },
      );
    });
    return this.offered;
  }

  /** What the page calls beside the service, as a source of its policy (CSP3, 2.3.1): nothing while the issuer is away. */
  async called(): Promise<string[]> {
    const offer = await this.offer().catch(() => undefined);
    if (!offer) return [];
    const { origin, pathname } = addressIn(offer.provider, 'token_endpoint');
    return [origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C')];
  }

  private async ask(): Promise<SignInOffer> {
    const about = await fetchProvider(this.config.OIDC_ISSUER!, AbortSignal.timeout(FETCH_MS));
    const provider = Object.fromEntries(
      READ_BY_THE_PAGE.flatMap((name) => (name in about ? [[name, about[name]]] : [])),
    );
    for (const name of ['authorization_endpoint', 'token_endpoint']) addressIn(about, name);
    return { clientId: this.config.OIDC_CLIENT_ID!, provider, parameters: this.parameters(about) };
  }

  private parameters(about: ProviderFacts): Record<string, string> {
    const asked = this.config.OIDC_SIGN_IN_QUERY;
    // A server sees nothing of a fragment, so no log of one in between has the code.
    const hasFragment = listed(about, 'response_modes_supported').includes('fragment');
    const mode: Record<string, string> = hasFragment ? { response_mode: 'fragment' } : {};
    if (asked !== undefined) return { ...mode, ...Object.fromEntries(new URLSearchParams(asked)) };
    const known = listed(about, 'scopes_supported');
    const scopes = ['openid', ...permissionNames().filter((name) => known.includes(name))];
    return { ...mode, scope: scopes.join(' ') };
  }
}

function listed(about: ProviderFacts, name: string): unknown[] {
  const value = about[name];
  return Array.isArray(value) ? value : [];
}

/** Where the identity provider sends the reader back to, in the window that has been opened for that. */
export const SIGNED_IN: Page = {
  title: 'Signing in',
  description: 'The way back from the identity provider.',
  content: `<main class="lost" id="content">
<h1>You can close this window</h1>
<p class="summary">The page from which you have signed in goes on by itself.</p>
<script type="module" src="~/assets/signed-in.js"></script>
</main>`,
};
