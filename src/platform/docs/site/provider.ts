import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import { allPermissions } from '../../api/index.js';
import { addressIn, type IdentityProvider, type ProviderFacts } from '../../process/index.js';
import { OIDC } from '../openapi/operations.js';

/** A flow of OAuth as OpenAPI describes it, which Swagger UI signs in by. */
interface Flow {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  /** What is asked for, with its meaning. */
  readonly scopes: Readonly<Record<string, string>>;
}

/** The identity provider at which Swagger UI signs its reader in, where `OIDC_CLIENT_ID` names a client for that. */
export class Provider {
  constructor(
    private readonly config: Config,
    private readonly identityProvider: IdentityProvider,
  ) {}

  /** Undefined while the issuer is away, or says nothing that the page can use. */
  async flow(): Promise<Flow | undefined> {
    const about = await this.identityProvider.find();
    try {
      return about && this.flowOf(about);
    } catch {
      return undefined;
    }
  }

  /** What the page calls beside the service, as a source of its policy (CSP3, 2.3.1). */
  async called(): Promise<string[]> {
    const flow = await this.flow();
    if (!flow) return [];
    const { origin, pathname } = new URL(flow.tokenUrl);
    return [origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C')];
  }

  /** What Swagger UI's `initOAuth` takes. */
  options() {
    const { scope, ...additionalQueryStringParams } = this.asked();
    return {
      clientId: this.config.OIDC_CLIENT_ID,
      usePkceWithAuthorizationCodeGrant: true,
      scopes: scope?.split(' ') ?? ['openid'],
      additionalQueryStringParams,
    };
  }

  private asked(): { scope?: string } & Record<string, string> {
    return Object.fromEntries(new URLSearchParams(this.config.OIDC_SIGN_IN_QUERY));
  }

  /** @throws Error for an address that is not safe */
  private flowOf(about: ProviderFacts): Flow {
    return {
      authorizationUrl: addressIn(about, 'authorization_endpoint').href,
      tokenUrl: addressIn(about, 'token_endpoint').href,
      scopes: this.scopes(about),
    };
  }

  private scopes(about: ProviderFacts): Flow['scopes'] {
    const known = about.scopes_supported;
    const meanings: Record<string, string> = allPermissions();
    const ofService = Array.isArray(known)
      ? Object.keys(meanings).filter((name) => known.includes(name))
      : [];
    const all = this.asked().scope?.split(' ') ?? ['openid', ...ofService];
    return Object.fromEntries(all.map((name) => [name, meanings[name] ?? '']));
  }
}

/**
 * The document as Swagger UI needs it: an access token comes by signing in, or else is entered. Swagger UI itself would ask the
 * issuer, which the policy of its page does not allow, and offer each grant that the issuer knows.
 */
export function withSignIn(document: OpenAPIObject, flow?: Flow): OpenAPIObject {
  const { description } = document.components!.securitySchemes![OIDC] as { description: string };
  const scheme = flow
    ? { type: 'oauth2' as const, description, flows: { authorizationCode: flow } }
    : { type: 'http' as const, scheme: 'bearer', bearerFormat: 'JWT', description };
  const securitySchemes = { ...document.components!.securitySchemes, [OIDC]: scheme };
  return { ...document, components: { ...document.components, securitySchemes } };
}
