import { ask } from './ask.js';

/**
 * A request to the identity provider for an authorization code (RFC 6749, 4.1) with PKCE (RFC 7636), to be opened in a
 * window of its own, and what becomes of the answer. Its secrets are in the memory of this page alone.
 * @throws Error in words for the reader
 */
export async function newRequest() {
  // A browser has its cryptography only for pages that nobody on the way could have changed.
  if (!isSecureContext) throw new Error('Signing in needs this page over https.');
  const [oauth, { clientId, provider, parameters }] = await Promise.all([
    library(),
    ask('docs/sign-in.json'),
  ]);
  const redirectUri = new URL('docs/signed-in', location.href.replace(/[?#].*/, '')).href;
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(provider.authorization_endpoint);
  const all = {
    ...parameters,
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return {
    address: url.href,
    isAnsweredBy: (answer) => answer.get('state') === state,
    /** Exchanges the code of an answer for an access token and the seconds that it lives, if the provider says. */
    async redeem(answer) {
      const client = { client_id: clientId };
      const { resource } = parameters;
      try {
        const checked = oauth.validateAuthResponse(provider, client, answer, state);
        const response = await oauth.authorizationCodeGrantRequest(
          provider,
          client,
          oauth.None(),
          checked,
          redirectUri,
          verifier,
          {
            additionalParameters: resource ? { resource } : {},
            [oauth.allowInsecureRequests]: provider.issuer.startsWith('http:'),
            signal: AbortSignal.timeout(30_000),
          },
        );
        const token = await oauth.processAuthorizationCodeResponse(provider, client, response);
        return { token: token.access_token, seconds: token.expires_in };
      } catch (error) {
        throw new Error(inWords(error, provider.token_endpoint), { cause: error });
      }
    },
  };
}

/** Not needed by a page that signs nobody in. */
function library() {
  return import('./oauth4webapi.js');
}

/** What the provider says for people (RFC 6749, 4.1.2.1 and 5.2), or what has gone wrong on the way to it. */
function inWords({ error, error_description: description, message, name }, endpoint) {
  if (error === 'access_denied') return `The identity provider has let nobody in. ${description ?? ''}`;
  if (error) return `The identity provider has refused: ${description ?? error}.`.replace(/\.\.$/, '.');
  if (name === 'TypeError' || name === 'TimeoutError')
    return `${new URL(endpoint).host} has not answered this page: it may be away, or not allow ${location.origin} to ask it.`;
  return `The answer of the identity provider is not valid: ${message}.`;
}
