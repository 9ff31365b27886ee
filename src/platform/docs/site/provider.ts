import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import { allPermissions } from '../../api/index.js';
import { addressIn, cached, fetchDiscovery, type ProviderFacts } from '../../process/index.js';
import { OIDC } from '../openapi/finish-operation.js';

interface Flow {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly scopes: Readonly<Record<string, string>>;
}

/** Milliseconds that a page waits for the provider; how long it then keeps what it has learned. */
const WAIT_MS = 1_500;
const KEPT = { ms: 10_000 };

/** The identity provider for signing in to Swagger UI, if `OIDC_CLIENT_ID` names a client. */
export class Provider {
  /** Undefined while the issuer is away, or its metadata is of no use to the page. */
  readonly flow = cached((): Promise<Flow | undefined> => {
    const about = fetchDiscovery(this.config.OIDC_ISSUER!, AbortSignal.timeout(WAIT_MS));
    return about.then((facts) => this.flowOf(facts)).catch(() => undefined);
  }, KEPT);

  constructor(private readonly config: Config) {}

  /** Further connections of the page, as sources of its policy (CSP3, 2.3.1). */
  async connectsTo(): Promise<string[]> {
    const flow = await this.flow();
    if (!flow) return [];
    const { origin, pathname } = new URL(flow.tokenUrl);
    return [origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C')];
  }

  /** The options of `initOAuth` of Swagger UI. */
  options() {
    const { scope, ...additionalQueryStringParams } = this.queryParameters();
    return {
      clientId: this.config.OIDC_CLIENT_ID,
      usePkceWithAuthorizationCodeGrant: true,
      scopes: scope?.split(' ') ?? ['openid'],
      additionalQueryStringParams,
    };
  }

  private queryParameters(): { scope?: string } & Record<string, string> {
    return Object.fromEntries(new URLSearchParams(this.config.OIDC_SIGN_IN_QUERY));
  }

  /** @throws Error for an unsafe address */
  private flowOf(about: ProviderFacts): Flow {
    return {
      authorizationUrl: addressIn(about, 'authorization_endpoint').href,
      tokenUrl: addressIn(about, 'token_endpoint').href,
      scopes: this.scopes(about),
    };
  }

  private scopes(about: ProviderFacts): Flow['scopes'] {
    const supported = about.scopes_supported;
    const meanings: Record<string, string> = allPermissions();
    const ofService = Array.isArray(supported)
      ? Object.keys(meanings).filter((name) => supported.includes(name))
      : [];
    const all = this.queryParameters().scope?.split(' ') ?? ['openid', ...ofService];
    return Object.fromEntries(all.map((name) => [name, meanings[name] ?? '']));
  }
}

/**
 * The document for Swagger UI, in which an access token comes by signing in, or by hand. Swagger UI itself would request
 * the metadata of the issuer, which the policy of its page forbids, and offer each grant of the issuer.
 */
export function withSignIn(document: OpenAPIObject, flow?: Flow): OpenAPIObject {
  const { description } = document.components!.securitySchemes![OIDC] as { description: string };
  const scheme = flow
    ? { type: 'oauth2' as const, description, flows: { authorizationCode: flow } }
    : { type: 'http' as const, scheme: 'bearer', bearerFormat: 'JWT', description };
  const securitySchemes = { ...document.components!.securitySchemes, [OIDC]: scheme };
  return { ...document, components: { ...document.components, securitySchemes } };
}
