import { Provider } from 'oidc-provider';

const { ISSUER, REDIRECT_URI, AUDIENCE, TTL = '600' } = process.env;

// An OpenID Connect provider with a log-in page of its own, which takes any name and password.
const provider = new Provider(ISSUER, {
  clients: [
    {
      client_id: 'a program',
      client_secret: 'its secret',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
    {
      client_id: 'the page',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      redirect_uris: [REDIRECT_URI],
    },
  ],
  clientBasedCORS: (_ctx, origin) => origin === new URL(REDIRECT_URI).origin,
  cookies: { keys: ['of this run'] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope: 'pets:read pets:write',
        audience: AUDIENCE,
        accessTokenTTL: Number(TTL),
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  extraTokenClaims: (_ctx, { accountId }) =>
    accountId ? { email: `${accountId}@example.com`, email_verified: true } : undefined,
});
provider.listen(Number(new URL(ISSUER).port), '127.0.0.1', () => console.log(`Issuer ${ISSUER}`));
